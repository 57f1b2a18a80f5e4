package yaml

// Load reads one document, as JSON if it is that, else as YAML. Mappings
// become *value.Dict with plain string keys and Places, sequences *value.List,
// strings *value.Template or string (see Options.Trusted), an empty document
// nil. Errors are *fault.Error of kind Parser with the reference's text.
func Load(data []byte, o Options) (any, error) { return nil, nil }

// LoadYAML is Load without trying JSON first.
func LoadYAML(data []byte, o Options) (any, error) { return nil, nil }

// LoadAll reads all documents of a YAML stream.
func LoadAll(data []byte, o Options) ([]any, error) { return nil, nil }
