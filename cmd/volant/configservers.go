package main

import (
	"strings"

	"volant/controller/config"
	"volant/wire/value"
)

// serverKeys are the settings of a galaxy server, as the reference has them.
var serverKeys = []struct {
	name     string
	required bool
	kind     string
}{
	{"url", true, "str"}, {"username", false, "str"}, {"password", false, "str"}, {"token", false, "str"},
	{"auth_url", false, "str"}, {"api_version", false, "int"}, {"validate_certs", false, "bool"},
	{"client_id", false, "str"}, {"client_secret", false, "str"}, {"timeout", false, "int"},
}

// servers are the names of the galaxy servers.
func (r configReport) servers() []string {
	var out []string
	for _, s := range r.c.Strings("GALAXY_SERVER_LIST") {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// serverSettings are the settings of one galaxy server.
func serverSettings(server string, c *config.Config) []config.Setting {
	var out []config.Setting
	for _, k := range serverKeys {
		s := config.Setting{
			Name: k.name, Type: map[string]config.Type{"str": config.Str, "int": config.Int, "bool": config.Bool}[k.kind],
			Ini: []config.Entry{{Section: "galaxy_server." + server, Key: k.name}},
			Env: []string{"ANSIBLE_GALAXY_SERVER_" + strings.ToUpper(server) + "_" + strings.ToUpper(k.name)},
		}
		switch k.name {
		case "api_version":
			s.Choices = []string{"2", "3"}
		case "timeout":
			s.Default = c.Get("GALAXY_SERVER_TIMEOUT")
		}
		out = append(out, s)
	}
	return out
}

// sharedDefinitions are what the servers have in common, as one value each.
func sharedDefinitions() map[string]*value.List {
	return map[string]*value.List{
		"api_version":    value.ListOf(int64(2), int64(3)),
		"timeout":        value.ListOf(value.DictOf("name", "timeout")),
		"validate_certs": value.ListOf(value.DictOf("name", "validate_certs")),
	}
}

// serverDefinitions are those settings with what is said of them.
func serverDefinitions(server string, c *config.Config, shared map[string]*value.List) *value.Dict {
	out := value.NewDict(0)
	for i, s := range serverSettings(server, c) {
		k := serverKeys[i]
		d := value.DictOf(
			"description", "The "+k.name+" of the "+server+" Galaxy server",
			"ini", value.ListOf(value.DictOf("section", s.Ini[0].Section, "key", s.Ini[0].Key)),
			"env", value.ListOf(value.DictOf("name", s.Env[0])),
			"required", k.required, "type", k.kind,
		)
		switch k.name {
		case "api_version":
			d.Set("default", nil)
			d.Set("choices", shared[k.name])
		case "token":
			d.Set("default", nil)
		case "timeout":
			d.Set("default", s.Default)
			d.Set("cli", shared[k.name])
		case "validate_certs":
			d.Set("cli", shared[k.name])
		}
		out.Set(k.name, d)
	}
	return out
}

// serverEntries are those settings with their values.
func (r configReport) serverEntries(server string) ([]configEntry, error) {
	var out []configEntry
	for i, s := range serverSettings(server, r.c) {
		v, err := r.c.Value(s)
		if err != nil {
			return nil, err
		}
		if serverKeys[i].required && v.Value == nil {
			v.Origin = required
		}
		out = append(out, configEntry{s.Name, v})
	}
	return out, nil
}
