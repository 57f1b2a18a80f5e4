package actions

import (
	"context"
	"fmt"
	"strings"

	"volant/wire/value"
)

// fileInfo is what the stat module says of a path on the host.
type fileInfo struct {
	exists, isDir, isLink bool
	checksum              string // "1" when the file is missing, "" for a directory
	linkSource            string
}

// remoteStat asks the host about path, with its SHA-1 when sum is set.
func remoteStat(ctx context.Context, r *Run, path string, follow, sum bool) (fileInfo, error) {
	res, err := r.Host.Module(ctx, "ansible.legacy.stat", statArgs(path, follow, sum))
	if err != nil {
		return fileInfo{}, err
	}
	return readStat(path, res)
}

// statArgs are the stat module's arguments for what fileInfo holds.
func statArgs(path string, follow, sum bool) *value.Dict {
	return value.DictOf("path", path, "follow", follow, "get_checksum", sum, "checksum_algorithm", "sha1")
}

// readStat reads the stat module's result.
func readStat(path string, res Result) (fileInfo, error) {
	if res.Bool("failed") {
		msg := firstText(res, "module_stderr", "module_stdout", "msg")
		return fileInfo{}, fmt.Errorf("Failed to get information on remote file (%s): %s", path, msg) //nolint:staticcheck // the reference's text
	}
	stat, _ := res.Lookup("stat").(*value.Dict)
	info := fileInfo{exists: stat.Bool("exists"), isDir: stat.Bool("isdir"), isLink: stat.Bool("islnk")}
	info.linkSource, _ = stat.Str("lnk_source")
	switch c, has := stat.Get("checksum"); {
	case !info.exists:
		info.checksum = "1"
	case has:
		text, ok := value.Text(c)
		if !ok {
			return fileInfo{}, fmt.Errorf("Invalid checksum returned by stat: expected a string type but got <class '%s'>", typeName(c)) //nolint:staticcheck // the reference's text
		}
		info.checksum = text
	}
	return info, nil
}

func firstText(res *value.Dict, keys ...string) string {
	for _, k := range keys {
		if s, ok := res.Str(k); ok && s != "" {
			return s
		}
	}
	return ""
}

// remoteExists is the existence test of creates and removes: a stat that fails
// counts as not there.
func remoteExists(ctx context.Context, r *Run, path string) (bool, error) {
	res, err := r.Host.Module(ctx, "ansible.legacy.stat", value.DictOf(
		"path", path, "follow", true, "get_checksum", false, "get_attributes", false, "get_mime", false))
	if err != nil {
		return false, err
	}
	stat, _ := res.Lookup("stat").(*value.Dict)
	return !res.Bool("failed") && stat.Bool("exists"), nil
}

// expandUser expands a leading ~ on the host, as the user the modules run as.
func expandUser(ctx context.Context, r *Run, path string) (string, error) {
	if !strings.HasPrefix(path, "~") {
		return path, nil
	}
	first, rest, deeper := strings.Cut(path, "/")
	if first == "~" && !r.Local {
		switch {
		case r.Become && r.BecomeUser != "":
			first += r.BecomeUser
		default:
			first += r.RemoteUser
		}
	}
	// Only a name can be expanded: anything else would be shell code.
	for _, c := range first[1:] {
		if !(c == '-' || c == '_' || c == '.' || c == '@' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return path, nil
		}
	}
	res, err := r.Host.Raw(ctx, "echo "+strings.ReplaceAll(first, "$", `\$`), "")
	if err != nil {
		return "", err
	}
	out, _ := res.Str("stdout")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	home := strings.TrimSpace(lines[len(lines)-1])
	if home == "" {
		return path, nil
	}
	if deeper {
		home = joinPath(home, rest)
	}
	if i := strings.LastIndexByte(home, '/'); i >= 0 {
		for _, part := range strings.Split(home[:i], "/") {
			if part == ".." {
				return "", fmt.Errorf("'%s' returned an invalid relative home directory path containing '..'", r.Hostname)
			}
		}
	}
	return home, nil
}
