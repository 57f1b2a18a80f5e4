package union

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNativeMayStandIn(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "ansible_collections/ansible/posix")
	path := filepath.Join(root, "plugins/modules/sysctl.py")
	for _, c := range []struct {
		name, file, version string
		want                bool
	}{
		{"ansible.posix.sysctl", path, "2.1.0", true},
		{"ansible.posix.sysctl", path, "1.6.2", true},
		{"ansible.posix.sysctl", path, "1.5.4", false},
		{"ansible.posix.sysctl", path, "2.3.0", false},
		{"ansible.posix.sysctl", path, "3.0.0", false},
		{"ansible.posix.sysctl", path, "2.x", false},
		{"ansible.posix.sysctl", path, "", false},
		{"ansible.posix.mount", filepath.Join(root, "plugins/modules/mount.py"), "2.1.0", true},
		{"ansible.posix.mount", filepath.Join(root, "plugins/modules/mount.py"), "2.2.0", false},
		{"ansible.posix.firewalld", filepath.Join(root, "plugins/modules/firewalld.py"), "2.1.0", false},
		{"sysctl", path, "2.1.0", false},
		{"ansible.posix.sysctl", filepath.Join(dir, "library/sysctl.py"), "2.1.0", false},
		{"other.posix.sysctl", filepath.Join(dir, "ansible_collections/other/posix/plugins/modules/sysctl.py"), "2.1.0", false},
	} {
		if err := os.MkdirAll(root, 0o755); err != nil {
			t.Fatal(err)
		}
		manifest := filepath.Join(root, "MANIFEST.json")
		_ = os.Remove(manifest)
		if c.version != "" {
			if err := os.WriteFile(manifest, []byte(`{"collection_info": {"version": "`+c.version+`"}}`), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := (&Union{}).nativeMayStandIn(&found{name: c.name, path: c.file}); got != c.want {
			t.Errorf("%s %s at %s: %v", c.name, c.version, c.file, got)
		}
	}
}
