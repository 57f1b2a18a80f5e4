#!/usr/bin/env bash
# bench-data.sh: a directory of 2,000 files (100 MB), a file of 2 GB, fetch of 1 GB and slurp, with volant and
# with ansible-core (pipelining) on the same systemd host (root), one after the other: time, and the memory of
# the largest process at either end. Also as JSON in dist/bench-data.json.
#
#   ONLY='tree|slurp'   only the cases whose name matches
#   SCALE=0.1           smaller files
#   FILES=200           fewer of them in the directory
#   SIDES=volant        only one side
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/bin:$PATH ANSIBLE_NOCOLOR=1
reference=${VOLANT_ANSIBLE_CORE:-$PWD/.cache/reference}
export VOLANT_ANSIBLE_CORE=$reference
mkdir -p dist
work=$(mktemp -d "${TMPDIR:-/tmp}/volant-bench-data.XXXXXX")
trap 'volant-lab down --dir "$work/lab" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
volant-lab systemd up --hosts 1 --dir "$work/lab"
export VOLANT_STATE_DIR=$work/state
cat >"$work/bench.py" <<'END'
import json, os, random, re, subprocess, sys, threading, time

work, reference, only, scale, count = sys.argv[1], sys.argv[2], re.compile(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
inventory = work + "/lab/inventory.ini"
MB = 1 << 20


def host(line):
    return subprocess.run(["volant-lab", "exec", "--dir", work + "/lab", "h1", line], check=True, capture_output=True, text=True).stdout


def fill(path, size):
    piece = random.Random(size).randbytes(4 * MB)
    with open(path, "wb") as f:
        while size > 0:
            f.write(piece[:size])
            size -= len(piece)


namespace = host("readlink /proc/self/ns/pid").strip()


def processes(here):
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            if (os.readlink(f"/proc/{pid}/ns/pid") == namespace) != here:
                yield int(pid)
        except OSError:
            pass


def below(top):
    parents = {}
    for pid in processes(True):
        try:
            with open(f"/proc/{pid}/stat") as f:
                parents[pid] = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    for pid in parents:
        at = pid
        while at in parents and at != top:
            at = parents[at]
        if at == top:
            yield pid


def peak(pid):
    try:
        with open(f"/proc/{pid}/status") as f:
            return next((int(line.split()[1]) for line in f if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


def run(command):
    for pid in processes(False):  # their peaks begin anew
        try:
            with open(f"/proc/{pid}/clear_refs", "w") as f:
                f.write("5")
        except OSError:
            pass
    before = {pid: peak(pid) for pid in processes(False)}
    begin = time.monotonic()
    with open(work + "/out", "w") as out:
        p = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=work,
                             env=dict(os.environ, ANSIBLE_PIPELINING="1", ANSIBLE_CONFIG=work + "/ansible.cfg"))
    top = {"controller": 0, "host": 0}

    def sample():
        while p.poll() is None:
            top["controller"] = max(top["controller"], *(peak(pid) for pid in below(p.pid)), 0)
            for pid in processes(False):
                if (kb := peak(pid)) != before.get(pid):
                    top["host"] = max(top["host"], kb)
            time.sleep(0.1)

    t = threading.Thread(target=sample)
    t.start()
    code = p.wait()
    seconds = time.monotonic() - begin
    t.join()
    text = open(work + "/out").read()
    if code:
        return {"failed": text[-600:]}
    return {"seconds": round(seconds, 2), "controller_mb": top["controller"] // 1024, "host_mb": top["host"] // 1024}


files = work + "/tree"
for i in range(count):
    os.makedirs(f"{files}/d{i % 50:02}", exist_ok=True)
    fill(f"{files}/d{i % 50:02}/f{i:04}.dat", int(50 * 1024 * scale) + i)
cases = {
    "tree, first": "copy: {src: %s/tree/, dest: /var/tmp/bench-tree/}" % work,
    "tree, unchanged": None,
    "2 GB, first": "copy: {src: %s/big, dest: /var/tmp/bench-big}" % work,
    "2 GB, unchanged": None,
    "fetch 1 GB, first": "fetch: {src: /var/tmp/bench-fetch, dest: %s/fetched/}" % work,
    "fetch 1 GB, unchanged": None,
    "fetch 1 GB, become": "fetch: {src: /var/tmp/bench-secret, dest: %s/fetched/}" % work,
    "slurp 20 MB": "slurp: {src: /var/tmp/bench-slurp}",
}
if any(only.search(c) for c in cases if c.startswith("2 GB")):
    fill(work + "/big", int(2048 * MB * scale))
host("head -c %d /dev/urandom > /var/tmp/bench-fetch; cp /var/tmp/bench-fetch /var/tmp/bench-secret; chmod 600 /var/tmp/bench-secret; "
     "head -c %d /dev/urandom > /var/tmp/bench-slurp" % (1024 * MB * scale, 20 * MB * scale))
open(work + "/ansible.cfg", "w").write("[defaults]\ninterpreter_python=/usr/bin/python3\n")
sides = {"volant": ["volant", "playbook"], "ansible-core": [reference + "/bin/ansible-playbook"]}
sides = {name: words for name, words in sides.items() if name in os.environ.get("SIDES", "volant,ansible-core").split(",")}
for words in sides.values():  # agents there, interpreters started once
    open(work + "/ping.yml", "w").write("- hosts: all\n  gather_facts: false\n  tasks: [ping: {}]\n")
    run([*words, "-i", inventory, work + "/ping.yml"])
table, last = [], ""
for case, task in cases.items():
    task = last = task or last
    if not only.search(case):
        continue
    row = {"case": case}
    open(work + "/case.yml", "w").write("- hosts: all\n  gather_facts: false\n  become: %s\n  tasks:\n  - %s\n" % (str("become" in case).lower(), task))
    for side, words in sides.items():
        if "first" in case or "become" in case:
            host("rm -rf /var/tmp/bench-tree /var/tmp/bench-big")
            subprocess.run(["rm", "-rf", work + "/fetched"], check=True)
        row[side] = run([*words, "-i", inventory, work + "/case.yml"])
    table.append(row)
    print(json.dumps(row), flush=True)
json.dump(table, open("dist/bench-data.json", "w"), indent=1)
print("\n| |" + "".join(" %s | controller | host |" % side for side in sides) + " times |")
print("| ---" * (3 * len(sides) + 2) + " |")
for row in table:
    cells, took = [row["case"]], [row[side].get("seconds") for side in sides]
    for side in sides:
        r = row[side]
        cells += ["%.2f s" % r["seconds"], "%d MB" % r["controller_mb"], "%d MB" % r["host_mb"]] if "seconds" in r else ["failed", "", ""]
    cells.append("%.1f" % (took[1] / took[0]) if len(took) == 2 and all(took) else "")
    print("| " + " | ".join(cells) + " |")
for row in table:
    for side in sides:
        if "failed" in row[side]:
            print("%s, %s: %s" % (row["case"], side, row[side]["failed"]))
END
"$reference/bin/python" "$work/bench.py" "$work" "$reference" "${ONLY:-.}" "${SCALE:-1}" "${FILES:-2000}"
