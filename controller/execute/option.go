package execute

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"volant/controller/config"
	"volant/controller/playbook"
	"volant/wire/value"
)

// optionKey names an option of a connection or become plugin.
type optionKey struct{ kind, plugin, name string }

// pluginOption is what is known of an option for the whole run.
type pluginOption struct {
	vars []string // the last that is set counts
	set  any      // by the environment or the configuration file; nil for neither
	or   any      // its default
	err  error    // what is wrong with what is set
}

// pluginOptions are the options that were asked for.
type pluginOptions struct {
	mu    sync.RWMutex // guards known
	known map[optionKey]*pluginOption
}

// of finds out about an option, once.
func (p *pluginOptions) of(c *config.Config, key optionKey) *pluginOption {
	p.mu.RLock()
	o := p.known[key]
	p.mu.RUnlock()
	if o != nil {
		return o
	}
	o = new(pluginOption)
	if s := config.PluginOption(key.kind, key.plugin, key.name); s != nil {
		o.vars, o.or = s.Vars, s.Default
		if c != nil {
			v, err := c.Option(key.kind, key.plugin, key.name, nil, nil)
			switch {
			case err != nil:
				o.err = err
			case v.IsDefault():
				o.or = v.Value
			default:
				o.set = v.Value
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[optionKey]*pluginOption{}
	}
	p.known[key] = o
	return o
}

// option is the value of a plugin's option: the host's variables, then what the
// keyword or the command line gives (nil for nothing), then the environment,
// the configuration file and the default.
func (it *item) option(ctx context.Context, kind, plugin, name string, given any) (any, error) {
	o := it.r.options.of(it.r.opt.Config, optionKey{kind, plugin, name})
	for i := len(o.vars) - 1; i >= 0; i-- {
		if v, ok := it.connVar(ctx, o.vars[i]); ok {
			return v, nil
		}
	}
	switch {
	case given != nil:
		return given, nil
	case o.err != nil:
		return nil, o.err
	case o.set != nil:
		return o.set, nil
	}
	return o.or, nil
}

// firstError is what went wrong first where several options are read.
type firstError struct{ err error }

func (f *firstError) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

// optionText is option as text; what is not set is "".
func (it *item) optionText(ctx context.Context, kind, plugin, name string, given any) (string, error) {
	v, err := it.option(ctx, kind, plugin, name, given)
	if err != nil || v == nil {
		return "", err
	}
	return text(v), nil
}

// optionInt is option as a whole number.
func (it *item) optionInt(ctx context.Context, kind, plugin, name string, given any) (int, error) {
	v, err := it.option(ctx, kind, plugin, name, given)
	if err != nil || v == nil {
		return 0, err
	}
	switch n := v.(type) {
	case int64:
		return int(n), nil
	case int:
		return n, nil
	}
	n, ok := config.ToInt(text(v))
	if !ok {
		return 0, fmt.Errorf("Invalid value %q for the option %s.", text(v), name) //nolint:staticcheck // shown to users
	}
	return int(n), nil
}

// optionBool is option as a truth.
func (it *item) optionBool(ctx context.Context, kind, plugin, name string) (bool, error) {
	v, err := it.option(ctx, kind, plugin, name, nil)
	if err != nil || v == nil {
		return false, err
	}
	b, ok := playbook.ToBool(v)
	if !ok {
		return false, fmt.Errorf("Invalid value %q for the option %s.", text(v), name) //nolint:staticcheck // shown to users
	}
	return b, nil
}

// optionList is option as a list of texts.
func (it *item) optionList(ctx context.Context, kind, plugin, name string) ([]string, error) {
	v, err := it.option(ctx, kind, plugin, name, nil)
	if err != nil || v == nil {
		return nil, err
	}
	if l, ok := v.([]string); ok {
		return l, nil
	}
	if _, ok := v.(*value.List); ok {
		return texts(v), nil
	}
	var out []string
	for e := range strings.SplitSeq(text(v), ",") {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out, nil
}

// given makes nothing of an empty text: what no command line or keyword gave.
func given(s string) any {
	if s == "" {
		return nil
	}
	return s
}
