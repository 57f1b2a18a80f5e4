// Package compile makes one numbered list of steps of a play: fact gathering,
// pre_tasks, roles, tasks, post_tasks, with a handler flush after each part.
// Every host walks the same list; blocks are spans over it, and rescue, always
// and handlers are jumps (see Cursor). Dynamic includes and handler flushes
// splice steps in behind the step that caused them. The package also filters
// by tags, finds the task to start at, names before a run what cannot run
// (Preflight) and renders the listings.
package compile
