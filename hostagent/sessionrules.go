package hostagent

import (
	"encoding/binary"
	"syscall"
)

// sessionRules is what sudo, its kin and PAM make the session of another user
// from: its groups, home, umask, limits, environment, and whether there may be
// one. Directories are there for the files that come, go and are replaced in
// them, which are often not ours to list.
var sessionRules = []string{
	"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/login.defs", "/etc/environment", "/etc/default/locale",
	"/etc/locale.conf", "/etc/security", "/etc/security/limits.conf", "/etc/security/limits.d", "/etc/security/pam_env.conf",
	"/etc/security/group.conf", "/etc/security/access.conf", "/etc/pam.d", "/etc/pam.d/sudo", "/etc/pam.d/su",
	"/etc/pam.d/common-session", "/etc/pam.d/common-session-noninteractive", "/etc/pam.d/system-auth", "/etc/sudoers",
	"/etc/sudoers.d", "/etc/sudo.conf", "/etc/doas.conf",
}

// rulesStamp changes with any of the files. It reads none of them: they change
// rarely, and every sub-task for another user asks.
func rulesStamp(files []string) string {
	b := make([]byte, 0, 32*len(files))
	for _, f := range files {
		var st syscall.Stat_t
		if syscall.Stat(f, &st) != nil {
			st = syscall.Stat_t{}
		}
		for _, n := range []int64{int64(st.Ino), st.Size, st.Ctim.Nano()} {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
	}
	return string(b)
}
