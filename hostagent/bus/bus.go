// Package bus asks systemd over its D-Bus socket for what it knows of a unit,
// the one question that a task with nothing to do needs, and for what becomes of
// processes at logout: both without a process.
package bus

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Sockets to ask at: systemd's own, for root, and the system's bus.
const (
	privateSocket = "/run/systemd/private"
	systemSocket  = "/run/dbus/system_bus_socket"
)

// maxMessage bounds what is believed of an answer's length; a unit has some
// 20 KB of properties.
const maxMessage = 4 << 20

// patience is how long an answer may take: whoever asks has other ways.
const patience = 2 * time.Second

// Properties are those of a unit by name, each as its type, a colon and its
// value in a form of our own: equal exactly when type and value are.
type Properties map[string]string

// Unit returns the properties of a unit as systemd has them for systemctl
// show. It is an error that nobody listens or answers in time.
func Unit(name string) (Properties, error) {
	path := "/org/freedesktop/systemd1/unit/" + escape(name)
	if os.Geteuid() == 0 {
		return ask(privateSocket, "", path)
	}
	return ask(systemSocket, "org.freedesktop.systemd1", path)
}

// Logins returns the properties of the service that manages logins.
func Logins() (Properties, error) {
	return ask(systemSocket, "org.freedesktop.login1", "/org/freedesktop/login1")
}

// ask asks an object for its properties at a socket, where the destination says
// that a bus is there and not systemd itself.
func ask(socket, destination, path string) (Properties, error) {
	c, err := net.DialTimeout("unix", socket, patience)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(c, 64<<10)
	if err := greet(c, r); err != nil {
		return nil, err
	}
	calls := [][]byte{}
	if destination != "" {
		calls = append(calls, call(1, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello", ""))
	}
	calls = append(calls, call(2, destination, path, "org.freedesktop.DBus.Properties", "GetAll", "s"))
	for _, m := range calls {
		if _, err := c.Write(m); err != nil {
			return nil, err
		}
	}
	for {
		m, err := read(r)
		if err != nil {
			return nil, err
		}
		if m.replyTo != 2 {
			continue // the answer to Hello, and signals
		}
		if m.kind != methodReturn {
			return nil, errors.New("systemd refuses to answer")
		}
		d := &decoder{b: m.body}
		p := d.properties()
		return p, d.err
	}
}

// greet authenticates as the process's user.
func greet(w io.Writer, r *bufio.Reader) error {
	user := hex.EncodeToString([]byte(strconv.Itoa(os.Geteuid())))
	if _, err := io.WriteString(w, "\x00AUTH EXTERNAL "+user+"\r\nBEGIN\r\n"); err != nil {
		return err
	}
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(line), "OK ") {
		return fmt.Errorf("the bus does not know us: %.80q", line)
	}
	return nil
}

// escape is a unit's name as part of an object path.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' && i > 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "_%02x", c)
	}
	return b.String()
}

// Kinds of message and fields of a header that are used here.
const (
	methodCall   = 1
	methodReturn = 2

	fieldPath        = 1
	fieldInterface   = 2
	fieldMember      = 3
	fieldReplySerial = 5
	fieldDestination = 6
	fieldSignature   = 8
)

// call is a method call, its argument, if the signature has one, the empty
// string: every interface.
func call(serial uint32, destination, path, iface, member, signature string) []byte {
	var body []byte
	if signature != "" {
		body = []byte{0, 0, 0, 0, 0}
	}
	le := binary.LittleEndian
	m := []byte{'l', methodCall, 0, 1}
	m = le.AppendUint32(m, uint32(len(body)))
	m = le.AppendUint32(m, serial)
	m = le.AppendUint32(m, 0) // the length of the fields, below
	start := len(m)
	for _, f := range []struct {
		code       byte
		kind, text string
	}{
		{fieldPath, "o", path}, {fieldInterface, "s", iface}, {fieldMember, "s", member}, {fieldDestination, "s", destination}, {fieldSignature, "g", signature},
	} {
		if f.text == "" {
			continue
		}
		m = pad(m, 8)
		m = append(m, f.code, 1, f.kind[0], 0)
		if f.kind == "g" {
			m = append(m, byte(len(f.text)))
		} else {
			m = le.AppendUint32(m, uint32(len(f.text)))
		}
		m = append(append(m, f.text...), 0)
	}
	le.PutUint32(m[12:], uint32(len(m)-start))
	return append(pad(m, 8), body...)
}

func pad(b []byte, n int) []byte {
	for len(b)%n != 0 {
		b = append(b, 0)
	}
	return b
}

// message is what is needed of one that came.
type message struct {
	kind    byte
	replyTo uint32
	body    []byte
}

func read(r io.Reader) (*message, error) {
	var head [16]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if head[0] != 'l' { // systemd writes in the byte order of its machine, and agents are made for little-endian ones
		return nil, errors.New("that is no D-Bus message of this machine")
	}
	m := &message{kind: head[1]}
	body, fields := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[12:])
	if body > maxMessage || fields > maxMessage {
		return nil, errors.New("the D-Bus message is too long")
	}
	padded := (fields + 7) &^ 7
	b := make([]byte, padded+body)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	m.body = b[padded:]
	d := &decoder{b: b[:fields]}
	for d.err == nil && d.at < len(d.b) {
		d.align(8)
		code := d.byte()
		sig := d.signature()
		if code == fieldReplySerial && sig == "u" {
			m.replyTo = d.uint32()
			continue
		}
		d.skip(sig)
	}
	return m, d.err
}
