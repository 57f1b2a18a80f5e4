package hostagent

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Login is the environment that a login to the host gives: what a sub-task
// runs in. It is recorded at every SSH contact.
type Login struct {
	Environ []string `json:"environ"`
	Umask   int      `json:"umask"` // -1: the process's own
	Home    string   `json:"home"`
	Cwd     string   `json:"cwd"`
	Groups  []int    `json:"groups,omitempty"` // supplementary groups
	Limits  []Limit  `json:"limits,omitempty"` // of a process that the login started
}

// Limit is one resource limit, as /proc/PID/limits shows it.
type Limit struct {
	Name string `json:"name"` // such as NOFILE
	Soft string `json:"soft"` // a number or "infinity"
	Hard string `json:"hard"`
}

// sshOnly are variables that belong to one SSH connection, not to a login.
var sshOnly = map[string]bool{"SSH_AUTH_SOCK": true, "SSH_TTY": true, "SSH_ORIGINAL_COMMAND": true, "OLDPWD": true, "SHLVL": true, "_": true}

// CurrentLogin is the login that this process runs in.
func CurrentLogin() Login {
	l := Login{Umask: unix.Umask(0o077)}
	unix.Umask(l.Umask)
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !sshOnly[name] {
			l.Environ = append(l.Environ, kv)
		}
	}
	l.Home, _ = os.UserHomeDir()
	l.Cwd, _ = os.Getwd()
	for _, dir := range []string{l.Home, os.TempDir(), "/"} { // as a module does that cannot read where it starts
		if l.Cwd != "" && unix.Access(l.Cwd, unix.R_OK) == nil {
			break
		}
		l.Cwd = dir
	}
	l.Groups, _ = os.Getgroups()
	// Our own soft limit of open files was raised when this process began; the
	// shell that started us has what the login gave.
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", os.Getppid()))
	if err != nil {
		b, _ = os.ReadFile("/proc/self/limits")
	}
	l.Limits = parseLimits(string(b))
	return l
}

// limitNames maps the kernel's names to those of setrlimit and systemd.
var limitNames = map[string]string{
	"Max cpu time": "CPU", "Max file size": "FSIZE", "Max data size": "DATA", "Max stack size": "STACK",
	"Max core file size": "CORE", "Max resident set": "RSS", "Max processes": "NPROC", "Max open files": "NOFILE",
	"Max locked memory": "MEMLOCK", "Max address space": "AS", "Max pending signals": "SIGPENDING",
	"Max msgqueue size": "MSGQUEUE", "Max nice priority": "NICE", "Max realtime priority": "RTPRIO",
}

// parseLimits reads what /proc/PID/limits says.
func parseLimits(text string) (list []Limit) {
	for line := range strings.Lines(text) {
		if len(line) < 26 {
			continue
		}
		name, f := limitNames[strings.TrimSpace(line[:26])], strings.Fields(line[26:])
		if name == "" || len(f) < 2 {
			continue
		}
		word := func(s string) string {
			if s == "unlimited" {
				return "infinity"
			}
			return s
		}
		list = append(list, Limit{Name: name, Soft: word(f[0]), Hard: word(f[1])})
	}
	return list
}

func (h Home) saveLogin(l Login) error {
	b, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("recording the login: %w", err)
	}
	return writeFile(h.path("login.json"), b)
}

// loadLogin reads the recorded login; the process's own when there is none.
func (h Home) loadLogin() Login {
	var l Login
	b, err := os.ReadFile(h.path("login.json"))
	if err != nil || json.Unmarshal(b, &l) != nil {
		return CurrentLogin()
	}
	return l
}
