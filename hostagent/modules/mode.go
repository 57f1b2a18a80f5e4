package modules

import (
	"errors"
	"strings"
	"syscall"
)

// symbolicMode applies a chmod-like text to the mode of a file: comma-separated
// clauses of who, operator and permissions, several operators to a clause.
func symbolicMode(st uint32, umask uint32, text string) (uint32, error) {
	mode := st & 0o7777
	for _, clause := range strings.Split(text, ",") {
		bad := errors.New("bad symbolic permission for mode: " + clause)
		first := strings.IndexAny(clause, "+=-")
		who := clause
		if first >= 0 {
			who = clause[:first]
		}
		useUmask := who == ""
		if who == "a" || who == "" {
			who = "ugo"
		}
		if strings.Trim(who, "ugo") != "" {
			return 0, bad
		}
		for first >= 0 && first < len(clause) {
			op := clause[first]
			rest := clause[first+1:]
			next := strings.IndexAny(rest, "+=-")
			perms := rest
			if next >= 0 {
				perms = rest[:next]
			}
			if strings.Trim(perms, "rwxXstugo") != "" {
				return 0, bad
			}
			for _, u := range who {
				bits := symbolicBits(st, umask, byte(u), perms, useUmask, mode)
				switch op {
				case '=':
					mask := map[rune]uint32{'u': 0o4700, 'g': 0o2070, 'o': 0o1007}[u]
					mode = mode&^mask | bits
				case '+':
					mode |= bits
				case '-':
					mode &^= bits
				}
			}
			if next < 0 {
				break
			}
			first += 1 + next
		}
	}
	return mode, nil
}

func symbolicBits(st, umask uint32, user byte, perms string, useUmask bool, prev uint32) uint32 {
	shift := map[byte]uint{'u': 6, 'g': 3, 'o': 0}[user]
	free := uint32(0o7777)
	if useUmask {
		free = umask ^ 0o7777
	}
	var bits uint32
	for _, p := range perms {
		switch p {
		case 'r':
			bits |= free & (4 << shift)
		case 'w':
			bits |= free & (2 << shift)
		case 'x':
			bits |= free & (1 << shift)
		case 'X':
			if st&syscall.S_IFMT == syscall.S_IFDIR || prev&0o111 != 0 {
				bits |= 1 << shift
			}
		case 's':
			bits |= map[byte]uint32{'u': 0o4000, 'g': 0o2000}[user]
		case 't':
			if user == 'o' {
				bits |= 0o1000
			}
		case 'u':
			bits |= prev >> 6 & 7 << shift
		case 'g':
			bits |= prev >> 3 & 7 << shift
		case 'o':
			bits |= prev & 7 << shift
		}
	}
	return bits
}
