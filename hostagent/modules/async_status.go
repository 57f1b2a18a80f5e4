package modules

import (
	"context"
	"syscall"

	"volant/wire/pyjson"
	"volant/wire/value"
)

type asyncStatusArgs struct {
	JID  string `arg:"jid,required"`
	Mode string `arg:"mode,default=status,choices=cleanup|status"`
	Dir  string `arg:"_async_dir,required,type=path"`
}

// asyncStatus reads the status file of a background job, or removes it.
func asyncStatus(_ context.Context, c *call, a *asyncStatusArgs) (Result, error) {
	path := pyJoin(a.Dir, a.JID)
	if !exists(c.p(path)) {
		return nil, fail("could not find job", "ansible_job_id", a.JID, "started", true, "finished", true)
	}
	if a.Mode == "cleanup" {
		if err := syscall.Unlink(c.p(path)); err != nil {
			return nil, raise(asOSError(err, path, false).Error())
		}
		return value.DictOf("ansible_job_id", a.JID, "erased", path), nil
	}
	running := value.DictOf("results_file", path, "ansible_job_id", a.JID, "started", true, "finished", false)
	b, err := c.readEdited(path)
	switch {
	case isHandBack(err):
		return nil, err
	case err != nil:
		return running, nil
	}
	v, err := pyjson.Decode(b)
	if err != nil {
		return running, nil
	}
	data, ok := v.(*value.Dict)
	if !ok {
		return nil, handBack("the status is no dict")
	}
	if !data.Has("started") {
		data.Set("finished", true)
		data.Set("ansible_job_id", a.JID)
	} else if !data.Has("finished") {
		data.Set("finished", false)
	}
	return nil, &printed{data}
}
