package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// volatileKeys are result keys whose value is a time, a number the kernel
// chose or the like: only their type is compared.
var volatileKeys = map[string]bool{
	"start": true, "end": true, "delta": true, "mtime": true, "atime": true, "ctime": true, "birthtime": true, "inode": true, "dev": true,
	"elapsed": true, "cache_update_time": true, "results_file": true, "ansible_job_id": true, "version_": true,
	"last_modified": true, "date": true, "child_pid": true, "user_input": true,
	// facts
	"ansible_date_time": true, "ansible_loadavg": true, "ansible_machine_id": true, "ansible_memfree_mb": true, "ansible_swapfree_mb": true,
	"ansible_memory_mb": true, "ansible_uptime_seconds": true, "ansible_ssh_host_key_ed25519_public": true, "ansible_ssh_host_key_rsa_public": true,
	"ansible_ssh_host_key_ecdsa_public": true, "macaddress": true, "block_available": true, "block_used": true, "inode_available": true,
	"inode_used": true, "size_available": true, "SSH_CLIENT": true, "SSH_CONNECTION": true,
	// what the login shell adds when it starts another
	"SHLVL": true, "_": true,
}

// unitVolatile are properties of a unit that are new whenever it runs, or come
// from the process that started the lab.
var unitVolatile = regexp.MustCompile(`Timestamp|PID$|^(ControlGroupId|InvocationID|CPUUsageNSec|ControlGroup|IO\w+(Bytes|Operations)|IP\w+(Bytes|Packets)|EffectiveMemory\w+|Memory(Current|Peak|Available|Swap\w+|ZSwap\w*)|TasksCurrent|StateChange\w*|NextElapse\w*|CPUScheduling\w+|Nice|TimerSlackNSec)$`)

// agentUnit are services that are there because an agent is.
var agentUnit = regexp.MustCompile(`^(volant-agent|user@\d+|user-runtime-dir@\d+)\.service$`)

// unordered are lists that the reference makes of a set.
var unordered = map[string]bool{
	"ansible_interfaces": true, "ansible_mounts": true, "ansible_virtualization_tech_guest": true, "ansible_virtualization_tech_host": true,
}

// volatileText replaces what differs between any two runs.
var volatileText = []struct {
	re *regexp.Regexp
	to string
}{
	// The reference's raw has a terminal, ours has none.
	{regexp.MustCompile(`(?:\r|\\r)+(?:\n|\\n)`), "\n"},
	{regexp.MustCompile(`\\n`), "\n"},
	{regexp.MustCompile(`"stderr": "Shared connection to [\d.]+ closed\.\s*", "stderr_lines": \["Shared connection to [\d.]+ closed\."\]`), `"stderr": "", "stderr_lines": []`},
	{regexp.MustCompile(`Shared connection to [\d.]+ closed\.\n?("|\z)`), "$1"},
	{regexp.MustCompile(`Shared connection to [\d.]+ closed\.`), ""},
	{regexp.MustCompile(`(?:\x1b|\\u001b)\[[\d;:]*m`), ""},
	{regexp.MustCompile(`(?s)(Reboot command failed\. Error was: ')(?:, )?([^"]*?)\s*(?:, )?'`), "$1$2'"},
	{regexp.MustCompile(`(?m)^ASYNC POLL on .*\n`), ""},
	{regexp.MustCompile(`muxclient: master hello exchange failed\s*`), ""},
	{regexp.MustCompile(`\baa[a-z0-9_]{8}\.bb`), "aaRANDOM.bb"},
	{regexp.MustCompile(`/ansible\.[a-z0-9_]{8}`), "/ansible.RANDOM"},
	{regexp.MustCompile(`Fetched ([\d.]+ [kMG]?B) in \d+s \([\d.,]+ [kMG]?B/s\)`), "Fetched $1"},
	{regexp.MustCompile(`Paused for [\d.]+ seconds`), "Paused for N seconds"},
	{regexp.MustCompile(`BECOME-SUCCESS-[^"]*`), "BECOME"},
	{regexp.MustCompile(`10\.77\.\d+\.(\d+)`), "10.77.0.$1"},
	{regexp.MustCompile(`/[^ "'\\]*/work-(?:ref|vol)\b`), "/WORK"},
	{regexp.MustCompile(`(?:/[^ "'\\:;,]*)?/ansible-tmp-\d+\.\d+-\d+-\d+`), "/REMOTE_TMP"},
	{regexp.MustCompile(`/[^ "'\\:;,]*/ansible-local-[^/ "'\\]*/tmp[a-z0-9_]{8}`), "/LOCAL_TMP"},
	{regexp.MustCompile(`/[^ "'\\:;,]*/ansible-local-[^/ "'\\]*/\.[a-z0-9_]{8}\b`), "/LOCAL_TMP"},
	{regexp.MustCompile(`^\.[a-z0-9_]{8}$|"\.[a-z0-9_]{8}"`), ".RANDOM"},
	{regexp.MustCompile(`"stdout": "\n`), `"stdout": "`},
	{regexp.MustCompile(`"stdout_lines": \[""(?:, )?`), `"stdout_lines": [`},
	{regexp.MustCompile(`/REMOTE_TMP/(?:tmp[a-z0-9_]{8})`), "/REMOTE_TMP/TMP"},
	{regexp.MustCompile(`\.\d+\.(20\d\d-\d\d-\d\d@\d\d:\d\d:\d\d~)`), ".PID.STAMP~"},
	{regexp.MustCompile(`\bj\d{10,14}\.\d+\b`), "JOBID"},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d[ T@]\d\d:\d\d:\d\d(?:\.\d+)?`), "STAMP"},
	{regexp.MustCompile(`/[^ "]*ansible-moduletmp-[\d.]+-[a-z0-9_]{8}(?:/tmp[a-z0-9_]{8})?`), "/REMOTE_TMP/TMP"},
	{regexp.MustCompile(`/[^ "]*\*{8}[^ "]*`), "/MASKED"},
	{regexp.MustCompile(`(?m)(?:^\[WARNING\]: )?Module remote_tmp \S+ did not exist and was created[^"\n]*\n?`), ""},
	{regexp.MustCompile(`(?m)^\[WARNING\]: Unable to use '\S+' as temporary directory[^\n]*\n\n.*\n\n<<< caused by >>>\n\n.*\n\n`), ""},
	{regexp.MustCompile(`^Unable to use '\S+' as temporary directory.*$`), ""},
	{regexp.MustCompile(`(?:, )?"[0-9a-f]{64}  [^"\s]*\.git/(?:index|logs)[^"\s]*"`), ""},
	{regexp.MustCompile(`[0-9a-f]{64}  [^"\s]*\.git/(?:index|logs)[^"\s]*\n?`), ""},
	{regexp.MustCompile(`={15}\d{19}==`), "BOUNDARY"},
	{regexp.MustCompile(`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 20\d\d \d\d:\d\d:\d\d GMT`), "DATE"},
	{regexp.MustCompile(`\bpid=\d+`), "pid=N"},
	{regexp.MustCompile(`(start|stop)_time=\[[^]]*\]`), "${1}_time=[]"},
	{regexp.MustCompile(`(?m)"status": \{"A.*$`), `"status": UNIT`},
	// Password salts, and who is logged in.
	{regexp.MustCompile(`\$y\$j9T\$[./A-Za-z0-9$]+`), "HASH"},
	{regexp.MustCompile(`(?:"(?:volant-agent|user@\d+|user-runtime-dir@\d+)\.service": \{[^}]*\}(?:, )?)`), ""},
	// A Python set's order.
	{regexp.MustCompile(`(Valid booleans include:) .*?('(?:\n|$|"|\\n)|\d(?:\n|$|"|\\n))`), "$1 SET"},
	{regexp.MustCompile(`(?s)(extract the file is installed\.)\n.*?(Origin:|\.\.\.ignoring|\z)`), "$1\n$2"},
	{regexp.MustCompile(`\b\d:\d\d:\d\d\.\d{6}\b`), "DELTA"},
	{regexp.MustCompile(`\b1[789]\d{8}(?:\.\d+)?\b`), "EPOCH"},
	{regexp.MustCompile(`"((?:a|c|m|birth)time|elapsed|inode|dev|child_pid)": [\d.]+`), `"$1": N`},
}

func normalText(s string) string {
	for _, v := range volatileText {
		s = v.re.ReplaceAllString(s, v.to)
	}
	return s
}

// normal returns a decoded JSON value without what is volatile.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		unit := v["ActiveState"] != nil && v["LoadState"] != nil // of systemctl show
		for k, e := range v {
			if unit && unitVolatile.MatchString(k) {
				continue
			}
			if text, ok := e.(string); ok && unit {
				words := slices.DeleteFunc(strings.Fields(normalText(text)), agentUnit.MatchString)
				slices.Sort(words)
				out[k] = strings.Join(words, " ")
				continue
			}
			if text, ok := e.(string); ok && k == "stdout" { // sudo ends its prompt with a newline
				e = strings.TrimPrefix(strings.TrimPrefix(text, "\r"), "\n")
			}
			if volatileKeys[k] || k == "version" && v["attr_flags"] != nil { // of an inode
				out[k] = fmt.Sprintf("<%T>", e)
				continue
			}
			if list, ok := e.([]any); ok && k == "stdout_lines" && len(list) > 0 && list[0] == "" { // the same newline
				e = list[1:]
			}
			if agentUnit.MatchString(k) { // the agent is a service too
				continue
			}
			if out[k] = normal(e); unordered[k] {
				if list, ok := out[k].([]any); ok {
					slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
				}
			}
		}
		if list, ok := out["warnings"].([]any); ok && len(list) == 0 {
			delete(out, "warnings")
		}
		delete(out, "SHLVL")
		delete(out, "_")
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			text, isText := e.(string)
			if e = normal(e); !isText || text == "" || e != "" {
				out = append(out, e)
			}
		}
		return out
	case string:
		return normalText(v)
	}
	return v
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > 700 {
		return string(b[:700]) + "..."
	}
	return string(b)
}

// diffValues adds a line for every place where a and b differ.
func diffValues(lines *[]string, at string, a, b any) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		var keys []string
		for k := range x {
			keys = append(keys, k)
		}
		for k := range y {
			if _, both := x[k]; !both {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range keys {
			p, inA := x[k]
			q, inB := y[k]
			switch {
			case !inA:
				*lines = append(*lines, at+"/"+k+": only volant: "+show(q))
			case !inB:
				*lines = append(*lines, at+"/"+k+": only reference: "+show(p))
			default:
				diffValues(lines, at+"/"+k, p, q)
			}
		}
		return
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		for i := range x {
			diffValues(lines, fmt.Sprintf("%s/%d", at, i), x[i], y[i])
		}
		return
	}
	if show(a) != show(b) {
		if x, ok := a.(string); ok {
			if y, ok := b.(string); ok && strings.Contains(x, "\n") {
				*lines = append(*lines, at+": lines:\n"+diffText(x, y))
				return
			}
		}
		*lines = append(*lines, at+": reference "+show(a)+" volant "+show(b))
	}
}

// diffText returns the lines that differ, the reference's with "-"; empty when equal.
func diffText(a, b string) string {
	if a == b {
		return ""
	}
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	// longest common subsequence, small texts
	common := make([][]int, len(x)+1)
	for i := range common {
		common[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	quiet := true
	context := func(i int) { // two lines in front of a place that differs
		for k := max(0, i-2); quiet && k < i; k++ {
			fmt.Fprintf(&out, "      %s\n", x[k])
		}
		quiet = false
	}
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			i, j, quiet = i+1, j+1, true
		case j >= len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			context(i)
			fmt.Fprintf(&out, "    - %s\n", x[i])
			i++
		default:
			context(i)
			fmt.Fprintf(&out, "    + %s\n", y[j])
			j++
		}
	}
	return out.String()
}
