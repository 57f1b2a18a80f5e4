package facts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// remembered keeps what slow commands said while the files they depend on are
// the same. It holds a handful of short texts.
var remembered = struct {
	sync.Mutex
	entries map[string]recalled
}{entries: map[string]recalled{}}

type recalled struct{ stamp, text string }

// maxRecalled bounds what is read back from the disk.
const maxRecalled = 64 << 10

// remember returns what ask said the last time, unless one of the files
// changed since: their device, inode, size or times. With a cache directory it
// also knows what an earlier process of this user was told.
func (r *run) remember(key string, files []string, ask func() (string, error)) (string, error) {
	key += "\x00" + strings.Join(files, "\x00")
	now := stamp(files)
	remembered.Lock()
	m, ok := remembered.entries[key]
	remembered.Unlock()
	if ok && m.stamp == now {
		return m.text, nil
	}
	file := ""
	if r.host.Cache != "" {
		sum := sha256.Sum256([]byte(key))
		file = filepath.Join(r.host.Cache, "facts", hex.EncodeToString(sum[:]))
	}
	text, known := recall(file, now)
	if !known {
		var err error
		if text, err = ask(); err != nil {
			return "", err
		}
		_ = keep(file, now+"\n"+text) // asked again the next time
	}
	remembered.Lock()
	defer remembered.Unlock()
	if len(remembered.entries) >= 64 {
		clear(remembered.entries)
	}
	remembered.entries[key] = recalled{stamp: now, text: text}
	return text, nil
}

// recall reads an entry that keep wrote of the same files.
func recall(file, now string) (string, bool) {
	if file == "" {
		return "", false
	}
	f, err := os.Open(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRecalled+1))
	if err != nil || len(b) > maxRecalled {
		return "", false
	}
	was, text, ok := strings.Cut(string(b), "\n")
	return text, ok && was == now
}

// keep writes an entry at once or not at all.
func keep(file, text string) error {
	if file == "" || len(text) > maxRecalled {
		return nil
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func stamp(files []string) string {
	var b strings.Builder
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			b.WriteString("-;")
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			fmt.Fprintf(&b, "%d:%d:%d:%d.%d:%d.%d;", st.Dev, st.Ino, st.Size, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
		}
	}
	return b.String()
}
