package plugindoc

import (
	"path/filepath"
	"slices"
	"strings"

	"volant/controller/playbook"
	"volant/wire/value"
)

// keywordOwners are the objects that ansible-doc names, in its order, with
// ours.
var keywordOwners = [][2]string{{"Play", "play"}, {"Role", "role"}, {"Block", "block"}, {"Task", "task"}, {"Handler", "handler"}}

// keywordPriority is when a keyword of a play or task is read before others;
// most have 0.
var keywordPriority = map[string]int64{
	"collections": 100, "vars": 100, "vars_files": 99, "roles": 90, "hosts": -2,
	"handlers": -1, "pre_tasks": -1, "tasks": -1, "post_tasks": -1,
}

// Keywords are the descriptions of the keywords of playbooks by name, as the
// installed ansible-core has them.
func (l *Library) Keywords() (*value.Dict, error) {
	path := filepath.Join(l.Union.Core().Path, "keyword_desc.yml")
	v, err := readYAML(path)
	if err != nil {
		return nil, err
	}
	d, _ := v.(*value.Dict)
	return d, nil
}

// KeywordDocs is what is known of each of the keywords; unknown are those that
// are none.
func (l *Library) KeywordDocs(names []string) (docs *value.Dict, unknown []string, err error) {
	described, err := l.Keywords()
	if err != nil {
		return nil, nil, err
	}
	rows := map[string]playbook.Row{}
	for _, r := range playbook.Rows() {
		rows[r.Name] = r
	}
	docs = value.NewDict(len(names))
	for _, name := range names {
		if !described.Has(name) {
			unknown = append(unknown, name)
			continue
		}
		d := value.DictOf("description", described.Lookup(name))
		key := name
		if strings.HasPrefix(name, "with_") {
			key = "loop"
		}
		applies := &value.List{Items: []any{}}
		r, known := rows[key]
		for _, o := range keywordOwners {
			if known && slices.Contains(r.On, o[1]) && !(key == "role" || key == "listen") {
				applies.Items = append(applies.Items, o[0])
			}
		}
		d.Set("applies_to", applies)
		if len(applies.Items) > 0 {
			d.Set("type", r.Type)
			switch {
			case strings.HasSuffix(key, "when") || key == "until":
				d.Set("template", "implicit")
			case r.Static:
				d.Set("template", "static")
			default:
				d.Set("template", "explicit")
			}
			d.Set("priority", keywordPriority[key])
			if key == "async" {
				d.Set("alias", key)
			}
		}
		docs.Set(name, d)
	}
	return docs, unknown, nil
}
