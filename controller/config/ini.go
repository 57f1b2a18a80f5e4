package config

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"volant/controller/fault"
	"volant/controller/source"
	"volant/wire/value"
)

var posNone value.Pos

// maxFile bounds a configuration file.
const maxFile = 16 << 20

// iniFile is a file read by the rules of Python's configparser with ";" as
// inline comment: keys in lower case, values over several indented lines.
type iniFile struct {
	sections []string
	keys     map[string][]string          // in order, by section
	values   map[string]map[string]string // by section and key
}

func (f *iniFile) get(section, key string) (string, bool) {
	if f == nil {
		return "", false
	}
	key = strings.ToLower(key)
	if _, ok := f.keys[section]; !ok {
		return "", false
	}
	if v, ok := f.values[section][key]; ok {
		return v, true
	}
	v, ok := f.values["DEFAULT"][key]
	return v, ok
}

func readIni(path string) (*iniFile, error) {
	data, err := source.Read(nil, path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if len(data) > maxFile {
		return nil, fault.New(fault.Options, posNone, "The configuration file %s is larger than %d bytes.", path, maxFile)
	}
	if !utf8.Valid(data) {
		return nil, fault.New(fault.Options, posNone, "Error reading config file(%s) because the config file was not utf8 encoded", path)
	}
	f, err := parseIni(string(data))
	if err != nil {
		return nil, fault.New(fault.Options, posNone, "Error reading config file (%s): %s", path, err)
	}
	return f, nil
}

func parseIni(text string) (*iniFile, error) {
	f := &iniFile{keys: map[string][]string{}, values: map[string]map[string]string{"DEFAULT": {}}}
	var (
		section, key string
		lines        = map[string][]string{} // of the section's values
		indent       int
		inSection    bool
		bad          []string
	)
	flush := func() {
		for k, parts := range lines {
			f.values[section][k] = strings.TrimRightFunc(strings.Join(parts, "\n"), unicode.IsSpace)
		}
		lines = map[string][]string{}
	}
	for n, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		number := n + 1
		value, comment := stripComment(line)
		if value == "" {
			// An empty line belongs to a value, a comment does not.
			if !comment && key != "" {
				lines[key] = append(lines[key], "")
			}
			continue
		}
		level := len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
		if inSection && key != "" && level > indent {
			lines[key] = append(lines[key], value)
			continue
		}
		indent = level
		if strings.HasPrefix(value, "[") && strings.Contains(value, "]") {
			if inSection {
				flush()
			}
			section = value[1:strings.LastIndexByte(value, ']')]
			if _, seen := f.keys[section]; seen {
				return nil, fmt.Errorf("While reading from '<string>' [line %2d]: section '%s' already exists", number, section) //nolint:staticcheck // Python's text
			}
			f.sections = append(f.sections, section)
			f.keys[section] = []string{}
			f.values[section] = map[string]string{}
			inSection, key = true, ""
			continue
		}
		if !inSection {
			return nil, fmt.Errorf("File contains no section headers.\nfile: '<string>', line: %d\n%s", number, pyRepr(line+"\n")) //nolint:staticcheck // Python's text
		}
		at := strings.IndexAny(value, "=:")
		if at <= 0 {
			bad = append(bad, fmt.Sprintf("\n\t[line %2d]: %s", number, pyRepr(line+"\n")))
			continue
		}
		key = strings.ToLower(strings.TrimRightFunc(value[:at], unicode.IsSpace))
		if _, seen := lines[key]; seen {
			return nil, fmt.Errorf("While reading from '<string>' [line %2d]: option '%s' in section '%s' already exists", number, key, section) //nolint:staticcheck // Python's text
		}
		f.keys[section] = append(f.keys[section], key)
		lines[key] = []string{strings.TrimSpace(value[at+1:])}
	}
	if inSection {
		flush()
	}
	if bad != nil {
		return nil, fmt.Errorf("Source contains parsing errors: '<string>'%s", strings.Join(bad, "")) //nolint:staticcheck // Python's text
	}
	return f, nil
}

// stripComment cuts a whole-line comment (# or ;) and an inline one (; behind
// white space), and the white space around what is left.
func stripComment(line string) (value string, comment bool) {
	s := strings.TrimSpace(line)
	if strings.HasPrefix(s, "#") || strings.HasPrefix(s, ";") {
		return "", true
	}
	for i := 0; i < len(line); i++ {
		if line[i] == ';' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return strings.TrimSpace(line[:i]), true
		}
	}
	return s, false
}

func pyRepr(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "'", `\'`).Replace(s) + "'"
}
