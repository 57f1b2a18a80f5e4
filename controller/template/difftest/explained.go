package difftest

import (
	"slices"
	"strings"

	"volant/wire/rx"
)

// The differences that are known and stay, as docs/TEMPLATES.md lists them.
const (
	setOrder   = "the reference's sets come in the order of Python's hashes"
	emptyURL   = "of what is empty but no text the reference's urlsplit makes parts that cannot be stored"
	whichError = "of several errors another one is told of first"
	lazyKind   = "the reference tells literals and results from variables in the text of an error"
)

var (
	setFilters = rx.Lazy(`\b(union|intersect|difference|symmetric_difference)\b`)
	markupRepr = rx.Lazy(`Markup\(('[^']*'|"[^"]*")\)`)
	lazyName   = strings.NewReplacer("ansible._internal._templating._lazy_containers.", "", "_AnsibleLazyTemplateList", "list",
		"_AnsibleLazyTemplateDict", "dict", "_AnsibleLazyAccessTuple", "tuple", "Markup", "str")
)

// Explained says why a difference is known and stays, or "".
func Explained(text string, reference, ours Answer) string {
	sorted := func(s string) string {
		letters := strings.Split(s, "")
		slices.Sort(letters)
		return strings.Join(letters, "")
	}
	switch {
	case reference.Error == "" && ours.Error == "" && setFilters.MatchString(text) && sorted(reference.Want) == sorted(ours.Want):
		return setOrder
	case strings.HasSuffix(reference.Error, "Type 'method' is unsupported for variable storage.") && strings.Contains(text, "urlsplit"):
		return emptyURL
	case reference.Error == "" || ours.Error == "":
		return ""
	case strings.HasSuffix(reference.Error, ": list indices must be integers or slices, not str") && strings.Contains(text, ".pop("):
		return lazyKind
	case lazyName.Replace(markupRepr.ReplaceAllString(reference.Error, "$1")) == lazyName.Replace(ours.Error):
		return lazyKind
	case strings.HasSuffix(reference.Error, "is unsupported for variable storage.") && reference.Class != ours.Class:
		return whichError
	}
	return ""
}
