package modules

import (
	"testing"

	"volant/wire/value"
)

func TestAsyncStatusIsThePythonModule(t *testing.T) {
	arg := func(kv ...any) *value.Dict {
		a := value.DictOf("_async_dir", "@D", "jid", "j1.2")
		a.Update(value.DictOf(kv...))
		return a
	}
	newDiffer(t).test(t, "async_status", []diffCase{
		{name: "none", args: arg()},
		{name: "running", args: arg(), setup: mkfile("j1.2", `{"started": true, "finished": false, "ansible_job_id": "j1.2"}`, 0o600)},
		{name: "old running", args: arg(), setup: mkfile("j1.2", `{"started": 1}`, 0o600)},
		{name: "done", args: arg(), setup: mkfile("j1.2", `{"changed": true, "dest": "/etc/passwd", "rc": 0, "n": 1.5, "x": [null, "\u00e9"]}`, 0o600)},
		{name: "failed", args: arg(), setup: mkfile("j1.2", `{"failed": true, "msg": "no"}`, 0o600)},
		{name: "empty", args: arg(), setup: mkfile("j1.2", "", 0o600)},
		{name: "half", args: arg(), setup: mkfile("j1.2", `{"chang`, 0o600)},
		{name: "no dict", args: arg(), setup: mkfile("j1.2", `[1]`, 0o600), handBack: true},
		{name: "directory", args: arg(), setup: mkdir("j1.2", 0o700)},
		{name: "cleanup none", args: arg("mode", "cleanup")},
		{name: "cleanup directory", args: arg("mode", "cleanup"), setup: mkdir("j1.2", 0o700)},
		{name: "bad mode", args: arg("mode", "x")},
		{name: "no jid", args: value.DictOf("_async_dir", "@D")},
		{name: "unknown", args: arg("x", "y")},
	})
}
