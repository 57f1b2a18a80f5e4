package bootstrap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// maxBinary bounds an agent executable.
const maxBinary = 256 << 20

// Packed is the description of one packed agent, in NAME.json beside NAME.gz.
type Packed struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"` // hex, of the executable
	Size    int64  `json:"size"`   // of the executable, bytes
}

// Pack compresses executable and describes it.
func Pack(executable []byte, version string, level int) ([]byte, Packed, error) {
	var z bytes.Buffer
	w, err := gzip.NewWriterLevel(&z, level)
	if err != nil {
		return nil, Packed{}, err
	}
	if _, err := w.Write(executable); err != nil {
		return nil, Packed{}, err
	}
	if err := w.Close(); err != nil {
		return nil, Packed{}, err
	}
	sum := sha256.Sum256(executable)
	return z.Bytes(), Packed{Version: version, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(executable))}, nil
}

// FromFS gives the agents packed in files volant-agent-linux-GOARCH.gz
// and .json of fsys, as a release of volant embeds them.
func FromFS(fsys fs.FS, version string) Binaries { return packed{fsys, version} }

type packed struct {
	fsys    fs.FS
	version string
}

func (p packed) Version() string { return p.version }

func (p packed) Open(goarch string) (Binary, error) {
	b, err := fs.ReadFile(p.fsys, "volant-agent-linux-"+goarch+".json")
	if err != nil {
		return Binary{}, fmt.Errorf("reading the packed agent: %w", err)
	}
	var d Packed
	if err := json.Unmarshal(b, &d); err != nil {
		return Binary{}, fmt.Errorf("reading the packed agent: %w", err)
	}
	z, err := fs.ReadFile(p.fsys, "volant-agent-linux-"+goarch+".gz")
	if err != nil {
		return Binary{}, fmt.Errorf("reading the packed agent: %w", err)
	}
	return Binary{Gzip: z, Size: d.Size, SHA256: d.SHA256}, nil
}

// FromDir gives the agents that lie in dir as they were built: volant-agent for
// this machine's architecture, volant-agent-GOARCH for any. They are read and
// compressed when first asked for.
func FromDir(dir, version string) Binaries {
	return &loose{dir: dir, version: version, open: map[string]func() (Binary, error){}}
}

type loose struct {
	dir, version string
	mu           sync.Mutex // guards open
	open         map[string]func() (Binary, error)
}

func (l *loose) Version() string { return l.version }

func (l *loose) Open(goarch string) (Binary, error) {
	l.mu.Lock()
	once := l.open[goarch]
	if once == nil {
		once = sync.OnceValues(func() (Binary, error) { return l.read(goarch) })
		l.open[goarch] = once
	}
	l.mu.Unlock()
	return once()
}

func (l *loose) read(goarch string) (Binary, error) {
	names := []string{"volant-agent-" + goarch}
	if goarch == runtime.GOARCH {
		names = append(names, "volant-agent")
	}
	var f *os.File
	var err error
	for _, name := range names {
		if f, err = os.Open(filepath.Join(l.dir, name)); err == nil {
			break
		}
	}
	if err != nil {
		return Binary{}, fmt.Errorf("there is no %s in %s: %w", names[len(names)-1], l.dir, fs.ErrNotExist)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBinary))
	if err != nil {
		return Binary{}, fmt.Errorf("reading the agent: %w", err)
	}
	z, d, err := Pack(b, l.version, gzip.BestSpeed)
	return Binary{Gzip: z, Size: d.Size, SHA256: d.SHA256}, err
}
