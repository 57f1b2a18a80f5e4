package bootstrap

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"volant/wire/rx"
)

// AskpassEnv names the socket at which the system's ssh gets its answers; a
// program that finds it in its environment is to call AnswerAskpass.
const AskpassEnv = "VOLANT_ASKPASS"

const (
	askWithin  = 2 * time.Minute // for the user to answer
	maxSecret  = 64 << 10        // bytes of a prompt or an answer
	maxPrompts = 16              // of one login
)

// secrets answers the questions of one ssh process over a socket that only this
// user can reach: a password is neither in an argument nor in the environment.
type secrets struct {
	o    Options
	path string
	ln   net.Listener
	wg   sync.WaitGroup
	stop context.CancelFunc
	ctx  context.Context //nolint:containedctx // ends with close

	mu     sync.Mutex // guards asked
	asked  int
	answer map[string]int // how often a prompt was answered
}

func newSecrets(o Options, path string) (*secrets, error) {
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("making a socket for passwords: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		ln.Close()
		return nil, err
	}
	s := &secrets{o: o, path: path, ln: ln, answer: map[string]int{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.wg.Go(s.serve) // ends with the listener
	return s, nil
}

func (s *secrets) close() {
	s.stop()
	s.ln.Close()
	s.wg.Wait()
}

// environ makes ssh ask this program, whether or not there is a terminal. What
// was set for the user's own askpass does not count.
func (s *secrets) environ(env []string, program string) []string {
	var out []string
	display := false
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", AskpassEnv:
			continue
		case "DISPLAY":
			display = true
		}
		out = append(out, kv)
	}
	if !display { // before OpenSSH 8.4 there is no askpass without one
		out = append(out, "DISPLAY=:0")
	}
	return append(out, "SSH_ASKPASS="+program, "SSH_ASKPASS_REQUIRE=force", AskpassEnv+"="+s.path)
}

func (s *secrets) serve() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() { // ends within askWithin
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(askWithin))
			prompt, err := bufio.NewReader(io.LimitReader(c, maxSecret)).ReadString(0)
			if err != nil {
				return
			}
			if a, ok := s.of(strings.TrimSuffix(prompt, "\x00")); ok {
				_, _ = io.WriteString(c, "\x01"+a)
			}
		})
	}
}

var (
	passphrasePrompt = rx.Lazy(`(?i)^(enter )?(passphrase|pin) (for )`)
	confirmPrompt    = rx.Lazy(`(?i)\(yes/no|The authenticity of host |differs from the key for the IP address|confirm user presence`)
)

// asksPassword says whether a prompt is the one that the connection's password
// answers: the user's own words for it, else what OpenSSH and PAM say.
func asksPassword(prompt, own string) bool {
	if own == "" {
		return strings.Contains(prompt, "assword")
	}
	return strings.Contains(prompt, own)
}

// of is the answer to a prompt. A password that was refused is not offered
// again: accounts are locked that way.
func (s *secrets) of(prompt string) (string, bool) {
	s.mu.Lock()
	s.asked++
	s.answer[prompt]++
	again, asked := s.answer[prompt] > 1, s.asked
	s.mu.Unlock()
	switch {
	case asked > maxPrompts, confirmPrompt.MatchString(prompt): // an unknown host key is not for us to accept
		return "", false
	case passphrasePrompt.MatchString(prompt) && s.o.Passphrase != "":
		return s.o.Passphrase, !again
	case s.o.Password != "" && !passphrasePrompt.MatchString(prompt) && asksPassword(prompt, s.o.PasswordPrompt):
		return s.o.Password, !again
	case s.o.Ask != nil:
		a, err := s.o.Ask(s.ctx, prompt)
		return a, err == nil
	}
	return "", false
}

// AnswerAskpass is what this program does as ssh's askpass: it fetches the
// answer to prompt from the controller at socket and writes it to w.
func AnswerAskpass(socket, prompt string, w io.Writer) error {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return fmt.Errorf("reaching the controller: %w", err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(askWithin))
	if _, err := io.WriteString(c, prompt+"\x00"); err != nil {
		return err
	}
	a, err := io.ReadAll(io.LimitReader(c, maxSecret))
	if err != nil {
		return err
	}
	if len(a) == 0 || a[0] != 1 {
		return errors.New("there is no answer")
	}
	_, err = w.Write(append(a[1:], '\n'))
	return err
}
