// Package e2e holds the end-to-end tests: the real binaries against lab hosts,
// through real SSH and real QUIC, with the reference's real modules.
package e2e
