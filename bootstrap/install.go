package bootstrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"time"

	"volant/bootstrap/enrol"
	"volant/wire"
	"volant/wire/shlex"
)

const (
	maxChatter   = 1 << 20          // bytes a host may print while the agent is installed
	probeWithin  = time.Minute      // for a probe, and an enrolment that needs no upload
	uploadWithin = 10 * time.Minute // for an upload over a poor line
)

// EnsureAgent makes sure that an agent at least as new as bins runs on the host,
// serves the controller named in e, and returns how to reach it. An agent that
// is alive and current is only told to renew the lease. Errors are *Error, or
// the context's.
//
//	present and current   one channel: probe and enrol
//	absent or older       two: probe, then upload, rename and enrol
func (c *Client) EnsureAgent(ctx context.Context, bins Binaries, e Enrolment) (AgentInfo, error) {
	if len(e.Controller) == 0 {
		return AgentInfo{}, hostError(KindConfig, nil, "no controller key to enrol")
	}
	request, err := json.Marshal(e)
	if err != nil {
		return AgentInfo{}, hostError(KindConfig, err, "encoding the enrolment: %v", err)
	}
	p, out, err := c.probe(ctx, bins, request, probeEnrols)
	if err != nil {
		return AgentInfo{}, err
	}
	info := AgentInfo{Python: p.python, HostKey: c.hostKey, HostKeyOK: c.verified}
	damaged := func() bool {
		_, err := enrol.ParseReply(string(out.Stdout))
		return errors.Is(err, enrol.ErrNoReply)
	}
	switch {
	case p.installed && !damaged():
	case !p.installed && wire.NewerRelease(p.found, bins.Version()):
		// Ours would be a step back: the newer agent serves us too.
		out, err = c.script(ctx, probeWithin, shlex.Quote(p.home+"/bin/volant-agent")+" enrol --home "+shlex.Quote(p.home), bytes.NewReader(append(request, '\n')))
	default:
		var bin Binary
		if bin, err = c.choose(bins, p); err == nil {
			out, err = c.upload(ctx, bin, p, request, uploadEnrols)
			info.Installed = err == nil
		}
	}
	if err != nil {
		return info, err
	}
	return info, c.accept(&info, out)
}

// accept takes the agent's answer from what the host printed.
func (c *Client) accept(info *AgentInfo, out Output) error {
	rep, err := enrol.ParseReply(string(out.Stdout))
	switch {
	case errors.Is(err, enrol.ErrNoReply):
		return hostError(KindStart, err, "The agent on this host did not start: %s", said(out))
	case err != nil:
		return hostError(KindStart, err, "The agent on this host gave an answer that cannot be used: %v", err)
	case rep.Error != "":
		return hostError(KindStart, nil, "The agent on this host did not start: %s", clip(rep.Error, 500))
	}
	info.Reply, info.Answered = rep, time.Now()
	if rep.Port == 0 {
		return nil
	}
	host := c.dialHost()
	if a := net.ParseIP(rep.Address); a != nil && !a.IsUnspecified() && !c.direct {
		host = rep.Address
	}
	info.DialAddress = net.JoinHostPort(host, strconv.Itoa(rep.Port))
	return nil
}

// choose finds the agent for the host and checks that it fits.
func (c *Client) choose(bins Binaries, p *probed) (Binary, error) {
	if p.goarch == "" {
		return Binary{}, hostError(KindArch, nil, "There is no agent for this host: it is %s on %s, agents exist for Linux on amd64 and arm64", p.system, p.machine)
	}
	bin, err := bins.Open(p.goarch)
	if errors.Is(err, fs.ErrNotExist) {
		return Binary{}, hostError(KindArch, err, "There is no agent for this host: it is %s on %s, and this volant carries none for %s (%v)", p.system, p.machine, p.goarch, err)
	}
	if err != nil {
		return Binary{}, hostError(KindArch, err, "Reading the agent for %s: %v", p.goarch, err)
	}
	if p.home == "" {
		return Binary{}, p.homeless()
	}
	if need := bin.Size + bin.Size/8 + 256<<10; p.freeKiB >= 0 && p.freeKiB<<10 < need {
		return Binary{}, diskFull(p.home, p.freeKiB<<10, need)
	}
	return bin, nil
}

func diskFull(home string, free, need int64) *Error {
	return hostError(KindDiskFull, nil, "There is no room for the agent in %s: %.1f MB are free, %.1f MB are needed", home, float64(free)/1e6, float64(need)/1e6)
}

// uploadScript receives the agent on standard input behind the request line,
// under a name of its own, and renames it only when it is what was sent. The
// request goes through a builtin, so it is in no argument list. Whatever ends it
// before that leaves nothing: the line may break, and then what it prints kills it.
// Words in capitals are replaced.
const uploadScript = `IFS= read -r req || exit 1; d=HOME_DIR; o=$(umask); n="$d/bin/volant-agent-SHORT"; t="$d/bin/.new.$$"; umask 077; ` +
	`trap 'rm -f "$t"; rmdir "$d/bin" "$d" 2> /dev/null' 0; trap 'exit 1' HUP INT PIPE TERM; ` +
	`mkdir -p "$d/bin" || { echo VOLANT-UPLOAD write; exit 1; }; ` +
	`if ! UNPACK > "$t"; then cat > /dev/null; echo; echo VOLANT-UPLOAD write; df -kP "$d"; exit 1; fi; ` +
	`chmod 755 "$t" || { echo VOLANT-UPLOAD write; exit 1; }; ` +
	`if command -v sha256sum > /dev/null 2>&1; then s=$(sha256sum < "$t"); else s=$("$t" version --digest); fi; ` +
	`case $s in DIGEST*) ;; *) echo; echo VOLANT-UPLOAD digest "$s"; exit 1;; esac; ` +
	`mv -f "$t" "$n" && ln -sfn "volant-agent-SHORT" "$d/bin/volant-agent" || { echo VOLANT-UPLOAD write; exit 1; }; ` +
	`for f in "$d"/bin/volant-agent-*; do [ "$f" = "$n" ] || rm -f "$f"; done; ` +
	`umask "$o"; ENROL`

// What an upload ends with.
const (
	uploadEnrols = `printf '%s\n' "$req" | "$n" enrol --home "$d"`
	uploadOnly   = `echo VOLANT-UPLOADED`
)

// upload puts the agent on the host and does what then says.
func (c *Client) upload(ctx context.Context, bin Binary, p *probed, request []byte, then string) (Output, error) {
	unpack, body := "gzip -dc", io.Reader(bytes.NewReader(bin.Gzip))
	if !p.gzip {
		raw, err := bin.raw()
		if err != nil {
			return Output{}, hostError(KindUpload, err, "Unpacking the agent for %s: %v", p.goarch, err)
		}
		unpack, body = "cat", bytes.NewReader(raw)
	}
	script := strings.NewReplacer("HOME_DIR", shlex.Quote(p.home), "SHORT", short(bin), "UNPACK", unpack, "DIGEST", bin.SHA256, "ENROL", then).Replace(uploadScript)
	out, err := c.script(ctx, uploadWithin, script, io.MultiReader(bytes.NewReader(append(request, '\n')), body))
	if err != nil {
		return out, err
	}
	_, why, failed := strings.Cut(string(out.Stdout), "VOLANT-UPLOAD ")
	switch {
	case !failed:
		return out, nil
	case strings.HasPrefix(why, "digest"):
		return out, hostError(KindUpload, nil, "The agent arrived damaged on this host: its digest is %s, not %s", clip(strings.TrimSpace(strings.TrimPrefix(why, "digest")), 64), bin.SHA256)
	case strings.Contains(string(out.Stderr), "No space left") || strings.Contains(string(out.Stderr), "quota"):
		return out, diskFull(p.home, max(0, freeFromDF(why))<<10, bin.Size)
	}
	return out, hostError(KindHome, nil, "The agent cannot be written to %s: %s", p.home, said(out))
}

// script runs a one-line shell script through the host's login shell, whatever
// that is: the shell sees a fixed short command, and sh reads the script from
// standard input up to the newline (read takes no byte more).
func (c *Client) script(ctx context.Context, within time.Duration, script string, stdin io.Reader) (Output, error) {
	if strings.ContainsAny(script, "\n\x00") {
		return Output{}, hostError(KindConfig, nil, "A directory on this host has a newline in its name")
	}
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	in := io.MultiReader(strings.NewReader(script+"\n"), stdin)
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	out, err := c.run(limited, `exec /bin/sh -c 'IFS= read -r l && eval "$l"'`, in, maxChatter)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return out, hostError(KindTimeout, err, "This host let us log in, but did not finish installing the agent within %s: %s", within, said(out))
	}
	return out, err
}

// short is the part of the digest that names the file on the host.
func short(b Binary) string {
	if len(b.SHA256) < 16 {
		return b.SHA256
	}
	return b.SHA256[:16]
}

// said is what the host printed, for a message.
func said(out Output) string {
	text := strings.TrimSpace(string(out.Stderr))
	if text == "" {
		text = strings.TrimSpace(string(out.Stdout))
	}
	if text == "" {
		return fmt.Sprintf("it printed nothing and ended with status %d", out.Code)
	}
	return clip(text, 500)
}

// clip shortens to n bytes and drops control characters, which terminals would obey.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "..."
	}
	return s
}
