package template

// referenceNames are the plugins of ansible-core 2.19.12, as its own tables and
// Jinja2 3.1 list them.
var referenceNames = map[string][]string{
	"filter": {
		"abs", "attr", "b64decode", "b64encode", "basename", "batch", "bool", "capitalize", "center", "checksum",
		"combinations", "combine", "comment", "commonpath", "count", "d", "default", "dict2items", "dictsort",
		"difference", "dirname", "e", "escape", "expanduser", "expandvars", "extract", "fileglob", "filesizeformat",
		"first", "flatten", "float", "forceescape", "format", "from_json", "from_yaml", "from_yaml_all", "groupby",
		"hash", "human_readable", "human_to_bytes", "indent", "int", "intersect", "items", "items2dict", "join",
		"last", "length", "list", "log", "lower", "mandatory", "map", "max", "md5", "min", "normpath",
		"password_hash", "path_join", "permutations", "pow", "pprint", "product", "quote", "random", "realpath",
		"regex_escape", "regex_findall", "regex_replace", "regex_search", "reject", "rejectattr", "rekey_on_member",
		"relpath", "replace", "reverse", "root", "round", "safe", "select", "selectattr", "sha1", "shuffle",
		"slice", "sort", "split", "splitext", "strftime", "string", "striptags", "subelements", "sum",
		"symmetric_difference", "ternary", "title", "to_datetime", "to_json", "to_nice_json", "to_nice_yaml",
		"to_uuid", "to_yaml", "tojson", "trim", "truncate", "type_debug", "union", "unique", "unvault", "upper",
		"urldecode", "urlencode", "urlize", "urlsplit", "vault", "win_basename", "win_dirname", "win_splitdrive",
		"wordcount", "wordwrap", "xmlattr", "zip", "zip_longest",
	},
	"lookup": {
		"config", "csvfile", "dict", "env", "file", "fileglob", "first_found", "indexed_items", "ini",
		"inventory_hostnames", "items", "lines", "list", "nested", "password", "pipe", "random_choice", "sequence",
		"subelements", "template", "together", "unvault", "url", "varnames", "vars",
	},
	"test": {
		"!=", "<", "<=", "==", ">", ">=", "abs", "all", "any", "boolean", "callable", "change", "changed",
		"contains", "defined", "directory", "divisibleby", "eq", "equalto", "escaped", "even", "exists", "failed",
		"failure", "false", "falsy", "file", "filter", "finished", "float", "ge", "greaterthan", "gt", "in",
		"integer", "is_abs", "is_dir", "is_file", "is_link", "is_mount", "is_same_file", "isnan", "issubset",
		"issuperset", "iterable", "le", "lessthan", "link", "link_exists", "lower", "lt", "mapping", "match",
		"mount", "nan", "ne", "none", "number", "odd", "reachable", "regex", "same_file", "sameas", "search",
		"sequence", "skip", "skipped", "started", "string", "subset", "succeeded", "success", "successful",
		"superset", "test", "timedout", "true", "truthy", "undefined", "unreachable", "upper", "uri", "url", "urn",
		"vault_encrypted", "vaulted_file", "version", "version_compare",
	},
}
