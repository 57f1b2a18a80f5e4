package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"volant/hostagent"
	"volant/wire"
	"volant/wire/session"
)

type statusCmd struct {
	homeFlag
	JSON bool `help:"Print JSON."`
}

// Run implements the command; it fails when nothing serves.
func (c *statusCmd) Run() error {
	h, err := c.home()
	if err != nil {
		return err
	}
	s := h.Serving()
	list, kerr := h.Controllers()
	if c.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		if err := enc.Encode(map[string]any{"home": h, "serving": s, "controllers": list}); err != nil {
			return err
		}
	} else if s != nil {
		fmt.Printf("home      %s\npid       %d, since %s\nversion   %s, protocol %d\nlistens   UDP %s port %d\nkey       %s\n",
			h, s.PID, s.Since.Format(time.RFC3339), s.Version, s.Protocol, s.Listen, s.Port, session.Fingerprint(s.Agent))
		printKeys(list)
	}
	if s == nil {
		return errors.Join(fmt.Errorf("no agent serves %s", h), kerr)
	}
	return kerr
}

func printKeys(list []hostagent.Controller) {
	for _, k := range list {
		fmt.Printf("serves    %s %s, until %s\n", session.Fingerprint(k.Key), k.Name, k.Expires.Format(time.RFC3339))
	}
}

type keysCmd struct {
	homeFlag
	Revoke string `help:"Stop serving the controller of that fingerprint or name; all for every one." placeholder:"KEY"`
}

// Run implements the command.
func (c *keysCmd) Run() error {
	h, err := c.home()
	if err != nil {
		return err
	}
	if c.Revoke != "" {
		n := 0
		err := h.Revoke(func(k hostagent.Controller) bool {
			hit := c.Revoke == "all" || c.Revoke == k.Name || c.Revoke == session.Fingerprint(k.Key)
			if hit {
				n++
			}
			return hit
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("no controller %q is served", c.Revoke)
		}
	}
	list, err := h.Controllers()
	printKeys(list)
	return err
}

type versionCmd struct {
	Short  bool `help:"Only the release."`
	Digest bool `help:"SHA-256 of this executable."`
}

// Run implements the command.
func (c *versionCmd) Run() error {
	switch {
	case c.Digest:
		exe, err := hostagent.Executable()
		if err != nil {
			return fmt.Errorf("finding this executable: %w", err)
		}
		f, err := os.Open(exe)
		if err != nil {
			return fmt.Errorf("reading this executable: %w", err)
		}
		defer f.Close()
		sum := sha256.New()
		if _, err := io.Copy(sum, f); err != nil {
			return fmt.Errorf("reading this executable: %w", err)
		}
		fmt.Println(hex.EncodeToString(sum.Sum(nil)))
	case c.Short:
		fmt.Println(wire.Release())
	default:
		fmt.Printf("volant-agent %s, protocol %d\n", wire.Release(), wire.Version)
	}
	return nil
}
