package bus

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// answer is a method return with a{sv} as its body, the properties marshalled
// by hand.
func answer(serial uint32, body []byte) []byte {
	le := binary.LittleEndian
	m := []byte{'l', methodReturn, 0, 1}
	m = le.AppendUint32(m, uint32(len(body)))
	m = le.AppendUint32(m, 7)
	m = le.AppendUint32(m, 0)
	m = append(m, fieldReplySerial, 1, 'u', 0)
	m = le.AppendUint32(m, serial)
	m = pad(m, 8)
	m = append(m, fieldSignature, 1, 'g', 0, 5)
	m = append(m, "a{sv}\x00"...)
	le.PutUint32(m[12:], uint32(len(m)-16))
	return append(pad(m, 8), body...)
}

func text(b []byte, s string) []byte {
	return append(append(binary.LittleEndian.AppendUint32(pad(b, 4), uint32(len(s))), s...), 0)
}

func variant(b []byte, name, sig string, value func([]byte) []byte) []byte {
	b = text(pad(b, 8), name)
	b = append(append(append(b, byte(len(sig))), sig...), 0)
	return value(b)
}

func body() []byte {
	b := make([]byte, 8) // the array's length, and padding to its first entry
	b = variant(b, "Id", "s", func(b []byte) []byte { return text(b, "a-b.service") })
	b = variant(b, "Count", "t", func(b []byte) []byte { return binary.LittleEndian.AppendUint64(pad(b, 8), 5) })
	b = variant(b, "Exec", "a(sasb)", func(b []byte) []byte {
		b = pad(b, 4)
		at := len(b)
		b = pad(append(b, 0, 0, 0, 0), 8)
		start := len(b)
		b = text(b, "/bin/x")
		inner := len(pad(b, 4))
		b = append(pad(b, 4), 0, 0, 0, 0)
		first := len(b)
		b = text(text(b, "x"), "y")
		binary.LittleEndian.PutUint32(b[inner:], uint32(len(b)-first))
		b = binary.LittleEndian.AppendUint32(pad(b, 4), 1)
		binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-start))
		return b
	})
	b = variant(b, "Empty", "at", func(b []byte) []byte { return pad(append(pad(b, 4), 0, 0, 0, 0), 8) })
	binary.LittleEndian.PutUint32(b, uint32(len(b)-8))
	return b
}

// serve answers one client as systemd would, and says what it asked.
func serve(t *testing.T, answers ...[]byte) (socket string, asked <-chan string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	out := make(chan string, 8)
	go func() { // ends with the listener or the client
		defer close(out)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		for range 2 {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			out <- strings.TrimSpace(line)
		}
		if _, err := c.Write(append([]byte("OK 1234\r\n"), strings.Join(bytesAsText(answers), "")...)); err != nil {
			return
		}
		rest, _ := io.ReadAll(r)
		out <- string(rest)
	}()
	return socket, out
}

func bytesAsText(b [][]byte) []string {
	out := make([]string, len(b))
	for i := range b {
		out[i] = string(b[i])
	}
	return out
}

func TestUnit(t *testing.T) {
	for destination, hello := range map[string]bool{"": false, "org.freedesktop.systemd1": true} {
		socket, asked := serve(t, answer(1, nil), answer(2, body()))
		p, err := ask(socket, destination, "/org/freedesktop/systemd1/unit/"+escape("a-b.service"))
		if err != nil {
			t.Fatal(err)
		}
		if p["Id"] != "s:\x0b\x00\x00\x00a-b.service" || p["Count"] != "t:\x05\x00\x00\x00\x00\x00\x00\x00" || len(p) != 4 {
			t.Errorf("%q", p)
		}
		if want := "a(sasb):\x01\x00\x00\x00\x06\x00\x00\x00/bin/x\x02\x00\x00\x00\x01\x00\x00\x00x\x01\x00\x00\x00y\x01\x00\x00\x00"; p["Exec"] != want {
			t.Errorf("got %q\nwant %q", p["Exec"], want)
		}
		got := ""
		for s := range asked {
			got += s + "\n"
		}
		if !strings.Contains(got, "AUTH EXTERNAL ") || !strings.Contains(got, "/org/freedesktop/systemd1/unit/a_2db_2eservice\x00") || strings.Contains(got, "Hello") != hello {
			t.Errorf("asked %q", got)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	refused := answer(2, nil)
	refused[1] = 3
	long := answer(2, body())
	binary.LittleEndian.PutUint32(long[4:], 1<<31)
	for name, b := range map[string][]byte{
		"refused": refused, "too long": long, "cut": answer(2, body()[:40]), "no message": []byte("HTTP/1.1 200 OK\r\n\r\n"),
		"big endian": append([]byte{'B'}, answer(2, body())[1:]...), "ends": nil,
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() { // ends with its one client
				if c, err := l.Accept(); err == nil {
					_, _ = c.Write(append([]byte("OK x\r\n"), b...))
					c.Close()
				}
			}()
			if p, err := ask(socket, "", "/x"); err == nil {
				t.Errorf("believed %q", p)
			}
		})
	}
	if _, err := ask(filepath.Join(t.TempDir(), "none"), "", "/x"); err == nil {
		t.Error("nobody answered")
	}
}

// FuzzProperties holds that no bytes make the decoder panic, hang or read
// beyond them.
func FuzzProperties(f *testing.F) {
	f.Add(body())
	f.Add([]byte{})
	f.Add(body()[:50])
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &decoder{b: b}
		p := d.properties()
		if d.err != nil && !errors.Is(d.err, errBad) {
			t.Error(d.err)
		}
		for name, v := range p {
			if len(name)+len(v) > 16*len(b)+1024 {
				t.Errorf("%d bytes of %d", len(v), len(b))
			}
		}
	})
}
