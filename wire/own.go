package wire

// The agent's own modules: a Task names one as it names a module of Ansible's.

// GetModule sends a file to the controller: arguments {"path": PATH}, result
// {"size", "mode"} or failed with msg.
const GetModule = "volant.get"

// TreeModule copies a part of a directory: the controller names files with their
// checksums, directories and links; the agent asks for the contents it lacks, all
// before anything is changed, and then does for each in turn what stat, copy and
// file would do.
//
//	dest     directory, with a slash at its end
//	force    files that differ are replaced
//	copy     arguments of the copy module, file those of the file module
//	preserve files get the controller's mode
//	entries  a file: [path below dest, SHA-1, mode]; else all arguments for file
//
// Its result has done (entries that are finished), changed, and when it stopped
// early either result, the failed module's, or left: why the rest is to be done
// by modules of their own.
const TreeModule = "volant.tree"
