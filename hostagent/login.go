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
	if l.Cwd, _ = os.Getwd(); l.Cwd == "" {
		l.Cwd = l.Home
	}
	return l
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
