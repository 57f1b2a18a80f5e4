package modules

import (
	"context"
	"fmt"
	"os"
	"strings"

	"volant/hostagent/facts"
	"volant/wire/value"
)

type hostnameArgs struct {
	Name string  `arg:"name,required"`
	Use  *string `arg:"use,choices=alpine|debian|freebsd|generic|macos|macosx|darwin|openbsd|openrc|redhat|sles|solaris|systemd"`
}

// namer sets the host's name through systemd.
type namer struct {
	*call
	ctx context.Context
	bin string
}

// hostname is the hostname module on hosts that systemd manages.
func hostname(ctx context.Context, c *call, a *hostnameArgs) (Result, error) {
	switch {
	case a.Use != nil && *a.Use != "systemd" && *a.Use != "debian":
		return nil, handBack("a strategy other than systemd's")
	case a.Use == nil && !c.systemdManaged():
		return nil, handBack("systemd does not manage the host")
	case c.Python == "":
		return nil, handBack("no interpreter to ask for the full name")
	}
	bin, err := c.needBin("hostnamectl")
	if err != nil {
		return nil, err
	}
	n := &namer{c, ctx, bin}
	current, err := n.ctl("--transient", "status")
	if err != nil {
		return nil, err
	}
	static, err := n.ctl("--static", "status")
	if err != nil {
		return nil, err
	}
	changed := current != a.Name || static != a.Name
	if changed && !c.Check && len(a.Name) > 64 {
		return nil, fail("name cannot be longer than 64 characters on systemd servers, try a shorter name")
	}
	if static != a.Name && !c.Check {
		if _, err := n.ctl("--pretty", "--static", "set-hostname", a.Name); err != nil {
			return nil, err
		}
	}
	if !c.Check {
		now, err := n.ctl("--transient", "status")
		if err == nil && now != a.Name {
			_, err = n.ctl("--transient", "set-hostname", a.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	before := static
	if a.Name != current {
		before = current
	}
	fqdn := n.full()
	_, domain, _ := strings.Cut(fqdn, ".")
	short, _, _ := strings.Cut(a.Name, ".")
	res := value.DictOf("changed", changed, "name", a.Name, "ansible_facts", value.DictOf("ansible_hostname", short, "ansible_nodename", a.Name,
		"ansible_fqdn", fqdn, "ansible_domain", domain))
	if changed {
		res.Set("diff", value.DictOf("after", "hostname = "+a.Name+"\n", "before", "hostname = "+before+"\n"))
	}
	return res, nil
}

func (n *namer) ctl(words ...string) (string, error) {
	argv := append([]string{n.bin}, words...)
	r, err := n.run(n.ctx, &command{argv: argv})
	if err != nil {
		return "", commandFailed(err, argv)
	}
	if r.rc != 0 {
		return "", fail(fmt.Sprintf("Command failed rc=%d, out=%s, err=%s", r.rc, r.stdout, r.stderr))
	}
	return strings.TrimFunc(string(r.stdout), pySpace), nil
}

// full is the host's full name, as Python finds it.
func (n *namer) full() string {
	node, err := os.Hostname()
	if err != nil {
		return ""
	}
	if name, ok := facts.FullName(node); ok {
		return name
	}
	r, err := n.run(n.ctx, &command{argv: []string{n.Python, "-c", "import socket; print(socket.getfqdn())"}})
	if err != nil || r.rc != 0 {
		return node
	}
	return strings.TrimSpace(string(r.stdout))
}
