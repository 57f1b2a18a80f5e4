// Command pack prepares agents for a release build of volant, which embeds them:
//
//	go run ./bootstrap/pack VERSION OUTDIR GOARCH=FILE...
//
// It writes OUTDIR/volant-agent-linux-GOARCH.gz and .json for each.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"volant/bootstrap"
)

func main() {
	if err := pack(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: pack VERSION OUTDIR GOARCH=FILE...")
	}
	version, dir := args[0], args[1]
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, a := range args[2:] {
		arch, file, ok := strings.Cut(a, "=")
		if !ok {
			return fmt.Errorf("%q is not GOARCH=FILE", a)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		z, d, err := bootstrap.Pack(b, version, 9)
		if err != nil {
			return err
		}
		j, err := json.Marshal(d)
		if err != nil {
			return err
		}
		name := filepath.Join(dir, "volant-agent-linux-"+arch)
		if err := os.WriteFile(name+".gz", z, 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(name+".json", append(j, '\n'), 0o644); err != nil {
			return err
		}
		fmt.Printf("%s.gz: %.1f MB of %.1f MB\n", name, float64(len(z))/1e6, float64(len(b))/1e6)
	}
	return nil
}
