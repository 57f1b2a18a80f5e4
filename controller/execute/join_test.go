package execute

import (
	"testing"

	"volant/controller/events"
	"volant/wire/value"
)

// What an item's event holds is printed while the loop goes on: joining the
// items must leave it as it was sent.
func TestJoinLeavesItemsAlone(t *testing.T) {
	item := value.DictOf("changed", true, "warnings", value.Strings("careful"), "deprecations", value.ListOf(), "rc", int64(0))
	before := value.Repr(item)
	o := &outcome{items: []*outcome{{Outcome: events.Outcome{Value: item}}}}
	o.Value = value.DictOf("results", value.ListOf(item))
	(&exec{ev: &events.Task{}}).join(o)
	if got := value.Repr(item); got != before {
		t.Errorf("the item became %s", got)
	}
	list := o.Value.Lookup("results").(*value.List)
	if d := list.Items[0].(*value.Dict); d.Has("warnings") || d.Has("deprecations") || !d.Has("rc") {
		t.Errorf("the result's item is %s", value.Repr(d))
	}
	if got := value.Repr(o.Value.Lookup("warnings")); got != "['careful']" {
		t.Errorf("the result's warnings are %s", got)
	}
}
