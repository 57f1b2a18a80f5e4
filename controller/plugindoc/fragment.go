package plugindoc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"volant/wire/value"
)

// extend merges the fragments that a document names into it.
func (l *Library) extend(doc *value.Dict, path string, module bool) error {
	var names []string
	switch v := doc.Lookup("extends_documentation_fragment").(type) {
	case string:
		names = strings.Split(v, ",")
	case *value.List:
		for _, item := range v.Items {
			names = append(names, value.Str(item))
		}
	}
	doc.Delete("extends_documentation_fragment")
	var unknown []string
	for _, name := range names {
		name = strings.TrimSpace(name)
		fragment, collection, err := l.fragment(name)
		if err != nil {
			return err
		}
		if fragment == nil {
			unknown = append(unknown, name)
			continue
		}
		stamp(fragment, collection, module)
		for _, key := range []string{"notes", "seealso"} {
			more, _ := fragment.Lookup(key).(*value.List)
			fragment.Delete(key)
			if more == nil || len(more.Items) == 0 {
				continue
			}
			own, _ := doc.Lookup(key).(*value.List)
			out := &value.List{}
			if own != nil {
				out.Items = append(out.Items, own.Items...)
			}
			out.Items = append(out.Items, more.Items...)
			doc.Set(key, out)
		}
		for _, key := range []string{"options", "attributes"} {
			more, _ := fragment.Lookup(key).(*value.Dict)
			fragment.Delete(key)
			if more == nil {
				continue
			}
			if own, ok := doc.Lookup(key).(*value.Dict); ok {
				if err := merge(own, more); err != nil {
					return err
				}
			} else {
				doc.Set(key, more)
			}
		}
		if err := merge(doc, fragment); err != nil {
			return err
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("unknown doc_fragment(s) in file %s: %s", path, strings.Join(unknown, ", "))
	}
	return nil
}

// merge puts what more says below what d says.
func merge(d, more *value.Dict) error {
	for k, v := range more.All() {
		switch own := d.Lookup(k).(type) {
		case nil:
			if d.Has(k) {
				return fmt.Errorf("Attempt to extend a documentation fragment, invalid type for %s", value.Str(k)) //nolint:staticcheck // the reference's text
			}
		case *value.Dict:
			under, ok := v.(*value.Dict)
			if !ok {
				return fmt.Errorf("Attempt to extend a documentation fragment, invalid type for %s", value.Str(k)) //nolint:staticcheck // the reference's text
			}
			under = under.Clone()
			under.Update(own)
			v = under
		case *value.List:
			under, _ := v.(*value.List)
			all := slices.Clone(own.Items)
			if under != nil {
				all = append(slices.Clone(under.Items), own.Items...)
			}
			slices.SortFunc(all, func(a, b any) int { return strings.Compare(value.Str(a), value.Str(b)) })
			v = &value.List{Items: slices.CompactFunc(all, func(a, b any) bool { return value.Str(a) == value.Str(b) })}
		default:
			return fmt.Errorf("Attempt to extend a documentation fragment, invalid type for %s", value.Str(k)) //nolint:staticcheck // the reference's text
		}
		d.Set(k, v)
	}
	return nil
}

// fragment finds a fragment by name: "files", "action_common_attributes.conn",
// "ns.coll.name", "ns.coll.name.part". collection is where it comes from.
func (l *Library) fragment(name string) (doc *value.Dict, collection string, err error) {
	tries := [][2]string{{name, "DOCUMENTATION"}}
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		tries = append(tries, [2]string{name[:i], strings.ToUpper(name[i+1:])})
	}
	for _, t := range tries {
		file, collection := l.fragmentFile(t[0])
		if file == "" {
			continue
		}
		b, err := readFile(file)
		if err != nil {
			return nil, "", err
		}
		text, ok := texts(string(b), true)[t[1]]
		if !ok {
			return nil, "", nil
		}
		doc, err := mapping(text, file)
		if err == nil && doc == nil {
			doc = value.NewDict(0)
		}
		return doc, collection, err
	}
	return nil, "", nil
}

func (l *Library) fragmentFile(name string) (file, collection string) {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "ansible.builtin."), "ansible.legacy.")
	dir := filepath.Join(l.Union.Core().Path, "plugins", "doc_fragments")
	collection = "ansible.builtin"
	if ns := strings.SplitN(name, ".", 3); len(ns) == 3 {
		name = l.routed("doc_fragments", name)
		ns = strings.SplitN(name, ".", 3)
		collection = ns[0] + "." + ns[1]
		root := l.Union.CollectionDir(collection)
		if root == "" {
			return "", ""
		}
		dir, name = filepath.Join(root, "plugins", "doc_fragments"), ns[2]
	}
	if strings.ContainsAny(name, "./") {
		return "", ""
	}
	file = filepath.Join(dir, name+".py")
	if _, err := os.Stat(file); err != nil {
		return "", ""
	}
	return file, collection
}

// stamp notes beside every version and date which collection it is of.
func stamp(doc *value.Dict, collection string, module bool) {
	if doc == nil {
		return
	}
	added := func(d *value.Dict) { note(d, "version_added", "version_added_collection", collection) }
	added(doc)
	if dep, ok := doc.Lookup("deprecated").(*value.Dict); ok {
		note(dep, "removed_in", "removed_from_collection", collection)
		note(dep, "removed_at_date", "removed_from_collection", collection)
	}
	if options, ok := doc.Lookup("options").(*value.Dict); ok {
		stampOptions(options, collection, module)
	}
	if attributes, ok := doc.Lookup("attributes").(*value.Dict); ok {
		for _, v := range attributes.All() {
			if d, ok := v.(*value.Dict); ok {
				added(d)
			}
		}
	}
}

func stampOptions(options *value.Dict, collection string, module bool) {
	for _, v := range options.All() {
		d, ok := v.(*value.Dict)
		if !ok {
			continue
		}
		note(d, "version_added", "version_added_collection", collection)
		if !module {
			for _, key := range []string{"env", "ini", "vars"} {
				list, _ := d.Lookup(key).(*value.List)
				if list == nil {
					continue
				}
				for _, item := range list.Items {
					if s, ok := item.(*value.Dict); ok {
						note(s, "version_added", "version_added_collection", collection)
						stampDeprecation(s, collection, module)
					}
				}
			}
			stampDeprecation(d, collection, module)
		}
		if sub, ok := d.Lookup("suboptions").(*value.Dict); ok {
			stampOptions(sub, collection, module)
		}
	}
}

func stampDeprecation(d *value.Dict, collection string, module bool) {
	dep, ok := d.Lookup("deprecated").(*value.Dict)
	if !ok {
		return
	}
	note(dep, "removed_at_date", "collection_name", collection)
	if module {
		note(dep, "removed_in", "collection_name", collection)
	} else {
		note(dep, "version", "collection_name", collection)
	}
}

func stampReturns(returns *value.Dict, collection string) {
	if returns == nil {
		return
	}
	for _, v := range returns.All() {
		if d, ok := v.(*value.Dict); ok {
			note(d, "version_added", "version_added_collection", collection)
			if sub, ok := d.Lookup("contains").(*value.Dict); ok {
				stampReturns(sub, collection)
			}
		}
	}
}

// note sets where a key of d comes from, unless it says so.
func note(d *value.Dict, key, mark, collection string) {
	if d.Has(key) && !d.Has(mark) {
		d.Set(mark, collection)
	}
}
