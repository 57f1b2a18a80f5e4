package template

import (
	"fmt"
	"strconv"
	"strings"

	"volant/controller/jinja"
	"volant/wire/value"
)

// overridePrefix begins the first line of a template that sets its own
// delimiters.
const overridePrefix = "#jinja2:"

// headerError is a bad `#jinja2:` line: a syntax error to users.
type headerError struct{ msg string }

func (e *headerError) Error() string { return e.msg }

func badHeader(format string, args ...any) error {
	return &headerError{fmt.Sprintf(format, args...)}
}

// header takes a `#jinja2:` line off text and returns the options with what it
// says.
func header(text string, o jinja.Options) (string, jinja.Options, error) {
	if !strings.HasPrefix(text, overridePrefix) {
		return text, o, nil
	}
	line, rest, ok := strings.Cut(text[len(overridePrefix):], "\n")
	if !ok {
		return text, o, badHeader("Missing newline after '#jinja2:' override.")
	}
	for _, pair := range strings.Split(line, ",") {
		if strings.TrimSpace(pair) == "" {
			return text, o, badHeader("Empty '#jinja2:' override pair not allowed.")
		}
		key, val, ok := strings.Cut(pair, ":")
		if !ok {
			return text, o, badHeader("Missing key-value separator `:` in '#jinja2:' override pair %s.", value.Repr(pair))
		}
		key = strings.TrimSpace(key)
		if err := setOverride(&o, key, val); err != nil {
			return text, o, err
		}
	}
	if err := distinct(o); err != nil {
		return text, o, badHeader("%s", err.Error())
	}
	return rest, o, nil
}

func setOverride(o *jinja.Options, key, val string) error {
	texts := map[string]*string{
		"block_start_string": &o.BlockStart, "block_end_string": &o.BlockEnd,
		"variable_start_string": &o.VariableStart, "variable_end_string": &o.VariableEnd,
		"comment_start_string": &o.CommentStart, "comment_end_string": &o.CommentEnd,
		"line_statement_prefix": &o.LineStatement, "line_comment_prefix": &o.LineComment,
		"newline_sequence": &o.NewlineSequence,
	}
	flags := map[string]*bool{"trim_blocks": &o.TrimBlocks, "lstrip_blocks": &o.LstripBlocks, "keep_trailing_newline": &o.KeepTrailingNewline}
	t, isText := texts[key]
	f, isFlag := flags[key]
	if !isText && !isFlag {
		return badHeader("Invalid '#jinja2:' override key %s.", value.Repr(key))
	}
	v, err := literal(val)
	if err != nil {
		return err
	}
	if isFlag {
		b, ok := v.(bool)
		if !ok {
			return badHeader("TemplateOverrides.%s must be <class 'bool'> instead of <class '%s'>", key, value.TypeName(v))
		}
		*f = b
		return nil
	}
	s, ok := v.(string)
	switch {
	case v == nil && strings.HasPrefix(key, "line_"):
		*t = ""
	case !ok && strings.HasPrefix(key, "line_"):
		return badHeader("TemplateOverrides.%s must be one of <class 'str'> or <class 'NoneType'> instead of <class '%s'>", key, value.TypeName(v))
	case !ok:
		return badHeader("TemplateOverrides.%s must be <class 'str'> instead of <class '%s'>", key, value.TypeName(v))
	case key == "newline_sequence" && s != "\n" && s != "\r\n" && s != "\r":
		return badHeader("newline_sequence must be one of '\\n', '\\r\\n' or '\\r' instead of %s", value.Repr(s))
	default:
		*t = s
	}
	return nil
}

// literal reads the Python literals a header can hold.
func literal(src string) (any, error) {
	s := strings.TrimSpace(src)
	switch s {
	case "True":
		return true, nil
	case "False":
		return false, nil
	case "None":
		return nil, nil
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return n, nil
	}
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		return unescape(s[1 : len(s)-1]), nil
	}
	if isName(s) {
		return nil, badHeader("malformed node or string on line 1: <ast.Name object>")
	}
	return nil, badHeader("invalid syntax (<unknown>, line 1)")
}

func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == "" && (s[0] < '0' || s[0] > '9')
}

// unescape handles the escapes that matter in delimiters and newlines.
func unescape(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\\`, `\`, `\'`, `'`, `\"`, `"`).Replace(s)
}
