package bootstrap

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// probed is what one look at a host told.
type probed struct {
	system, machine string // uname -s, -m
	goarch          string // "" when there is no agent for it
	uid             string
	home            string // the agent's directory: writable, lets programs run; "" none
	freeKiB         int64  // there; -1 unknown
	installed       bool   // the wanted agent is there, and was told to enrol us
	found           string // version of another agent that is there
	gzip            bool
	python          string
	refused         []string // candidate directories and why not
}

// probeScript prints what is asked of a host between two marks, one fact a line.
// The first candidate directory that can be written and lets programs run is the
// agent's home. Directories in places everyone may write to have random names,
// are found again by their owner and mode, and are made with mkdir, which
// follows no link. When the wanted agent is there, it enrols the
// controller at once, with the request from standard input.
//
// The agent starts with the umask of the login, which it takes for its sub-tasks.
//
// It is one line of plain POSIX sh; words in capitals are replaced.
const probeScript = `o=$(umask); umask 077; echo; echo VOLANT-PROBE-BEGIN; echo "system $(uname -s)"; m=$(uname -m); echo "machine $m"; ` +
	`u=$(id -u); echo "uid $u"; command -v gzip > /dev/null 2>&1 && echo "gzip yes"; ` +
	`for p in python3 /usr/bin/python3 /usr/libexec/platform-python; do q=$(command -v "$p" 2> /dev/null) && { echo "python $q"; break; }; done; ` +
	`case $m in WANTED *) w=;; esac; ` +
	// try DIR: is it a home for the agent?
	`try() { [ -n "$1" ] || return 1; n=; [ -d "$1" ] || n=1; ` +
	`e=$(mkdir -p "$1/bin" 2>&1) || { echo "refused $1: $e"; return 1; }; ` +
	`t="$1/bin/.probe.$$"; e=$( { echo '#!/bin/sh' > "$t"; } 2>&1 ) || { rm -f "$t" 2> /dev/null; echo "refused $1: $e$(full "$1")"; clean "$1"; return 1; }; ` +
	`chmod 700 "$t"; e=$("$t" 2>&1); r=$?; [ -s "$t" ] || { r=28; e="No space left on device"; }; rm -f "$t"; ` +
	`[ $r = 0 ] || { echo "refused $1: programs do not run there: $e"; clean "$1"; return 1; }; d=$1; }; ` +
	// echo of some shells says only "I/O error" when the disk is full.
	`full() { df -kP "$1" 2> /dev/null | while read -r a b c f g; do [ "$f" = 0 ] && echo " No space left on device"; done; }; ` +
	`clean() { [ -z "$n" ] || rmdir "$1/bin" "$1" 2> /dev/null; }; ` +
	`d=; if [ -n "$VOLANT_AGENT_HOME" ]; then try "$VOLANT_AGENT_HOME"; else ` +
	`if [ "$u" = 0 ]; then try /var/lib/volant-agent; fi; [ -n "$d" ] || { [ -n "$HOME" ] && try "$HOME/.local/share/volant-agent"; }; ` +
	`for b in /var/tmp /dev/shm /tmp; do [ -z "$d" ] || break; ` +
	`for f in "$b/volant-agent-$u-"*; do [ -z "$d" ] && [ -d "$f" ] && [ ! -L "$f" ] && [ -O "$f" ] && case $(ls -ld "$f") in drwx------*) try "$f";; esac; done; ` +
	`[ -z "$d" ] && { f="$b/volant-agent-$u-RANDOM_NAME"; e=$(mkdir "$f" 2>&1) || echo "refused $b: $e"; [ -O "$f" ] && { try "$f" || rmdir "$f" 2> /dev/null; }; }; done; fi; ` +
	`if [ -n "$d" ]; then echo "home $d"; df -kP "$d" 2> /dev/null | while read -r a b c f g; do case $f in *[0-9]) echo "free $f";; esac; done; ` +
	`a="$d/bin/volant-agent"; x=; if [ -n "$w" ] && [ -x "$a-$w" ]; then x="$a-$w"; ` +
	`elif [ -x "$a" ]; then echo "found $("$a" version --short 2> /dev/null)"; fi; ` +
	`if [ -n "$x" ]; then echo "installed yes"; echo VOLANT-PROBE-END; umask "$o"; ENROL; exit 0; fi; fi; echo VOLANT-PROBE-END`

// probeEnrols is what the probe ends with when the wanted agent is there.
const probeEnrols = `exec "$x" enrol --home "$d"`

// architectures maps uname -m to GOARCH.
var architectures = map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}

// probe looks at the host. Where the wanted agent is there, it does what then
// says, with the request on its standard input.
func (c *Client) probe(ctx context.Context, bins Binaries, request []byte, then string) (*probed, Output, error) {
	var wanted strings.Builder
	for machine, arch := range architectures {
		bin, err := bins.Open(arch)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, Output{}, hostError(KindArch, err, "Reading the agent for %s: %v", arch, err)
		}
		fmt.Fprintf(&wanted, "%s) w=%s;; ", machine, short(bin))
	}
	script := strings.NewReplacer("ENROL", then, "WANTED ", wanted.String(), "RANDOM_NAME", strings.ToLower(rand.Text()[:12])).Replace(probeScript)
	out, err := c.script(ctx, probeWithin, script, bytes.NewReader(append(request, '\n')))
	if err != nil {
		return nil, out, err
	}
	p, err := parseProbe(string(out.Stdout))
	if err != nil {
		return nil, out, hostError(KindNoise, err, "The login shell of %s on this host does not run commands as it should: %s", c.s.user, said(out))
	}
	return p, out, nil
}

// parseProbe reads what probeScript printed, whatever login scripts printed around it.
func parseProbe(text string) (*probed, error) {
	_, rest, ok := strings.Cut(text, "VOLANT-PROBE-BEGIN\n")
	if !ok {
		return nil, errors.New("no beginning mark")
	}
	facts, _, ok := strings.Cut(rest, "VOLANT-PROBE-END")
	if !ok {
		return nil, errors.New("no end mark")
	}
	p := &probed{freeKiB: -1}
	for line := range strings.Lines(facts) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		switch name {
		case "system":
			p.system = clip(value, 64)
		case "machine":
			p.machine = clip(value, 64)
		case "uid":
			p.uid = value
		case "gzip":
			p.gzip = true
		case "python":
			p.python = clip(value, 256)
		case "home":
			p.home = value
		case "free":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 && n < 1<<50 {
				p.freeKiB = n
			}
		case "installed":
			p.installed = true
		case "found":
			p.found = clip(value, 64)
		case "refused":
			if len(p.refused) < 16 {
				p.refused = append(p.refused, clip(value, 300))
			}
		}
	}
	if p.system == "Linux" {
		p.goarch = architectures[p.machine]
	}
	return p, nil
}

// homeless says why no directory will do, and what kind of trouble that is.
func (p *probed) homeless() *Error {
	kind := KindHome
	full := len(p.refused) > 0
	for _, r := range p.refused {
		full = full && strings.Contains(r, "No space left")
	}
	if full {
		kind = KindDiskFull
	}
	return hostError(kind, nil, "No directory on this host can hold the agent (it must be writable and let programs run):\n  %s", strings.Join(p.refused, "\n  "))
}

// freeFromDF finds the free KiB in what df -kP printed; -1 when it is not there.
func freeFromDF(text string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 6 {
			if n, err := strconv.ParseInt(f[3], 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}

// raw is the executable itself.
func (b Binary) raw() ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b.Gzip))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, b.Size+1))
}
