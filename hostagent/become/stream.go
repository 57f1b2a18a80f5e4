package become

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// streamTimeout bounds the time to hand the program over.
const streamTimeout = time.Minute

// streamScript takes the program on standard input, once, into a directory of
// the become user's own, and prints where it is. Words in capitals are replaced.
const streamScript = `umask 077; d="$HOME/.local/share/volant-agent/bin"; f="$d/worker-DIGEST"; ` +
	`if ! [ -x "$f" ] || [ -L "$f" ] || ! [ -O "$f" ]; then t="$d/.worker.$$"; ` +
	`mkdir -p "$d" && cat > "$t" && chmod 700 "$t" && mv -f "$t" "$f" || { rm -f "$t"; exit 1; }; fi; ` +
	`for o in "$d"/worker-*; do [ "$o" = "$f" ] || rm -f "$o"; done; echo "$f"`

// stream hands the program to the become user, for hosts that have no place
// where every user could run a copy, and returns its path. It costs a become
// of its own; the program is sent whole only where it is not there yet.
func stream(ctx context.Context, cfg Config, p Params) (string, error) {
	f, err := os.Open(cfg.Binary)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	script := strings.ReplaceAll(streamScript, "DIGEST", hex.EncodeToString(sum.Sum(nil))[:16])
	pl, err := newPlan(p, []string{"/bin/sh", "-c", script})
	if err != nil {
		return "", err
	}
	w, err := start(ctx, cfg, p, pl)
	if err != nil {
		return "", err
	}
	defer w.Close()
	late := time.AfterFunc(streamTimeout, w.kill)
	defer late.Stop()
	stop := context.AfterFunc(ctx, w.kill)
	defer stop()
	_, _ = io.Copy(w, f) // it may need no copy, and tells its own failures
	w.stdin.Close()
	out, _ := io.ReadAll(io.LimitReader(w, 4096))
	path := strings.TrimSpace(string(out))
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "\n") {
		return "", fmt.Errorf("handing the program to %s: %s", userOf(p), strings.TrimSpace(w.Stderr()+" "+path))
	}
	return path, nil
}
