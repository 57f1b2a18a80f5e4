// Package chaos breaks links, agents and journals at random while sub-tasks
// run, and checks that each ran exactly once or is reported as lost, that no
// result is lost or mixed up, and that nothing is left behind. make chaos runs
// it; a run is repeated by its seed.
package chaos
