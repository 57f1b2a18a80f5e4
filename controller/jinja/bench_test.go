package jinja_test

import (
	"strings"
	"testing"

	"volant/controller/jinja"
	"volant/wire/value"
)

// vars is a Resolver over a Dict that renders nested templates.
type vars struct {
	t *testing.T
	d *value.Dict
	n int
}

func (v *vars) Resolve(name string) (any, bool, error) {
	x, ok := v.d.Get(name)
	return x, ok, nil
}

func (v *vars) Template(t *value.Template) (any, error) {
	if v.n++; v.n > 50 {
		return &value.Undefined{Err: value.Raise("RecursionError", "maximum recursion depth exceeded")}, nil
	}
	defer func() { v.n-- }()
	p, err := jinja.Compile(t.Text, "", nil, jinja.Options{TrimBlocks: true})
	if err != nil {
		return &value.Undefined{Err: err}, nil
	}
	return p.Render(&jinja.Render{Vars: v, Pos: t.Pos})
}

func BenchmarkAttribute(b *testing.B) {
	d := value.DictOf("a", value.DictOf("b", value.DictOf("c", "v")))
	p, err := jinja.Compile("{{ a.b.c | default('x') }}", "", nil, jinja.Options{TrimBlocks: true})
	if err != nil {
		b.Fatal(err)
	}
	r := &jinja.Render{Vars: &vars{d: d}}
	b.ReportAllocs()
	for b.Loop() {
		if v, err := p.Render(r); err != nil || v != "v" {
			b.Fatal(v, err)
		}
	}
}

const nginx = `{% for vhost in vhosts %}
server {
    listen {{ vhost.listen | default(80) }}{{ ' ssl' if vhost.ssl | default(false) }};
    server_name {{ vhost.server_name }};
    root {{ vhost.root }};
{% for loc in vhost.locations | default([]) %}
    location {{ loc.path }} {
{% for k, v in loc.opts.items() %}
{% if v is string %}
        {{ k }} {{ v }};
{% else %}
{% for i in v %}
        {{ k }} {{ i }};
{% endfor %}
{% endif %}
{% endfor %}
    }
{% endfor %}
}
{% endfor %}
`

func BenchmarkServers(b *testing.B) {
	vhosts := &value.List{}
	for range 20 {
		vhosts.Items = append(vhosts.Items, value.DictOf("listen", int64(443), "ssl", true, "server_name", "a.example.org", "root", "/srv/a",
			"locations", value.ListOf(value.DictOf("path", "/", "opts", value.DictOf("try_files", "$uri", "include", value.Strings("a", "b", "c"))))))
	}
	p, err := jinja.Compile(strings.Repeat(nginx, 10), "", nil, jinja.Options{TrimBlocks: true})
	if err != nil {
		b.Fatal(err)
	}
	r := &jinja.Render{Vars: &vars{d: value.DictOf("vhosts", vhosts)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Render(r); err != nil {
			b.Fatal(err)
		}
	}
}
