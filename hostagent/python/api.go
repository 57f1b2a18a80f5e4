// Package python runs the reference's Python modules: in a warm server that
// forks per sub-task (new-style Python), or as a process of their own (binary,
// want-JSON and old-style modules). It also finds the interpreter and turns
// what a module printed into its result, as the reference does.
package python

import (
	"time"

	"volant/wire/value"
)

// Style numbers are those of controller/union, as they travel in a Task.
const (
	StylePython   = 1
	StyleJSONArgs = 2
	StyleWantJSON = 3
	StyleBinary   = 4
	StyleOld      = 5
)

// Request is one run of a Python (or other non-native) module.
type Request struct {
	Name        string      // as the task wrote it, for temporary names and messages
	FQN         string      // dotted name it runs under, "ansible.modules.copy"
	File        string      // its path within ExtraDir
	Style       int         // one of the Style constants
	Args        *value.Dict // arguments including the _ansible_* ones, see InternalArgs
	Interpreter string      // "/usr/bin/python3", found or configured; for other shebangs the override, if any
	BaseDir     string      // where the core's module_utils is laid out
	BaseHash    string      // names BaseDir's content: with Interpreter the key of the server
	ExtraDir    string      // where the module's own files are laid out
	Environ     []string    // KEY=VALUE, complete
	Cwd         string      // empty: home directory
	Umask       int         // -1: unchanged
	TempDir     string      // the sub-task's staging directory, for arguments files
	MaxOutput   int64       // bytes of stdout and of stderr kept; 0: 64 MiB
	MaxMemory   int64       // bytes of address space a child may have; 0: unlimited
	MaxFiles    int64       // files a warm server's child may have open, as far as the host allows; 0: unchanged
	Stdin       []byte
}

// Output is what a module's process left behind.
type Output struct {
	Stdout, Stderr []byte
	RC             int
	Truncated      bool          // one of the streams was longer than MaxOutput
	Work           time.Duration // from fork to end
	Cold           bool          // a server had to be started first
}
