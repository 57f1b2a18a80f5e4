package execute

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"volant/bootstrap"
	"volant/bootstrap/enrol"
	"volant/controller/fleet"
	"volant/controller/template"
	"volant/wire"
	"volant/wire/value"
)

// connection is how the item's host is reached.
type connection struct {
	local  bool
	plugin string
	target fleet.Target
	become *wire.Become
}

// connVar is a connection variable of the host that the item works on, rendered.
func (it *item) connVar(ctx context.Context, names ...string) (any, bool) {
	for _, n := range names {
		v, marked, ok := it.cv.Own(n)
		if !ok || v == nil {
			continue
		}
		it.said = it.said || marked
		if c, ok := template.Constant(v); ok {
			return c, true
		}
		out, read, err := it.scope(ctx, it.cv).Render(v)
		it.said = it.said || read
		if err == nil && out != nil && out != value.Omit {
			return out, true
		}
	}
	return nil, false
}

func (it *item) connText(ctx context.Context, names ...string) string {
	if v, ok := it.connVar(ctx, names...); ok {
		return text(v)
	}
	return ""
}

// plugins are the connection plugins that we know; all that are not local are
// reached by SSH and the agent.
var remotePlugins = map[string]bool{
	"ssh": true, "smart": true, "paramiko": true, "paramiko_ssh": true, "volant": true,
}

// resolveConn decides how the item's host is reached.
func (it *item) resolveConn(ctx context.Context) (*connection, error) {
	c := &connection{plugin: cmp.Or(it.connText(ctx, "ansible_connection"), it.f.connection, "ssh")}
	short := builtin(c.plugin)
	if short == "local" {
		c.local = true
		patience, err := it.optionText(ctx, "connection", "local", "become_success_timeout", nil)
		if err != nil {
			return nil, err
		}
		n, _ := strconv.Atoi(patience) // less than 1: the default
		become, err := it.becomeOf(ctx, it.r.opt.Login.LocalUser, time.Duration(max(n, 0))*time.Second)
		c.become = become
		return c, err
	}
	_, piped := pipePlugins[short]
	if !remotePlugins[short] && !piped {
		return nil, fmt.Errorf("the connection plugin '%s' was not found", c.plugin)
	}
	name := it.h.name
	if it.delegate != "" {
		name = it.r.hostNamed(it.delegate)
	}
	var o bootstrap.Options
	var err error
	if piped {
		o, err = it.pipeOptions(ctx, short, name)
	} else {
		o, err = it.sshOptions(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	if it.r.opt.Login.Host != nil {
		it.r.opt.Login.Host(&o)
	}
	if c.become, err = it.becomeOf(ctx, o.User, o.Timeout+becomePatience); err != nil {
		return nil, err
	}
	c.target = fleet.Target{Name: name, SSH: o}
	if err = it.agentOf(ctx, &c.target); piped {
		c.target.Transient = enrol.TransientAlways
	}
	return c, err
}

// becomePatience is how much longer than a connection becoming a user may take.
const becomePatience = 2 * time.Second

// sshOptions are how to log in to a host: what the reference's connection
// plugin ssh would do.
func (it *item) sshOptions(ctx context.Context, name string) (bootstrap.Options, error) {
	login := &it.r.opt.Login
	o := bootstrap.Options{
		Host:           cmp.Or(it.connText(ctx, "ansible_ssh_host", "ansible_host"), name),
		User:           cmp.Or(it.connText(ctx, "ansible_ssh_user", "ansible_user"), it.f.remoteUser),
		Password:       cmp.Or(it.connText(ctx, "ansible_ssh_password", "ansible_ssh_pass", "ansible_password"), login.Password),
		PrivateKeyFile: cmp.Or(it.connText(ctx, "ansible_ssh_private_key_file", "ansible_private_key_file"), login.PrivateKey),
		Timeout:        login.Timeout,
		Log:            it.r.opt.Log,
	}
	var bad firstError
	for _, f := range []struct {
		to    *string
		name  string
		given any
	}{
		{&o.SSHArgs, "ssh_args", nil}, {&o.CommonArgs, "ssh_common_args", given(login.SSHCommonArgs)}, {&o.ExtraArgs, "ssh_extra_args", given(login.SSHExtraArgs)},
		{&o.Executable, "ssh_executable", nil}, {&o.PrivateKey, "private_key", nil}, {&o.Passphrase, "private_key_passphrase", nil},
		{&o.PKCS11Provider, "pkcs11_provider", nil}, {&o.PasswordPrompt, "sshpass_prompt", nil},
	} {
		v, err := it.optionText(ctx, "connection", "ssh", f.name, f.given)
		*f.to = v
		bad.keep(err)
	}
	var port any
	if it.f.port != 0 {
		port = int64(it.f.port)
	}
	var err error
	o.Port, err = it.optionInt(ctx, "connection", "ssh", "port", port)
	if err != nil || o.Port < 0 || o.Port > 65535 {
		bad.keep(fmt.Errorf("Invalid value %q for ansible_port.", it.connText(ctx, "ansible_ssh_port", "ansible_port"))) //nolint:staticcheck // shown to users
	}
	if t := it.connText(ctx, "ansible_ssh_timeout", "ansible_timeout"); t != "" {
		if n, err := strconv.Atoi(t); err == nil && n > 0 {
			o.Timeout = time.Duration(n) * time.Second
		}
	}
	check, err := it.optionBool(ctx, "connection", "ssh", "host_key_checking")
	bad.keep(err)
	o.NoHostKeyCheck = !check
	o.Retries, err = it.optionInt(ctx, "connection", "ssh", "reconnection_retries", nil)
	bad.keep(err)
	o.SSH = it.connText(ctx, "volant_ssh")
	if c := it.r.opt.Config; o.SSH == "" && c != nil {
		o.SSH = c.String("VOLANT_SSH")
	}
	if !bootstrap.KnownSSH(o.SSH) {
		bad.keep(fmt.Errorf("Invalid value %q for volant_ssh.", o.SSH)) //nolint:staticcheck // shown to users
	}
	return o, bad.err
}

// agentOf fills in how the host's agent is wanted: the configuration's
// settings, which variables of the host override.
func (it *item) agentOf(ctx context.Context, t *fleet.Target) error {
	set := func(name, variable string) string {
		if s := it.connText(ctx, variable); s != "" || it.r.opt.Config == nil {
			return s
		}
		if v := it.r.opt.Config.Get(name); v != nil {
			return text(v)
		}
		return ""
	}
	switch mode := set("VOLANT_AGENT", "volant_agent"); {
	case mode == "transient":
		t.Transient = enrol.TransientAlways
	case mode != "" && mode != "resident":
		return fmt.Errorf("Invalid value %q for volant_agent.", mode) //nolint:staticcheck // shown to users
	case it.r.opt.Check: // installs nothing
		t.Transient = enrol.TransientAbsent
	}
	if p := set("VOLANT_AGENT_PORT", "volant_agent_port"); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || n > 65535 {
			return fmt.Errorf("Invalid value %q for volant_agent_port.", p) //nolint:staticcheck // shown to users
		}
		t.Enrol.Port = n
	}
	t.Enrol.Listen = set("VOLANT_AGENT_LISTEN", "volant_agent_listen")
	if days, err := strconv.Atoi(set("VOLANT_ENROL_TTL", "volant_enrol_ttl")); err == nil && days > 0 {
		t.Enrol.TTLSeconds = int64(days) * 24 * 60 * 60
	}
	return nil
}

// decide returns the item's connection, decided once.
func (h *remote) decide(ctx context.Context) (*connection, error) {
	if h.conn == nil {
		c, err := h.resolveConn(ctx)
		if err != nil {
			return nil, err
		}
		h.conn = c
	}
	return h.conn, nil
}

// connect makes the transport to the item's host.
func (h *remote) connect(ctx context.Context) error {
	if h.tr != nil {
		return nil
	}
	c, err := h.decide(ctx)
	if err != nil {
		return err
	}
	if h.r.opt.Transport == nil {
		return fmt.Errorf("no way to reach hosts")
	}
	if c.local {
		h.tr, err = h.r.opt.Transport.Local(ctx)
	} else {
		h.tr, err = h.r.opt.Transport.Remote(ctx, c.target)
	}
	if err != nil {
		return h.sendError(ctx, err)
	}
	return nil
}

// interpreter fills in which Python runs the module.
func (h *remote) interpreter(ctx context.Context, py *wire.Python) error {
	v, ok := h.connVar(ctx, "ansible_python_interpreter")
	switch {
	case ok:
		py.Interpreter = text(v)
	case h.r.opt.Config != nil && h.r.opt.Config.String("INTERPRETER_PYTHON") != "":
		py.Interpreter = h.r.opt.Config.String("INTERPRETER_PYTHON")
	default:
		py.Interpreter = "auto"
	}
	if f, ok := h.r.opt.Store.Facts(h.targetName()).Str("discovered_interpreter_python"); ok && strings.HasPrefix(py.Interpreter, "auto") {
		py.Interpreter = f
	}
	if h.r.opt.Config != nil {
		py.Fallback = h.r.opt.Config.Strings("INTERPRETER_PYTHON_FALLBACK")
	}
	if l, ok := h.connVar(ctx, "ansible_interpreter_python_fallback"); ok {
		if list, ok := l.(*value.List); ok {
			py.Fallback = nil
			for _, e := range list.Items {
				py.Fallback = append(py.Fallback, text(e))
			}
		}
	}
	if h.r.opt.Config != nil {
		py.NoFile = int64(h.r.opt.Config.Int("PYTHON_MODULE_RLIMIT_NOFILE"))
	}
	if v, ok := h.connVar(ctx, "ansible_python_module_rlimit_nofile"); ok {
		if n, err := strconv.ParseInt(text(v), 10, 64); err == nil {
			py.NoFile = n
		}
	}
	if name := interpreterName(py.Shebang); name != "" && name != "python" {
		if v, ok := h.connVar(ctx, "ansible_"+name+"_interpreter"); ok {
			py.Overrides = append(py.Overrides, wire.EnvVar{Name: name, Value: text(v)})
		}
	}
	return nil
}

// interpreterName is the program of a shebang line, without path and env.
func interpreterName(shebang string) string {
	words := strings.Fields(shebang)
	if len(words) == 0 {
		return ""
	}
	base := func(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }
	if b := base(words[0]); b != "env" || len(words) < 2 {
		return strings.TrimRight(b, "0123456789.")
	}
	return strings.TrimRight(base(words[1]), "0123456789.")
}

func (it *item) targetName() string {
	if it.delegate != "" {
		return it.r.hostNamed(it.delegate)
	}
	return it.h.name
}

// asyncDir is where background jobs keep their status.
func (it *item) asyncDir() string {
	if v, ok := it.connVar(context.Background(), "ansible_async_dir"); ok {
		return text(v)
	}
	return cmp.Or(it.r.opt.AsyncDir, "~/.ansible_async")
}
