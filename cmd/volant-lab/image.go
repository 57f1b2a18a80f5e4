package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	suite         = "trixie"
	imageRevision = "r1" // raised when configureImage changes, so that a new image is made
	defaultMirror = "http://deb.debian.org/debian"
)

// What a host has beyond a minimal Debian: what a stock cloud image has too.
const imagePackages = "systemd,systemd-sysv,dbus,openssh-server,python3,python3-apt,libpam-systemd,sudo,iproute2,ca-certificates"

// cacheDir is where images and packages are kept between labs.
func cacheDir() (string, error) {
	d, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory (set HOME or XDG_CACHE_HOME): %w", err)
	}
	return filepath.Join(d, "volant-lab"), nil
}

// needTools makes sure of the programs a systemd lab uses, installing what is missing.
func needTools(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("a systemd lab needs root: run this with sudo, or use `volant-lab process up`, which does not")
	}
	packages := map[string]string{
		"debootstrap": "debootstrap", "systemd-nspawn": "systemd-container", "ip": "iproute2",
		"nsenter": "util-linux", "mount": "mount", "chroot": "coreutils",
	}
	missing := map[string]bool{}
	var names, progs []string
	for prog, pkg := range packages {
		if _, err := exec.LookPath(prog); err != nil && !missing[pkg] {
			missing[pkg] = true
			names, progs = append(names, pkg), append(progs, prog)
		}
	}
	if _, err := os.Stat("/usr/share/keyrings/debian-archive-keyring.gpg"); err != nil {
		names, progs = append(names, "debian-archive-keyring"), append(progs, "the Debian archive keys")
	}
	if len(names) == 0 {
		return nil
	}
	lacks := "this machine lacks " + strings.Join(progs, ", ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("%s, and has no apt-get to install it with: install %s (names as in Debian)", lacks, strings.Join(names, " "))
	}
	say("installing %s", strings.Join(names, " "))
	_, _ = command(ctx, "apt-get", "update", "-qq").CombinedOutput()
	install := command(ctx, "apt-get", append([]string{"install", "-y", "-qq", "--no-install-recommends"}, names...)...)
	install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("%s, and installing %s did not work: %w\n%s", lacks, strings.Join(names, " "), err, lastLines(out, 5))
	}
	return nil
}

// image returns the directory of the configured Debian image, made when missing:
// debootstrap once (CACHE/trixie.raw), then a copy with users and settings.
func image(ctx context.Context, mirror string) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(cache, "image.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := os.Chmod(cache, 0o755); err != nil {
		return "", err
	}
	done := filepath.Join(cache, suite+"-"+imageRevision)
	if exists(filepath.Join(done, "etc/debian_version")) {
		return done, nil
	}
	raw := filepath.Join(cache, suite+".raw")
	if !exists(filepath.Join(raw, "etc/debian_version")) {
		say("fetching Debian %s from %s (once, some minutes)", suite, mirror)
		part := raw + ".part"
		if err := os.RemoveAll(part); err != nil {
			return "", err
		}
		log := filepath.Join(cache, "debootstrap.log")
		out, err := command(ctx, "debootstrap", "--variant=minbase", "--include="+imagePackages, suite, part, mirror).CombinedOutput()
		if werr := os.WriteFile(log, out, 0o644); werr != nil {
			return "", werr
		}
		if err != nil {
			return "", fmt.Errorf("debootstrap from %s: %w; its output is in %s\n%s", mirror, err, log, lastLines(out, 3))
		}
		if err := os.Rename(part, raw); err != nil {
			return "", err
		}
	}
	part := done + ".part"
	if err := os.RemoveAll(part); err != nil {
		return "", err
	}
	if out, err := command(ctx, "cp", "-a", "--reflink=auto", raw, part).CombinedOutput(); err != nil {
		return "", fmt.Errorf("copying the image: %w: %s", err, out)
	}
	if err := configureImage(ctx, part); err != nil {
		return "", fmt.Errorf("configuring the image: %w", err)
	}
	return done, os.Rename(part, done)
}

// configureImage turns a fresh Debian into the lower layer of every host.
func configureImage(ctx context.Context, root string) error {
	for _, pattern := range []string{"etc/ssh/ssh_host_*", "var/lib/dbus/machine-id", "var/cache/apt/archives/*.deb"} {
		files, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	_ = os.Remove(filepath.Join(root, "etc/resolv.conf")) // hosts resolve through /etc/hosts only
	files := []struct {
		name, content string
		mode          os.FileMode
	}{
		{"etc/machine-id", "", 0o644},
		{"etc/resolv.conf", "", 0o644},
		{"etc/sudoers.d/deploy", "deploy ALL=(ALL) NOPASSWD: ALL\n", 0o440},
		{"etc/sudoers.d/ops", "ops ALL=(ALL) ALL\n", 0o440},
		// A lab may be days behind the mirror, or its clock off.
		{"etc/apt/apt.conf.d/98volant-lab", "Acquire::Check-Valid-Until \"false\";\nAcquire::Check-Date \"false\";\n", 0o644},
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(root, f.name), []byte(f.content), f.mode); err != nil {
			return err
		}
	}
	for _, user := range []string{"deploy", "ops"} {
		if out, err := command(ctx, "chroot", root, "useradd", "-m", "-s", "/bin/bash", user).CombinedOutput(); err != nil {
			return fmt.Errorf("adding user %s: %w: %s", user, err, out)
		}
	}
	// Quiet hosts: nothing of apt in the background, no wait for a network that is static, no console logins.
	for _, unit := range []string{"apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer",
		"e2scrub_all.timer", "systemd-networkd-wait-online.service", "systemd-timesyncd.service", "console-getty.service", "getty@.service"} {
		link := filepath.Join(root, "etc/systemd/system", unit)
		_ = os.Remove(link)
		if err := os.Symlink("/dev/null", link); err != nil {
			return err
		}
	}
	if out, err := command(ctx, "chroot", root, "systemctl", "enable", "-q", "systemd-networkd.service", "ssh.service").CombinedOutput(); err != nil {
		return fmt.Errorf("enabling services: %w: %s", err, out)
	}
	return nil
}

// findMirror returns the Debian mirror this machine itself uses, from one-line and deb822 sources.
func findMirror(etcApt string) string {
	files, _ := filepath.Glob(filepath.Join(etcApt, "sources.list.d", "*"))
	for _, file := range append([]string{filepath.Join(etcApt, "sources.list")}, files...) {
		if !strings.HasSuffix(file, ".list") && !strings.HasSuffix(file, ".sources") {
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		uri := ""
		for lines := bufio.NewScanner(f); uri == "" && lines.Scan(); {
			uri = debianURI(lines.Text(), strings.HasSuffix(file, ".sources"))
		}
		f.Close()
		if uri != "" {
			return uri
		}
	}
	return defaultMirror
}

// debianURI returns the first http(s) address on a line of apt sources whose path ends in /debian.
func debianURI(line string, deb822 bool) string {
	switch {
	case deb822 && !strings.HasPrefix(strings.ToLower(line), "uris:"):
		return ""
	case !deb822 && !strings.HasPrefix(strings.TrimSpace(line), "deb"):
		return ""
	}
	for _, f := range strings.Fields(line) {
		f = strings.TrimSuffix(f, "/")
		u, err := url.Parse(f)
		if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.HasSuffix(u.Path, "/debian") {
			return f
		}
	}
	return ""
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// command is exec.CommandContext with a plain locale, so that output is stable.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	return cmd
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "lab: "+format+"\n", args...) }

func lastLines(out []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
