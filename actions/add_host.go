package actions

import (
	"context"
	"strconv"
	"strings"

	"volant/wire/value"
)

// addHost adds a host, groups and variables to the inventory in memory.
func addHost(_ context.Context, r *Run) (Result, error) {
	args := r.Args.Clone()
	if raw, ok := args.Get("_raw_params"); ok {
		args.Delete("_raw_params")
		dict, isDict := raw.(*value.Dict)
		if !isDict {
			return nil, Fail("Invalid raw parameters passed, requires a dictionary/mapping got a  %s", value.TaggedClass(raw))
		}
		merged := dict.Clone()
		merged.Update(args)
		args = merged
	}
	var name any
	for _, key := range []string{"name", "hostname", "host"} {
		if v, ok := args.Get(key); ok {
			name = v
			break
		}
	}
	if name == nil {
		return nil, Fail("name, host or hostname needs to be provided")
	}
	host, ok := value.Text(name)
	if !ok {
		if n, isInt := name.(int64); isInt {
			host = strconv.FormatInt(n, 10)
		} else {
			return nil, Fail("name, host or hostname needs to be provided")
		}
	}
	if h, port, ok := splitPort(host); ok {
		host = h
		args.Set("ansible_ssh_port", port)
	}
	groups, err := addHostGroups(r, args)
	if err != nil {
		return nil, err
	}
	vars := value.NewDict(args.Len())
	for k, v := range args.All() {
		switch k {
		case "name", "hostname", "groupname", "groups":
		default:
			vars.Set(k, v)
		}
	}
	return value.DictOf("changed", false, "add_host",
		value.DictOf("host_name", host, "groups", value.Strings(groups...), "host_vars", vars)), nil
}

func addHostGroups(r *Run, args *value.Dict) ([]string, error) {
	var given any
	var pos value.Pos
	for _, key := range []string{"groupname", "groups", "group"} {
		if v, ok := args.Get(key); ok {
			given, pos = v, r.RawArgs.ValuePos(key)
			break
		}
	}
	if !present(given) {
		return nil, nil
	}
	names, ok := stringList(given)
	if _, isInt := given.(int64); !ok || isInt {
		return nil, &Failure{Msg: "Groups must be specified as a list.", Pos: pos}
	}
	var groups []string
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			groups = append(groups, strings.TrimSpace(n))
		}
	}
	return groups, nil
}

// splitPort takes HOST:PORT and [HOST]:PORT apart; a bare IPv6 address has no port.
func splitPort(s string) (host string, port int64, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return s, 0, false
	}
	host = s[:i]
	n, err := strconv.ParseInt(s[i+1:], 10, 32)
	if err != nil || n < 0 || n > 65535 {
		return s, 0, false
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return host[1 : len(host)-1], n, true
	}
	if strings.Contains(host, ":") {
		return s, 0, false
	}
	return host, n, true
}
