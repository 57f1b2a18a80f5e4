package playbook

import (
	"math/big"
	"time"

	"volant/wire/value"
)

// className is how the reference prints the type of a loaded value.
func className(v any) string {
	const tagged = "<class 'ansible.module_utils._internal._datatag._AnsibleTagged"
	switch v.(type) {
	case nil:
		return "<class 'NoneType'>"
	case bool:
		return "<class 'bool'>"
	case int64, *big.Int:
		return tagged + "Int'>"
	case float64:
		return tagged + "Float'>"
	case *value.Template:
		return tagged + "Str'>"
	case string:
		return "<class 'str'>"
	case *value.List:
		return tagged + "List'>"
	case *value.Dict:
		return tagged + "Dict'>"
	case *value.Vault:
		return "<class 'ansible.parsing.vault.EncryptedString'>"
	case time.Time:
		return tagged + "DateTime'>"
	}
	return "<class 'object'>"
}
