// Package union finds the Python side of a run: the installed ansible-core,
// the files that module names stand for, and every module_utils file those
// import. What a host needs is described by manifests of content-addressed
// files, so only what it lacks travels.
//
// A run has one Base (all of ansible-core's module_utils, the same for every
// run of that core, so that a warm Python server is shared between runs) and
// per module an Extra (the module's file and collection or project
// module_utils). Base and Extra are laid out apart on the host; Extra comes
// first on the module's path.
package union

import (
	"log/slog"

	"volant/stage"
)

// Style is how a module file is run, by the reference's rules.
type Style int

// Module styles.
const (
	StylePython   Style = 1 // new-style Python: imports module_utils
	StyleJSONArgs Style = 2 // new-style with <<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>> replaced
	StyleWantJSON Style = 3 // gets the path of a JSON arguments file
	StyleBinary   Style = 4 // executable, gets the path of a JSON arguments file
	StyleOld      Style = 5 // gets the path of a file of k=v arguments
	StylePS       Style = 6 // PowerShell: not for POSIX hosts
)

// Module is a module name resolved to a file.
type Module struct {
	Name    string // canonical: "ansible.builtin.copy", "ansible.legacy.mine", "ns.coll.name"
	Short   string // last component, as the user knows it: "copy"
	Path    string // file on the controller
	FQN     string // dotted Python name it runs under: "ansible.modules.copy"
	Builtin bool   // the found core's own file, or a known collection's: a native module may stand in
	Style   Style
	Shebang string     // first line without "#!", empty when there is none
	Hash    stage.Hash // of the file
	// Extra is what the module needs beyond Base: its own file and module_utils
	// that are not the core's. Sorted.
	Extra *stage.Manifest
	// ExtraHash names Extra's encoding, which Open returns.
	ExtraHash stage.Hash
	// File is the module file's path within Extra.
	File string
	// Warnings are to be shown once: deprecations and redirects of routing.
	Warnings []string
}

// Core is an installed ansible-core.
type Core struct {
	Path    string // the `ansible` package directory
	Version string // such as "2.19.12"
	Python  string // interpreter it was found with, may be empty
	From    string // how it was found, for messages: "VOLANT_ANSIBLE_CORE", "PATH", ...
}

// Options say where a Union looks.
type Options struct {
	Core            *Core
	Collections     []string // collections paths, each with or without /ansible_collections
	NoSysPath       bool     // collections beside the core's package are not searched
	Adjacent        []string // library directories beside the playbook: searched first
	ModulePath      []string // configured library directories (ANSIBLE_LIBRARY, library in ansible.cfg), after those of roles
	ModuleUtilsPath []string // module_utils directories, before the core's
	// Python says of a builtin module, by its short name, that its Python file is
	// run though a native could stand in; nil: of none.
	Python   func(short string) bool
	CacheDir string // for the analysis cache; empty: none is kept
	Log      *slog.Logger
}

// Scope is where a name is used.
type Scope struct {
	Collections []string // the `collections:` keyword, in order
	Library     []string // library directories of the roles loaded, before ModulePath
	ModuleUtils []string // module_utils directories of those roles
}
