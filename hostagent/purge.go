package hostagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"volant/hostagent/become"
)

// purgeWithin bounds the removal of one user's files.
const purgeWithin = 20 * time.Second

// became is a way in which the agent's workers became another user, kept so
// that what they cached there can be removed with the agent. It has no password.
type became struct {
	Method   string  `json:"method,omitempty"`
	User     string  `json:"user,omitempty"`
	Exe      string  `json:"exe,omitempty"`
	Flags    *string `json:"flags,omitempty"`
	Password bool    `json:"password,omitempty"` // it needs one
}

func (b became) same(o became) bool {
	return b.Method == o.Method && b.User == o.User && b.Exe == o.Exe && b.Password == o.Password &&
		(b.Flags == nil) == (o.Flags == nil) && (b.Flags == nil || *b.Flags == *o.Flags)
}

func (h Home) loadBecame() (list []became) {
	if b, err := os.ReadFile(h.path("became.json")); err == nil {
		_ = json.Unmarshal(b, &list)
	}
	return list
}

// noteBecame keeps one more way, best effort. The caller sees to it that no two
// do so at once.
func (h Home) noteBecame(b became) {
	list := h.loadBecame()
	if len(list) >= maxWorkers || slices.ContainsFunc(list, b.same) {
		return
	}
	if raw, err := json.Marshal(append(list, b)); err == nil {
		_ = writeFile(h.path("became.json"), raw)
	}
}

// purgeWorkers has every user whom workers became remove what they cached. The
// error names those for whom that needs a password.
func (h Home) purgeWorkers(ctx context.Context) error {
	exe, err := Executable()
	if err != nil {
		return fmt.Errorf("finding this executable: %w", err)
	}
	cfg := become.Config{Binary: exe, Args: []string{"worker", "--purge"}, Dir: string(h), Env: h.loadLogin().Environ}
	var errs []error
	for _, b := range h.loadBecame() {
		err := errors.New("a password is needed to become that user")
		if !b.Password {
			err = purge(ctx, cfg, b)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the cache of user %s stays: %w", b.User, err))
		}
	}
	return errors.Join(errs...)
}

func purge(ctx context.Context, cfg become.Config, b became) error {
	ctx, cancel := context.WithTimeout(ctx, purgeWithin)
	defer cancel()
	w, err := become.Start(ctx, cfg, become.Params{Method: b.Method, User: b.User, Exe: b.Exe, Flags: b.Flags})
	if err != nil {
		return err
	}
	defer w.Close()
	defer context.AfterFunc(ctx, func() { _ = w.Close() })()
	said, err := io.ReadAll(io.LimitReader(w, 4096))
	if len(said) > 0 {
		return errors.New(string(said))
	}
	return err
}

// PurgeWorker removes what workers of this user cached, unless an agent of the
// user's own lives there.
func PurgeWorker() error {
	dir, err := os.UserHomeDir()
	if err != nil && os.Getuid() != 0 {
		return nil // there was no home to keep anything in
	}
	h := DefaultHome(os.Getuid(), dir)
	if _, err := os.Stat(h.path("agent.json")); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if st, err := os.Lstat(string(h)); err != nil || !st.IsDir() {
		return nil
	} else if uid, ok := owner(st); !ok || uid != os.Getuid() {
		return nil
	}
	err = errors.Join(os.RemoveAll(h.path("cache")), os.RemoveAll(h.path("staging")))
	_ = os.Remove(string(h))
	if os.Getuid() != 0 {
		removeEmpty(dir+"/.local/share", dir+"/.local")
	}
	return err
}
