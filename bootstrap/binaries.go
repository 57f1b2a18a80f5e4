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
func FromFS(fsys fs.FS, version string) Binaries {
	return &packed{fsys: fsys, version: version, read: map[string]Binary{}}
}

// packed keeps what it read: a file of an embedded tree is copied when it is
// read, and hundreds of hosts may be installed at once.
type packed struct {
	fsys    fs.FS
	version string
	mu      sync.Mutex // guards read
	read    map[string]Binary
}

func (p *packed) Version() string { return p.version }

func (p *packed) Open(goarch string) (Binary, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b, ok := p.read[goarch]; ok {
		return b, nil
	}
	b, err := p.load(goarch)
	if err == nil {
		p.read[goarch] = b
	}
	return b, err
}

func (p *packed) load(goarch string) (Binary, error) {
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

// Digest implements Digester.
func (p *packed) Digest(goarch string) (string, error) {
	b, err := fs.ReadFile(p.fsys, "volant-agent-linux-"+goarch+".json")
	if err != nil {
		return "", fmt.Errorf("reading the packed agent: %w", err)
	}
	var d Packed
	if err := json.Unmarshal(b, &d); err != nil {
		return "", fmt.Errorf("reading the packed agent: %w", err)
	}
	return d.SHA256, nil
}

// FromDir gives the agents that lie in dir as they were built: volant-agent for
// this machine's architecture, volant-agent-GOARCH for any. They are read and
// compressed when first asked for.
func FromDir(dir, version string) Binaries {
	return &loose{dir: dir, version: version, open: map[string]func() (Binary, error){}}
}

type loose struct {
	dir, version string
	mu           sync.Mutex // guards the maps
	open         map[string]func() (Binary, error)
	digests      map[string]string
}

// Digest implements Digester without compressing anything.
func (l *loose) Digest(goarch string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, ok := l.digests[goarch]; ok {
		return d, nil
	}
	f, err := l.find(goarch)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, maxBinary)); err != nil {
		return "", fmt.Errorf("reading the agent: %w", err)
	}
	if l.digests == nil {
		l.digests = map[string]string{}
	}
	l.digests[goarch] = hex.EncodeToString(sum.Sum(nil))
	return l.digests[goarch], nil
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

func (l *loose) find(goarch string) (f *os.File, err error) {
	names := []string{"volant-agent-" + goarch}
	if goarch == runtime.GOARCH {
		names = append(names, "volant-agent")
	}
	for _, name := range names {
		if f, err = os.Open(filepath.Join(l.dir, name)); err == nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("there is no %s in %s: %w", names[len(names)-1], l.dir, fs.ErrNotExist)
}

func (l *loose) read(goarch string) (Binary, error) {
	f, err := l.find(goarch)
	if err != nil {
		return Binary{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBinary))
	if err != nil {
		return Binary{}, fmt.Errorf("reading the agent: %w", err)
	}
	z, d, err := Pack(b, l.version, gzip.BestSpeed)
	return Binary{Gzip: z, Size: d.Size, SHA256: d.SHA256}, err
}
