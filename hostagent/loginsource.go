package hostagent

import (
	"os"
	"os/user"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// loginSource gives the recorded login, read again when it changed. For root it
// also sees that this process has the supplementary groups a login would have
// now; changed is called when they became others.
func (h Home) loginSource(changed func()) func() Login {
	var mu sync.Mutex // guards what follows
	var mtime, groups time.Time
	l := h.loadLogin()
	return func() Login {
		mu.Lock()
		defer mu.Unlock()
		fresh := false
		if st, err := os.Stat(h.path("login.json")); err == nil && !st.ModTime().Equal(mtime) {
			mtime, l = st.ModTime(), h.loadLogin()
			fresh = true
		}
		if os.Getuid() == 0 {
			if t := groupsChanged(); fresh || !t.Equal(groups) {
				first := groups.IsZero()
				groups = t
				if setGroups(l.Groups) && !first && changed != nil {
					go changed() // ends with the servers it closes
				}
			}
		}
		return l
	}
}

// groupsChanged is when the local list of groups last changed.
func groupsChanged() time.Time {
	st, err := os.Stat("/etc/group")
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

// setGroups gives this process the groups of its user in the local list and
// those that the login had; it tells whether they are others than before.
func setGroups(login []int) bool {
	want := slices.Clone(login)
	if u, err := user.Current(); err == nil {
		ids, _ := u.GroupIds()
		for _, id := range ids {
			if n, err := strconv.Atoi(id); err == nil {
				want = append(want, n)
			}
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	have, err := os.Getgroups()
	if err != nil || len(want) == 0 {
		return false
	}
	slices.Sort(have)
	return !slices.Equal(slices.Compact(have), want) && syscall.Setgroups(want) == nil
}
