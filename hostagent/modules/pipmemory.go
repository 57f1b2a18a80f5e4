package modules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"volant/wire/rx"
)

// pipMemory keeps what pip said where it had nothing to do. It takes pip half
// a second to say that again, and as long as the packages, the requirements
// and pip's settings are the same it is the same, word for word.
var pipMemory struct {
	sync.Mutex
	said map[string]*pipSaid
}

type pipSaid struct {
	ran   *ran
	until time.Time // after which pip may say more; zero: never
}

// Bounds of what is kept.
const (
	maxPipSaid     = 64
	maxPipSaidSize = 64 << 10
)

// startOnce is start of a command that need not run again where it would only
// say what it said before. Where packages are to be installed, quiet says that
// nothing but installing what is missing was asked for.
func (p *pipTask) startOnce(cmd, env []string, quiet bool) (*ran, error) {
	key := ""
	if quiet {
		key = p.inputs(cmd, env)
	}
	pipMemory.Lock()
	said := pipMemory.said[key]
	pipMemory.Unlock()
	if key != "" && said != nil && (said.until.IsZero() || time.Now().Before(said.until)) {
		return said.ran, nil
	}
	r, err := p.start(cmd, env)
	if err != nil || key == "" || r.rc != 0 || len(r.stdout)+len(r.stderr) > maxPipSaidSize {
		return r, err
	}
	var until time.Time
	if cmd[len(p.pip)] != "list" {
		ok := false
		if until, ok = p.noticesUntil(); !ok || !onlySatisfied(string(r.stdout)) {
			return r, nil
		}
	}
	if key == p.inputs(cmd, env) { // else something was changed meanwhile
		pipMemory.Lock()
		defer pipMemory.Unlock()
		if pipMemory.said == nil || len(pipMemory.said) >= maxPipSaid {
			pipMemory.said = map[string]*pipSaid{}
		}
		pipMemory.said[key] = &pipSaid{r, until}
	}
	return r, nil
}

// onlySatisfied reports whether pip says of every requirement that it is met.
func onlySatisfied(out string) bool {
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "Requirement already satisfied: ") && !strings.HasPrefix(line, "Looking in ") {
			return false
		}
	}
	return out != ""
}

// sessionsOwn are variables of a login, which pip does not look at.
var sessionsOwn = rx.Lazy(`^(SSH_\w+|XDG_SESSION_\w+|XDG_RUNTIME_DIR|SUDO_\w+|DBUS_\w+|VOLANT_\w+|SHLVL|OLDPWD|PWD|MAIL|_)=`)

// inputs is all that decides what pip says; empty: that is not known.
func (p *pipTask) inputs(cmd, env []string) string {
	files, plain := p.plainSettings()
	if !plain || len(p.path) == 0 || !p.easyRequirements() || slices.ContainsFunc(p.packages, func(q *pipPackage) bool { return q.name == "" }) {
		return ""
	}
	files = append(files, p.selfCheck(), join(p.dir, opted(p.a.Requirements)), p.pip[0])
	for _, dir := range p.path {
		files = append(files, dir)
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch filepath.Ext(e.Name()) {
			case ".dist-info":
				files = append(files, path, path+"/METADATA", path+"/INSTALLER", path+"/direct_url.json")
			case ".egg-info", ".pth":
				files = append(files, path, path+"/PKG-INFO", path+"/requires.txt")
			case ".egg-link", ".egg":
				return ""
			}
		}
	}
	environ := slices.DeleteFunc(slices.Clone(p.Environ), sessionsOwn.MatchString)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %q %q %q %v\n%s", os.Geteuid(), cmd, env, environ, p.dir, p.a.BreakSystem, identities(files)))
	return string(sum[:])
}

// selfCheck is the file in which pip keeps when it last looked for a newer pip.
func (p *pipTask) selfCheck() string {
	cache := p.Getenv("PIP_CACHE_DIR")
	if cache == "" {
		if cache = p.Getenv("XDG_CACHE_HOME"); cache == "" {
			cache = p.Getenv("HOME") + "/.cache"
		}
		cache += "/pip"
	}
	sum := sha256.Sum224([]byte(p.python))
	return filepath.Join(cache, "selfcheck", hex.EncodeToString(sum[:]))
}

// pipLooks is how long pip takes its word for which pip is the newest.
const pipLooks = 7 * 24 * time.Hour

// noticesUntil is how long pip says nothing else of newer versions of itself
// than it does now; zero: for good. ok is false where it may at any time.
func (p *pipTask) noticesUntil() (until time.Time, ok bool) {
	for _, name := range []string{"PIP_DISABLE_PIP_VERSION_CHECK", "PIP_NO_INDEX"} {
		if v := p.Getenv(name); v == "1" || v == "true" {
			return time.Time{}, true
		}
	}
	for _, dir := range p.path {
		own, _ := filepath.Glob(dir + "/pip-*.dist-info")
		if len(own) == 0 {
			continue
		}
		if b, err := p.readEdited(own[0] + "/INSTALLER"); err == nil && strings.TrimSpace(string(b)) != "pip" {
			return time.Time{}, true // it does not look after what a distribution brings
		}
		break
	}
	var st syscall.Stat_t
	if syscall.Stat(p.selfCheck(), &st) != nil || int(st.Uid) != os.Geteuid() {
		return time.Time{}, false // pip uses no cache of another user's
	}
	b, err := p.readEdited(p.selfCheck())
	var state struct {
		Key  string `json:"key"`
		Last string `json:"last_check"`
		Pip  string `json:"pypi_version"`
	}
	if err != nil || json.Unmarshal(b, &state) != nil || state.Key != p.python || state.Pip == "" {
		return time.Time{}, false
	}
	last, err := time.Parse("2006-01-02T15:04:05", strings.SplitN(strings.TrimSuffix(state.Last, "Z"), ".", 2)[0])
	if err != nil {
		return time.Time{}, false
	}
	until = last.Add(pipLooks - time.Minute)
	return until, time.Now().Before(until)
}
