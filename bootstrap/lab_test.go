package bootstrap

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"volant/bootstrap/enrol"
)

// TestMain lets the test binary be the agent that the tests install: it is
// static, and starts, detaches and answers as the contract says.
func TestMain(m *testing.M) {
	if socket := os.Getenv(AskpassEnv); socket != "" && len(os.Args) == 2 {
		if AnswerAskpass(socket, os.Args[1], os.Stdout) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "enrol", "serve", "version":
			os.Exit(testAgent(os.Args[1:]))
		}
	}
	code := m.Run()
	if labBuilt {
		if tool, err := labTool(); err == nil {
			os.RemoveAll(filepath.Dir(tool))
		}
	}
	os.Exit(code)
}

// labBuilt says that a test has built volant-lab.
var labBuilt bool

const testVersion = "1.2.3"

func testAgent(args []string) int {
	home := os.Args[len(os.Args)-1]
	state := filepath.Join(home, "agent.json")
	switch args[0] {
	case "version":
		if home == "--digest" {
			exe, _ := os.Executable()
			b, _ := os.ReadFile(exe)
			fmt.Printf("%x\n", sha256.Sum256(b))
			break
		}
		fmt.Println(testVersion)
	case "serve":
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			return 1
		}
		b, _ := json.Marshal(enrol.Reply{Agent: make([]byte, ed25519.PublicKeySize), Port: c.LocalAddr().(*net.UDPAddr).Port,
			BootID: "b", Version: testVersion, Protocol: 1, PID: os.Getpid(), Home: home})
		if err := os.WriteFile(state+".new", b, 0o600); err != nil {
			return 1
		}
		_ = os.Rename(state+".new", state)
		time.Sleep(time.Hour)
	case "enrol":
		if _, err := enrol.ReadRequest(os.Stdin); err != nil {
			_ = enrol.WriteReply(os.Stdout, enrol.Reply{Error: err.Error()})
			return 0
		}
		var r enrol.Reply
		read := func() bool {
			b, err := os.ReadFile(state)
			return err == nil && json.Unmarshal(b, &r) == nil && syscall.Kill(r.PID, 0) == nil
		}
		if !read() {
			exe, _ := os.Executable()
			cmd := exec.Command(exe, "serve", "--home", home)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := cmd.Start(); err != nil {
				return 1
			}
			for range 6000 {
				if read() && r.PID == cmd.Process.Pid {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			r.Started = true
		}
		_ = enrol.WriteReply(os.Stdout, r)
	}
	return 0
}

// labTool builds volant-lab once for all tests.
var labTool = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "volant-lab-*")
	if err != nil {
		return "", err
	}
	tool := filepath.Join(dir, "volant-lab")
	out, err := exec.Command("go", "build", "-o", tool, "volant/cmd/volant-lab").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building volant-lab: %w: %s", err, out)
	}
	return tool, nil
})

// testLab is a lab in a temporary directory.
type testLab struct {
	t    *testing.T
	tool string
	dir  string
}

func newLab(t *testing.T, kind string, hosts int) *testLab {
	t.Helper()
	if testing.Short() {
		t.Skip("starts lab hosts")
	}
	labBuilt = true
	tool, err := labTool()
	if err != nil {
		t.Fatal(err)
	}
	l := &testLab{t, tool, filepath.Join(t.TempDir(), "lab")}
	t.Cleanup(func() { l.run("down", "--dir", l.dir) })
	l.run(kind, "up", "--hosts", fmt.Sprint(hosts), "--dir", l.dir)
	return l
}

func (l *testLab) run(args ...string) string {
	l.t.Helper()
	out, err := exec.Command(l.tool, args...).CombinedOutput()
	if err != nil {
		l.t.Fatalf("volant-lab %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// exec runs a command on a host.
func (l *testLab) exec(host, command string) string {
	l.t.Helper()
	return l.run("exec", "--dir", l.dir, host, command)
}

func (l *testLab) path(names ...string) string {
	return filepath.Join(append([]string{l.dir}, names...)...)
}

// options logs in to a host as the lab's inventory says.
func (l *testLab) options(name string) Options {
	l.t.Helper()
	b, err := os.ReadFile(l.path("lab.json"))
	if err != nil {
		l.t.Fatal(err)
	}
	var lab struct {
		Kind  string
		Hosts []struct {
			Name, Address string
			Port          int
		}
	}
	if err := json.Unmarshal(b, &lab); err != nil {
		l.t.Fatal(err)
	}
	for _, h := range lab.Hosts {
		if h.Name == name {
			o := Options{Host: h.Address, Port: h.Port, User: "deploy", PrivateKeyFile: l.path("keys", "id"), HomeDir: l.t.TempDir(), LocalUser: "tester",
				CommonArgs: "-F none -o UserKnownHostsFile=" + l.path("keys", "known_hosts") + " -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes"}
			return o
		}
	}
	l.t.Fatalf("no host %s", name)
	return Options{}
}

// selfBinaries gives the test binary as the agent.
var selfBinaries = sync.OnceValue(func() Binaries {
	dir, err := os.MkdirTemp("", "volant-agent-*")
	if err != nil {
		panic(err)
	}
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	b, err := os.ReadFile(exe)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "volant-agent"), b, 0o755); err != nil {
		panic(err)
	}
	bins := FromDir(dir, testVersion)
	if _, err := bins.Open("amd64"); err != nil {
		return bins // another architecture: tests that install will say so
	}
	os.RemoveAll(dir)
	return bins
})

func dial(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func ensure(t *testing.T, o Options) (AgentInfo, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	return dial(t, o).EnsureAgent(ctx, selfBinaries(), Enrolment{Controller: make([]byte, ed25519.PublicKeySize), Name: "test"})
}
