package wire

// Pull asks for the next sub-task on this slot.
type Pull struct{}

// Task is one sub-task: one module run on the host.
type Task struct {
	ID     TaskID `cbor:"1,keyasint"`
	Module string `cbor:"2,keyasint"` // fully qualified where known: ansible.builtin.file
	Args   Dict   `cbor:"3,keyasint"` // module arguments, without any _ansible_ key
	// Options are the reference's _ansible_* arguments without that prefix
	// (verbosity, no_log, tmpdir, keep_remote_files, shell_executable, ...);
	// check_mode and diff are the fields below.
	Options     Dict       `cbor:"4,keyasint"`
	Python      *Python    `cbor:"5,keyasint,omitempty"` // how to run it in Python; nil: only a native can run
	Native      bool       `cbor:"6,keyasint,omitempty"` // a native of that name may stand in
	Become      *Become    `cbor:"7,keyasint,omitempty"`
	Environment []EnvVar   `cbor:"8,keyasint,omitempty"` // the task's environment:, in order
	Check       bool       `cbor:"9,keyasint,omitempty"`
	Diff        bool       `cbor:"10,keyasint,omitempty"`
	Timeout     int64      `cbor:"11,keyasint,omitempty"` // nanoseconds the module may run; 0 is none
	Files       []TaskFile `cbor:"12,keyasint,omitempty"` // staged before the module runs
	Async       int64      `cbor:"13,keyasint,omitempty"` // seconds; 0 is not async
	JobID       string     `cbor:"14,keyasint,omitempty"` // of an async job
	// Live asks for Output while the module runs; the result has it in any case.
	Live bool `cbor:"15,keyasint,omitempty"`
	// Then is what follows in the same sub-task. An agent that does not know it
	// leaves it out, and so does one that cannot do it: Outcome.Then is missing.
	Then *Then `cbor:"16,keyasint,omitempty"`
}

// Then goes on after the stat module, natively or not at all, as the copy action
// does with what stat says of the file: so a copy costs one round trip.
type Then struct {
	// Checksum is what the file should have; empty: a file that is there stays
	// as it is.
	Checksum string `cbor:"1,keyasint,omitempty"`
	// Same are the arguments of the file module for a file that has it, Differs
	// those of the copy module for one that is missing or has another. An empty
	// mapping: nothing follows.
	Same    Dict `cbor:"2,keyasint,omitzero"`
	Differs Dict `cbor:"3,keyasint,omitzero"`
	// File is the content, staged as Task.Files are, and only if it differs.
	File *TaskFile `cbor:"4,keyasint,omitempty"`
}

// EnvVar is one variable of a sub-task's environment.
type EnvVar struct {
	Name  string `cbor:"1,keyasint"`
	Value string `cbor:"2,keyasint"`
}

// Python says what a module needs on the Python path. Manifests are encoded
// stage.Manifest blobs; the agent asks for them, and for the files they name,
// only when a sub-task needs Python.
type Python struct {
	Base        Hash   `cbor:"1,keyasint"`           // manifest of ansible-core's module_utils: what a warm server is keyed by
	Extra       Hash   `cbor:"2,keyasint"`           // manifest of the module's own file and what else it imports
	FQN         string `cbor:"3,keyasint"`           // dotted name it runs under, such as ansible.modules.apt
	File        string `cbor:"4,keyasint"`           // the module file's path within Extra
	Style       uint8  `cbor:"5,keyasint"`           // how it is run: the Style numbers of controller/union
	Shebang     string `cbor:"6,keyasint,omitempty"` // the module's first line without "#!"
	Core        string `cbor:"7,keyasint,omitempty"` // ansible-core's version, such as 2.19.12
	Interpreter string `cbor:"8,keyasint,omitempty"` // a path, or auto, auto_silent, ... as configured
	// Fallback are the candidates of interpreter discovery, in order.
	Fallback []string `cbor:"9,keyasint,omitempty"`
	// Overrides are configured interpreters for other shebangs
	// (ansible_ruby_interpreter: name "ruby").
	Overrides []EnvVar `cbor:"10,keyasint,omitempty"`
	// NoFile is how many files the module may have open; 0 leaves it as it is.
	NoFile int64 `cbor:"11,keyasint,omitempty"`
}

// Become is under which other user a sub-task runs, and how to become it.
// Empty fields take the method's defaults in the reference.
type Become struct {
	Method string  `cbor:"1,keyasint,omitempty"` // sudo, su, doas, ...
	User   string  `cbor:"2,keyasint,omitempty"`
	Exe    string  `cbor:"3,keyasint,omitempty"`
	Flags  *string `cbor:"4,keyasint,omitempty"` // nil: the method's default
	// Password is never logged, stored, or put in a command line or environment.
	Password string   `cbor:"5,keyasint,omitempty"`
	Chdir    string   `cbor:"6,keyasint,omitempty"`
	Prompts  []string `cbor:"7,keyasint,omitempty"`
	Wrap     bool     `cbor:"8,keyasint,omitempty"` // wrap_execution of pbrun and pfexec, alternative_method of sudosu
	Timeout  int64    `cbor:"9,keyasint,omitempty"` // seconds for a prompt or success; 0: the agent's
}

// TaskFile is a file the sub-task needs. It is staged under a name of the
// agent's choosing that ends in Suffix, and that path becomes argument Arg.
type TaskFile struct {
	Arg    string `cbor:"1,keyasint"`
	Suffix string `cbor:"2,keyasint,omitempty"`
	Hash   Hash   `cbor:"3,keyasint"`
	Size   int64  `cbor:"4,keyasint"`
}

// Collect asks, after a link was lost, what became of a sub-task. The agent
// answers State; for running and done the Result follows on this slot.
type Collect struct {
	ID TaskID `cbor:"1,keyasint"`
}

// State answers Collect.
type State struct {
	ID    TaskID    `cbor:"1,keyasint"`
	State TaskState `cbor:"2,keyasint"`
}

// TaskState is what an agent knows of a sub-task.
type TaskState uint8

// States of a sub-task.
const (
	StateUnknown TaskState = 1 // never started here, as far as the journal goes
	StateRunning TaskState = 2
	StateDone    TaskState = 3
	StateLost    TaskState = 4 // started, and it cannot be known how it ended
)

// String names the state.
func (s TaskState) String() string {
	switch s {
	case StateUnknown:
		return "unknown"
	case StateRunning:
		return "running"
	case StateDone:
		return "done"
	case StateLost:
		return "lost"
	}
	return "invalid"
}

// Started says that everything is there, it is journalled, and the module runs.
type Started struct {
	Group int64 `cbor:"1,keyasint,omitempty"` // its process group, once there is one
}

// Output is output of the module while it runs.
type Output struct {
	Stream uint8  `cbor:"1,keyasint"` // 1 stdout, 2 stderr
	Data   []byte `cbor:"2,keyasint"`
}

// Result is a piece of the encoded Outcome, at most MaxChunk bytes.
type Result struct {
	Data []byte `cbor:"1,keyasint"`
	More bool   `cbor:"2,keyasint,omitempty"`
}

// Ack says that the controller has the result: the agent may forget it.
type Ack struct {
	ID TaskID `cbor:"1,keyasint"`
}

// Cancel ends a sub-task, or keeps it from starting. The controller says it on
// the control stream when it resets the slot, and Ended answers it always; the
// agent says it to a worker, whose Result answers it.
type Cancel struct {
	ID TaskID `cbor:"1,keyasint"`
}

// Worker is the first frame of a worker: it runs, as this user.
type Worker struct {
	Version uint32 `cbor:"1,keyasint"`
	UID     int64  `cbor:"2,keyasint"`
	User    string `cbor:"3,keyasint,omitempty"`
	PID     int64  `cbor:"4,keyasint,omitempty"`
}

// Outcome is what became of a sub-task: a result, or a fault when the module
// could not be run at all.
type Outcome struct {
	Result  Dict    `cbor:"1,keyasint"`
	Path    string  `cbor:"2,keyasint,omitempty"` // native, python, raw, or "python (handed back: why)"
	Timings Timings `cbor:"3,keyasint,omitempty"`
	Fault   *Fault  `cbor:"4,keyasint,omitempty"`
	// Found is the interpreter that discovery found; nil when Task.Python did
	// not ask for discovery. It is there whatever path the module took.
	Found *Interpreter `cbor:"5,keyasint,omitempty"`
	// Became is the command line that started the worker the module ran in,
	// for who asks for detail (verbosity of 4 and more); it holds no password.
	Became string `cbor:"6,keyasint,omitempty"`
	// Then is the result of the module that followed; empty when none did.
	Then Dict `cbor:"7,keyasint,omitzero"`
}

// Interpreter is the outcome of interpreter discovery.
type Interpreter struct {
	Path string `cbor:"1,keyasint"` // the fact discovered_interpreter_python
	// Warnings are the reference's, with %s where the host's name in quotes goes.
	Warnings []string `cbor:"2,keyasint,omitempty"`
	Absent   bool     `cbor:"3,keyasint,omitempty"` // none was found: Path is the fallback
}

// Timings are durations in nanoseconds.
type Timings struct {
	Stage int64 `cbor:"1,keyasint,omitempty"` // getting files and union files
	Queue int64 `cbor:"2,keyasint,omitempty"` // waiting for a worker or Python child
	Work  int64 `cbor:"3,keyasint,omitempty"` // the module itself
}

// Fault says why a module could not be run.
type Fault struct {
	Code FaultCode `cbor:"1,keyasint"`
	Text string    `cbor:"2,keyasint"` // for the user, in the reference's words where it has any
	// Started says that the module may have begun.
	Started bool `cbor:"3,keyasint,omitempty"`
}

// FaultCode is the kind of a fault.
type FaultCode uint8

// Kinds of fault.
const (
	FaultInternal    FaultCode = 1  // our bug or I/O: full disk, journal not writable
	FaultModule      FaultCode = 2  // no such module on this agent and no Python file
	FaultInterpreter FaultCode = 3  // no usable Python
	FaultBecome      FaultCode = 4  // could not become the user
	FaultPassword    FaultCode = 5  // become password missing or wrong
	FaultStage       FaultCode = 6  // a file could not be staged
	FaultTimeout     FaultCode = 7  // Timeout passed; its processes are gone
	FaultTooLarge    FaultCode = 8  // the result is larger than max_result
	FaultCancelled   FaultCode = 9  // cancelled by the controller
	FaultLost        FaultCode = 10 // it may or may not have completed: never to be run again
	FaultWithdrawn   FaultCode = 11 // the link was lost before anything was done: to be sent again
	FaultSilent      FaultCode = 12 // becoming the user brought neither prompt nor success in time: the host counts as unreachable
)

// Kind is KindPull.
func (*Pull) Kind() Kind { return KindPull }

// Kind is KindTask.
func (*Task) Kind() Kind { return KindTask }

// Kind is KindCollect.
func (*Collect) Kind() Kind { return KindCollect }

// Kind is KindState.
func (*State) Kind() Kind { return KindState }

// Kind is KindStarted.
func (*Started) Kind() Kind { return KindStarted }

// Kind is KindOutput.
func (*Output) Kind() Kind { return KindOutput }

// Kind is KindResult.
func (*Result) Kind() Kind { return KindResult }

// Kind is KindAck.
func (*Ack) Kind() Kind { return KindAck }

// Kind is KindCancel.
func (*Cancel) Kind() Kind { return KindCancel }

// Kind is KindWorker.
func (*Worker) Kind() Kind { return KindWorker }

// Error is the fault's text.
func (f *Fault) Error() string { return f.Text }
