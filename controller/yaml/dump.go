package yaml

// Style are the options of PyYAML's dump; the zero value is its default except
// where noted.
type Style struct {
	Indent        int   // 0: 2
	Width         int   // 0: 80; negative: no limit
	FlowStyle     *bool // default_flow_style; nil is PyYAML's None: flow for leaves
	AllowUnicode  bool
	ExplicitStart bool
	ExplicitEnd   bool
	UnsortedKeys  bool // sort_keys=False
	DefaultStyle  string
	Canonical     bool
	LineBreak     string // "", "\n", "\r", "\r\n"
	Version       *[2]int
	// IndentSequences puts a sequence in a mapping one level in, which PyYAML
	// does not do and callback output does.
	IndentSequences bool
	// Reveal decrypts *value.Vault values; otherwise they are written as !vault.
	Reveal bool
}

// Dump writes v as one YAML document.
func Dump(v any, s Style) (string, error) { return "", nil }
