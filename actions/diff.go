package actions

import (
	"bytes"
	"context"
	"encoding/base64"
	"math"
	"path"
	"strings"

	"volant/wire/value"
)

// defaultDiff is the default of the reference's MAX_FILE_SIZE_FOR_DIFF.
const defaultDiff = 104448

// maxDiff is the size above which a file is not shown in a diff.
func (t *Task) maxDiff() int64 {
	switch {
	case t.MaxDiff < 0:
		return math.MaxInt64
	case t.MaxDiff == 0:
		return defaultDiff
	}
	return t.MaxDiff
}

// fileDiff compares dest on the host with src. after names the new side in
// the diff's header: dest itself for content given inline.
func fileDiff(ctx context.Context, r *Run, dest string, src Source, after string) (*value.Dict, error) {
	diff := value.NewDict(4)
	maxDiff := r.maxDiff()
	peek, err := r.Host.Module(ctx, "ansible.legacy.file", value.DictOf("path", dest, "_diff_peek", true))
	if err != nil {
		return nil, err
	}
	if peek.Bool("failed") {
		msg, _ := peek.Str("msg")
		r.Controller.Warn("Failed to get diff between '" + path.Base(src.Path) + "' and '" + dest + "': " + msg)
		return diff, nil
	}
	state, _ := peek.Str("state")
	size, _ := peek.Lookup("size").(int64)
	switch {
	case state == "" || state == "absent":
		diff.Set("before", "")
	case present(peek.Lookup("appears_binary")):
		diff.Set("dst_binary", int64(1))
	case size > maxDiff:
		diff.Set("dst_larger", maxDiff)
	default:
		got, err := r.Host.Module(ctx, "ansible.legacy.slurp", value.DictOf("path", dest))
		if err != nil {
			return nil, err
		}
		if content, ok := got.Str("content"); ok {
			old, err := base64.StdEncoding.DecodeString(strings.Map(dropSpace, content))
			if err != nil {
				return nil, Fail("the host's copy of %s is no base64: %v", dest, err)
			}
			diff.Set("before_header", dest)
			diff.Set("before", string(old))
		}
	}
	if src.Size > maxDiff {
		diff.Set("src_larger", maxDiff)
	} else {
		data, err := src.Data()
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(data, 0) >= 0 {
			diff.Set("src_binary", int64(1))
		} else {
			diff.Set("after_header", after)
			diff.Set("after", string(data))
		}
	}
	if r.NoLog {
		if diff.Has("before") {
			diff.Set("before", "")
		}
		if diff.Has("after") {
			diff.Set("after", " [[ Diff output has been hidden because 'no_log: true' was specified for this result ]]\n")
		}
	}
	return diff, nil
}

func dropSpace(c rune) rune {
	if c == '\n' || c == '\r' || c == ' ' {
		return -1
	}
	return c
}
