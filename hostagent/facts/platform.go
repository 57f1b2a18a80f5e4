package facts

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"volant/wire/pyjson"
	"volant/wire/value"
)

func platform(r *run) (*value.Dict, error) { return r.system.platform() }

type utsname struct{ system, node, release, version, machine string }

func uname() (utsname, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return utsname{}, fmt.Errorf("asking the kernel its name: %w", err)
	}
	text := func(b []byte) string {
		if i := bytes.IndexByte(b, 0); i >= 0 {
			b = b[:i]
		}
		return string(b)
	}
	return utsname{text(u.Sysname[:]), text(u.Nodename[:]), text(u.Release[:]), text(u.Version[:]), text(u.Machine[:])}, nil
}

func platformOf(r *run) (*value.Dict, error) {
	u, err := uname()
	if err != nil {
		return nil, err
	}
	py, err := r.python()
	if err != nil {
		return nil, err
	}
	fqdn, err := r.fqdn(u.node)
	if err != nil {
		return nil, err
	}
	host, _, _ := strings.Cut(u.node, ".")
	_, domain, _ := strings.Cut(fqdn, ".")
	bits, _ := py.Str("bits")
	out := value.DictOf("system", u.system, "kernel", u.release, "kernel_version", u.version, "machine", u.machine,
		"python_version", py.Lookup("text"), "fqdn", fqdn, "hostname", host, "nodename", u.node, "domain", domain,
		"userspace_bits", bits)
	user := map[string]string{"64": "x86_64", "32": "i386"}[bits]
	switch m := u.machine; {
	case m == "x86_64":
		out.Set("architecture", m)
		out.Set("userspace_architecture", user)
	case len(m) == 4 && m[0] == 'i' && strings.HasSuffix(m, "86"):
		out.Set("architecture", "i386")
		out.Set("userspace_architecture", user)
	default:
		out.Set("architecture", m)
	}
	id := read("/var/lib/dbus/machine-id", "")
	if id == "" {
		id = read("/etc/machine-id", "")
	}
	if id != "" {
		first, _, _ := strings.Cut(id, "\n")
		out.Set("machine_id", first)
	}
	return out, nil
}

// probe asks an interpreter what only it can say.
const probe = `import json,platform,sys
try:
    from ssl import create_default_context, SSLContext
    ssl = True
except ImportError:
    ssl = False
v = sys.version_info
print(json.dumps({"text": platform.python_version(), "version": list(v), "executable": sys.executable, "ssl": ssl,
    "type": sys.implementation.name, "bits": platform.architecture()[0].replace("bit", "")}))`

// python describes the interpreter modules run with; it is asked once for as
// long as the binary is the same.
func (r *run) python() (*value.Dict, error) {
	if r.host.Python == "" {
		return nil, &HandBack{Reason: "no interpreter is known yet"}
	}
	text, err := r.remember("python", []string{r.host.Python}, func() (string, error) {
		out, ok := r.command(r.host.Python, "-c", probe)
		if !ok {
			return "", fmt.Errorf("%s does not answer", r.host.Python)
		}
		return out, nil
	})
	if err != nil {
		return nil, &HandBack{Reason: err.Error()}
	}
	v, err := pyjson.DecodeString(text)
	d, ok := v.(*value.Dict)
	if err != nil || !ok {
		return nil, &HandBack{Reason: r.host.Python + " answered what is no JSON"}
	}
	return d, nil
}

func pythonFacts(r *run) (*value.Dict, error) {
	py, err := r.python()
	if err != nil {
		return nil, err
	}
	info, ok := py.Lookup("version").(*value.List)
	if !ok || info.Len() != 5 {
		return nil, errors.New("the interpreter's version has not five parts")
	}
	return value.DictOf("python", value.DictOf(
		"version", value.DictOf("major", info.Items[0], "minor", info.Items[1], "micro", info.Items[2],
			"releaselevel", info.Items[3], "serial", info.Items[4]),
		"version_info", info, "executable", py.Lookup("executable"), "has_sslcontext", py.Lookup("ssl"),
		"type", py.Lookup("type"))), nil
}

// fqdn is Python's socket.getfqdn(): the first name with a dot of the entry
// that the host's own name leads to. What /etc/hosts does not answer is asked
// of Python, which goes through the host's name service.
func (r *run) fqdn(node string) (string, error) {
	if name, ok := FullName(node); ok {
		return name, nil
	}
	out, ok := r.command(r.host.Python, "-c", "import socket; print(socket.getfqdn())")
	if !ok {
		return "", &HandBack{Reason: "the host's own name does not resolve"}
	}
	return strings.TrimSpace(out), nil
}

// FullName is Python's socket.getfqdn() of a host's own name where /etc/hosts
// answers, and is asked first.
func FullName(node string) (string, bool) {
	names := hostsEntry(node)
	for _, n := range names {
		if strings.Contains(n, ".") {
			return n, true
		}
	}
	if names == nil {
		return "", false
	}
	return names[0], true
}

// hostsEntry finds the names of the address that /etc/hosts gives name, when
// the name service asks that file first.
func hostsEntry(name string) []string {
	first := "files"
	for _, line := range lines("/etc/nsswitch.conf") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "hosts:"); ok {
			if words := strings.Fields(rest); len(words) > 0 {
				first = words[0]
			}
		}
	}
	if first != "files" {
		return nil
	}
	data, err := os.ReadFile("/etc/hosts")
	if err != nil || len(data) > maxFile {
		return nil
	}
	type entry struct {
		ip    string
		names []string
	}
	var all []entry
	address := ""
	for _, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		ip := net.ParseIP(words[0])
		if ip == nil {
			continue
		}
		all = append(all, entry{ip.String(), words[1:]})
		for _, n := range words[1:] {
			// IPv4 comes first when both families answer for a local name.
			if strings.EqualFold(n, name) && (address == "" || strings.Contains(address, ":") && ip.To4() != nil) {
				address = ip.String()
			}
		}
	}
	for _, e := range all {
		if e.ip == address {
			return e.names
		}
	}
	return nil
}
