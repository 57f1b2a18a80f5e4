package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"volant/actions"
)

const (
	keyPoll   = 50 * time.Millisecond // how often a prompt looks whether it is over
	maxTyped  = 64 << 10              // what is typed beyond is dropped
	clearLine = "\r\x1b[K"
)

// keys is execute.Options.Keys; nil when there is no terminal.
func (j *project) keys() func(context.Context, string, actions.Keys) (string, bool, error) {
	if j.prompt == nil {
		return nil
	}
	return j.prompt.keys
}

// keys shows text and reads key by key, with the terminal in raw mode
// meanwhile. A run in the background has no terminal.
func (t *prompter) keys(ctx context.Context, text string, k actions.Keys) (typed string, interactive bool, err error) {
	typed, err = t.exclusive(func() (_ string, err error) {
		fd := int(t.in.Fd())
		if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && group != unix.Getpgrp() && !t.foreign {
			return "", nil
		}
		old, err := term.MakeRaw(fd)
		if err != nil {
			return "", nil //nolint:nilerr // then it is no terminal to ask on
		}
		defer func() { err = errors.Join(err, term.Restore(fd, old)) }()
		interactive = true
		if _, err := io.WriteString(t.out, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
			return "", err
		}
		return t.typing(ctx, fd, k)
	})
	return typed, interactive, err
}

// typing reads keys until one of them ends the prompt, or its time is over.
func (t *prompter) typing(ctx context.Context, fd int, k actions.Keys) (string, error) {
	interrupt := k.Interrupt
	if interrupt == "" {
		interrupt = "\x03"
	}
	var typed []byte
	begin := time.Now()
	for k.Seconds <= 0 || time.Since(begin) < time.Duration(k.Seconds)*time.Second {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		key, ok, err := t.key(fd)
		low := key
		if low >= 'A' && low <= 'Z' {
			low += 'a' - 'A'
		}
		switch {
		case err != nil:
			return string(typed), err
		case !ok:
		case slices.Contains([]byte(interrupt), low):
			_, err := io.WriteString(t.out, clearLine)
			return "", errors.Join(actions.ErrInterrupted, err)
		case slices.Contains([]byte(k.End), low):
			_, err := io.WriteString(t.out, clearLine)
			return string(typed), err
		case key == 0x7f || key == 0x08:
			typed = typed[:max(0, len(typed)-1)]
			if _, err := io.WriteString(t.out, clearLine); err != nil {
				return "", err
			}
			if k.Echo {
				_, _ = t.out.Write(typed) // shown again; the next write says what is wrong
			}
		case len(typed) < maxTyped:
			typed = append(typed, key)
			if k.Echo {
				_, _ = t.out.Write([]byte{key}) // as above
			}
		}
	}
	return string(typed), nil
}

// key reads one key, for at most keyPoll. Nothing more can be read: io.EOF.
func (t *prompter) key(fd int) (key byte, ok bool, err error) {
	if t.lines.Buffered() > 0 { // typed ahead
		key, err = t.lines.ReadByte()
		return key, err == nil, err
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(keyPoll/time.Millisecond))
	if n == 0 || errors.Is(err, unix.EINTR) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	var b [1]byte
	switch n, err := unix.Read(fd, b[:]); {
	case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	case n == 0:
		return 0, false, io.EOF
	}
	return b[0], true, nil
}
