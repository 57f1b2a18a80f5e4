package actions

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"volant/wire/shlex"
	"volant/wire/value"
)

var rebootArgs = []string{
	"boot_time_command", "connect_timeout", "msg", "post_reboot_delay", "pre_reboot_delay", "reboot_command",
	"reboot_timeout", "search_paths", "test_command",
}

// shutdownLine is how a family of systems is told to reboot: the program and
// its arguments, with the delay and the message filled in.
type shutdownLine struct {
	program string
	args    func(seconds int, msg string) string
}

func inMinutes(prefix string) func(int, string) string {
	return func(seconds int, msg string) string { return fmt.Sprintf(`-r %s%d "%s"`, prefix, seconds/60, msg) }
}

// shutdownLines differ from the default for these distributions and families.
var shutdownLines = map[string]shutdownLine{
	"alpine": {"reboot", func(int, string) string { return "" }},
	"void":   {"shutdown", inMinutes("+")},
}

var defaultShutdown = shutdownLine{"shutdown", inMinutes("")}

// rebooter is one reboot task at work.
type rebooter struct {
	*Run
	line    shutdownLine
	connect time.Duration // bound of one try to reconnect, 0 when not given
	limit   int           // reboot_timeout, seconds
}

// reboot restarts the host and waits until it is back with another boot id and
// its test command succeeds.
func reboot(ctx context.Context, r *Run) (Result, error) {
	if r.Local {
		return value.DictOf("changed", false, "elapsed", int64(0), "rebooted", false, "failed", true,
			"msg", "Running "+r.Action+" with local connection would reboot the control node."), nil
	}
	if r.Check {
		return value.DictOf("changed", true, "elapsed", int64(0), "rebooted", true), nil
	}
	b := &rebooter{Run: r, limit: 600}
	if err := b.times(); err != nil {
		return nil, err
	}
	if err := b.distribution(ctx); err != nil {
		return nil, err
	}
	before, err := b.bootID(ctx)
	if err != nil {
		return value.DictOf("failed", true, "reboot", false, "msg", err.Error()), nil
	}
	program, err := b.program(ctx)
	if err != nil {
		return nil, err
	}
	pre, _ := b.delay("pre_reboot_delay")
	msg := "Reboot initiated by Ansible"
	if m, ok := r.Args.Str("msg"); ok {
		msg = m
	}
	args := b.line.args(pre, msg)
	if given, ok := r.Args.Str("reboot_command"); ok {
		_, args, _ = strings.Cut(given, " ")
	}
	res, err := r.Host.Raw(ctx, program+" "+args, "")
	start := time.Now()
	elapsed := func(res Result) (Result, error) {
		res.Set("elapsed", int64(time.Since(start)/time.Second))
		return res, nil
	}
	if err != nil {
		if !isNotReached(err) && !errors.Is(err, ErrLost) {
			return nil, err // the host went down before it answered: that is what was asked
		}
	} else if rc, _ := res.Lookup("rc").(int64); rc != 0 && !cutDown(res, rc) {
		out, _ := res.Str("stdout")
		errText, _ := res.Str("stderr")
		return elapsed(value.DictOf("failed", true, "rebooted", false, "start", start.UTC().Format("2006-01-02T15:04:05.000000-07:00"), "msg",
			fmt.Sprintf("Reboot command failed. Error was: '%s, %s'", strings.TrimSpace(out), strings.TrimSpace(errText))))
	}
	post, _ := b.delay("post_reboot_delay")
	if err := sleep(ctx, seconds(post)); err != nil {
		return nil, err
	}
	waits := []struct {
		what string
		try  func(context.Context) error
	}{
		{"last boot time check", func(ctx context.Context) error { return b.checkBoot(ctx, before) }},
		{"post-reboot test command", b.test},
	}
	for _, w := range waits {
		if err := b.until(ctx, w.try); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return elapsed(value.DictOf("failed", true, "rebooted", true,
				"msg", fmt.Sprintf("Timed out waiting for %s (timeout=%d)", w.what, b.limit)))
		}
	}
	return elapsed(value.DictOf("rebooted", true, "changed", true))
}

// cutDown reports whether a reboot command with that status was ended by the
// shutdown it had begun: the system going down sends signals to all that runs,
// and the agent may live to tell. That the host reboots is checked afterwards.
func cutDown(res Result, rc int64) bool {
	out, _ := res.Str("stdout")
	errText, _ := res.Str("stderr")
	return (rc < 0 || rc > 128) && strings.TrimSpace(out+errText) == ""
}

func (b *rebooter) delay(name string) (int, error) {
	v, ok := b.Args.Get(name)
	if !ok {
		return 0, nil
	}
	n, err := integer(v)
	return max(n, 0), err
}

func (b *rebooter) times() error {
	for _, name := range []string{"pre_reboot_delay", "post_reboot_delay"} {
		if _, err := b.delay(name); err != nil {
			return err
		}
	}
	if v, ok := b.Args.Get("reboot_timeout"); ok {
		n, err := integer(v)
		if err != nil {
			return err
		}
		b.limit = n
	}
	if v := b.Args.Lookup("connect_timeout"); v != nil {
		n, err := integer(v)
		if err != nil {
			return err
		}
		b.connect = seconds(n)
	}
	return nil
}

// distribution chooses the shutdown line from what setup says of the host.
func (b *rebooter) distribution(ctx context.Context) error {
	res, err := b.Host.Module(ctx, "ansible.legacy.setup", value.DictOf("gather_subset", "min"))
	if err != nil {
		return err
	}
	if res.Bool("failed") {
		return fmt.Errorf("Failed to determine system distribution. %s, %s", //nolint:staticcheck // the reference's text
			firstText(res, "module_stdout", "msg"), firstText(res, "module_stderr"))
	}
	facts, _ := res.Lookup("ansible_facts").(*value.Dict)
	var have [3]string
	for i, key := range []string{"ansible_distribution", "ansible_distribution_version", "ansible_os_family"} {
		text, ok := facts.Str(key)
		if !ok {
			return fmt.Errorf(`Failed to get distribution information. Missing "%s" in output.`, key) //nolint:staticcheck // the reference's text
		}
		have[i] = strings.ToLower(text)
	}
	major, _, _ := strings.Cut(have[1], ".")
	b.line = defaultShutdown
	for _, key := range []string{have[2], have[0], have[0] + major} {
		if line, ok := shutdownLines[key]; ok {
			b.line = line
		}
	}
	return nil
}

func (b *rebooter) bootID(ctx context.Context) (string, error) {
	cmd := "cat /proc/sys/kernel/random/boot_id"
	if v := b.Args.Lookup("boot_time_command"); v != nil && v != "" {
		text, ok := value.Text(v)
		if !ok {
			return "", fmt.Errorf("Invalid value given for 'boot_time_command': '%s' is not a string and conversion is not allowed.", value.Str(v)) //nolint:staticcheck // the reference's text
		}
		cmd = text
	}
	res, err := b.Host.Raw(ctx, cmd, "")
	if err != nil {
		return "", err
	}
	out, _ := res.Str("stdout")
	if rc, _ := res.Lookup("rc").(int64); rc != 0 {
		errText, _ := res.Str("stderr")
		return "", fmt.Errorf("%s: failed to get host boot time info, rc: %d, stdout: %s, stderr: %s", b.Action, rc, out, errText)
	}
	return strings.TrimSpace(out), nil
}

// program finds the shutdown program on the host.
func (b *rebooter) program(ctx context.Context) (string, error) {
	name := b.line.program
	if v := b.Args.Lookup("reboot_command"); v != nil {
		text, ok := value.Text(v)
		if !ok {
			return "", fmt.Errorf("Invalid value given for 'reboot_command': '%s' is not a string and conversion is not allowed.", value.Str(v)) //nolint:staticcheck // the reference's text
		}
		name, _, _ = strings.Cut(text, " ")
	}
	if strings.HasPrefix(name, "/") {
		return name, nil
	}
	paths := value.Strings("/sbin", "/bin", "/usr/sbin", "/usr/bin", "/usr/local/sbin")
	if v, ok := b.Args.Get("search_paths"); ok {
		list, ok := stringList(v)
		if !ok {
			return "", fmt.Errorf("'search_paths' must be a string or flat list of strings, got %s", value.Str(v))
		}
		paths = value.Strings(list...)
	}
	res, err := b.Host.Module(ctx, "ansible.legacy.find", value.DictOf("paths", paths, "patterns", value.Strings(name), "file_type", "any"))
	if err != nil {
		return "", err
	}
	if files, ok := res.Lookup("files").(*value.List); ok && files.Len() > 0 {
		if first, ok := files.Items[0].(*value.Dict); ok {
			// The path goes into a command line: a host may not add to it.
			if p, ok := first.Str("path"); ok && strings.HasPrefix(p, "/") {
				return shlex.Quote(p), nil
			}
		}
	}
	return "", fmt.Errorf("Unable to find command \"%s\" in search paths: %s", name, value.Str(paths)) //nolint:staticcheck // the reference's text
}

// checkBoot reconnects and succeeds when the boot id has changed. An agent
// that merely restarted keeps the old id and does not count.
func (b *rebooter) checkBoot(ctx context.Context, before string) error {
	dial, cancel := ctx, context.CancelFunc(func() {})
	if b.connect > 0 {
		dial, cancel = context.WithTimeout(ctx, b.connect)
	}
	_, err := b.Host.Reconnect(dial)
	cancel()
	if err != nil {
		return err
	}
	now, err := b.bootID(ctx)
	if err != nil {
		return err
	}
	if now == "" || now == before {
		return fmt.Errorf("boot time has not changed")
	}
	return nil
}

func (b *rebooter) test(ctx context.Context) error {
	cmd := "whoami"
	if v := b.Args.Lookup("test_command"); v != nil {
		cmd = value.Str(v)
	}
	res, err := b.Host.Raw(ctx, cmd, "")
	if err != nil {
		_, _ = b.Host.Reconnect(ctx) // another reboot may have ended the link; the next try says so
		return err
	}
	if rc, _ := res.Lookup("rc").(int64); rc != 0 {
		return fmt.Errorf("test command ended with status %s", strconv.FormatInt(rc, 10))
	}
	return nil
}

// until tries with growing pauses until try succeeds or reboot_timeout is over.
func (b *rebooter) until(ctx context.Context, try func(context.Context) error) error {
	end := time.Now().Add(seconds(b.limit))
	wait, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	for n := 0; time.Now().Before(end); n++ {
		err := try(wait)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		jitter := time.Duration(rand.IntN(1000)) * time.Millisecond
		pause := min(time.Second<<min(n, 10), 12*time.Second) + jitter
		if err := sleep(ctx, min(pause, time.Until(end))); err != nil {
			return err
		}
	}
	return context.DeadlineExceeded
}
