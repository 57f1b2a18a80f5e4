// Package playbook turns the files of a project into plays, blocks, tasks,
// roles and handlers: syntax, validation and what is resolved at load time
// (static imports, roles with their dependencies, module names). Values stay
// as written; nothing is rendered but the few names that must be known before
// a run (see Renderer). Package compile makes numbered steps of the result.
//
//	file --yaml--> values --Loader--> Playbook > Play > Block > Task
//	                                             Play > Role  > Block > Task
package playbook
