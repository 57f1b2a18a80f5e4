package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"volant/controller/vars"
	"volant/wire/value"
)

// cache is where facts are kept between runs, nil for nowhere.
func (j *project) cache() vars.Cache {
	name := j.config.String("CACHE_PLUGIN")
	switch strings.TrimPrefix(name, "ansible.builtin.") {
	case "", "memory":
		return nil
	case "jsonfile":
		dir := os.Expand(j.config.String("CACHE_PLUGIN_CONNECTION"), func(name string) string {
			if v, ok := j.getenv(name); ok {
				return v
			}
			return "${" + name + "}"
		})
		if dir == "" {
			j.display.Note("error, 'jsonfile' cache plugin requires the 'fact_caching_connection' config option to be set (to a writeable directory path)")
			return nil
		}
		dir = j.absolute(dir)
		if text := cacheDirFault(dir); text != "" {
			j.display.Note("%s", text)
			return nil
		}
		prefix := ""
		if j.config.IsSet("CACHE_PLUGIN_PREFIX") {
			prefix = j.config.String("CACHE_PLUGIN_PREFIX")
		}
		return &vars.JSONFiles{
			Dir: dir, Prefix: prefix, Sink: j.display,
			Timeout: time.Duration(j.config.Int("CACHE_PLUGIN_TIMEOUT")) * time.Second,
		}
	}
	j.display.Note("Unable to load the cache plugin %s.", value.Repr(name))
	return nil
}

// cacheDirFault makes the directory of cached facts and says why it cannot be
// used, in ansible-core's words; "" when it can.
func cacheDirFault(dir string) string {
	_, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o777); err != nil { //nolint:gosec // shared as the operator's umask says
			return fmt.Sprintf("Error in 'jsonfile' cache plugin while trying to create cache dir %s: %s", value.Repr(dir), pythonError(err, dir))
		}
		return ""
	}
	if unix.Access(dir, unix.R_OK|unix.W_OK|unix.X_OK) != nil {
		return fmt.Sprintf("error in 'jsonfile' cache, configured path (%s) does not have necessary permissions (rwx), disabling plugin", dir)
	}
	return ""
}
