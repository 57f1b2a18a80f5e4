package execute_test

import (
	"slices"
	"strings"
	"testing"
)

// TestPipes: the programs that reach containers and the like.
func TestPipes(t *testing.T) {
	for name, tc := range map[string]struct{ vars, want string }{
		"docker":      {"ansible_connection=community.docker.docker", "docker exec -i web /bin/sh -c"},
		"docker user": {"ansible_connection=docker ansible_user=app ansible_host=c1 ansible_docker_extra_args='-H tcp://x'", "docker -H tcp://x exec -i -u app c1 /bin/sh -c"},
		"podman":      {"ansible_connection=containers.podman.podman ansible_podman_executable=/opt/podman ansible_user=root", "/opt/podman exec -i --user root web /bin/sh -c"},
		"chroot":      {"ansible_connection=community.general.chroot ansible_host=/srv/root", "chroot /srv/root /bin/sh -c"},
		"nspawn":      {"ansible_connection=volant.command volant_command='systemd-nspawn -q --pipe -D /srv/x /bin/sh -c'", "systemd-nspawn -q --pipe -D /srv/x /bin/sh -c"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{answer: good}
			if code, out, err := run(t.Context(), t, "web "+tc.vars+"\n", pings, s); err != nil || code != 0 {
				t.Fatalf("%d, %v: %s", code, err, out)
			}
			got := s.target
			if !slices.Equal(got.SSH.Command, strings.Fields(tc.want)) || got.Transient == "" {
				t.Errorf("%q, transient %q", got.SSH.Command, got.Transient)
			}
		})
	}
}
