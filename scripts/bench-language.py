#!/usr/bin/env python3
"""bench-language.py VOLANT REFERENCE: the language and the inventory, Volant beside ansible-core, in one run.

Processor time (user and system, children included), wall time and peak memory of one process, one after the other on the
same machine. VOLANT is a directory of shims, REFERENCE the directory of ansible-core's commands.
"""
import os
import sys
import tempfile
import time

ours, theirs = map(os.path.abspath, sys.argv[1:3])
quick = len(sys.argv) > 3  # a first look: the large ones are left out


def measure(argv, cwd):
    """Run argv and return wall and processor seconds, and the peak of its memory in MB."""
    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.chdir(cwd)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.execv(argv[0], argv)
    _, status, usage = os.wait4(pid, 0)
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


def row(what, argv, cwd, reference=True):
    cells = [what]
    for base in (ours, theirs):
        if base == theirs and not reference:
            cells += ['', '', '']
            continue
        wall, cpu, peak, code = min((measure([os.path.join(base, argv[0]), *argv[1:]], cwd) for _ in range(3 if base == ours else 1)), key=lambda m: m[1])
        if code:
            sys.exit('%s: %s ended with %d' % (base, ' '.join(argv), code))
        cells += ['%.2f s' % cpu, '%.2f s' % wall, '%.0f MB' % peak]
    print('| ' + ' | '.join(cells) + ' |', flush=True)


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


with tempfile.TemporaryDirectory() as d:
    os.environ.update(ANSIBLE_NOCOLOR='1', ANSIBLE_LOCALHOST_WARNING='0', ANSIBLE_INVENTORY_UNPARSED_WARNING='0')
    hosts = ['h%05d' % i for i in range(10000)]
    write(d + '/hosts.ini', ''.join('%s rack=%d weight=%d\n' % (h, i % 50, i) for i, h in enumerate(hosts)) +
          ''.join('[rack%d]\n%s\n' % (r, '\n'.join(hosts[r::50])) for r in range(50)) + '[all:vars]\nregion=north\n')
    write(d + '/hosts.yml', 'all:\n  vars: {region: north}\n  children:\n' + ''.join(
        '    rack%d:\n      hosts:\n%s' % (r, ''.join('        %s: {rack: %d, weight: %d}\n' % (h, r, r) for h in hosts[r::50])) for r in range(50)))
    write(d + '/ping.yml', '- hosts: localhost\n  gather_facts: false\n  tasks:\n    - ping:\n')
    write(d + '/local.ini', ''.join('l%03d ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n' % i for i in range(200)))
    write(d + '/tasks.yml', '- hosts: all\n  gather_facts: false\n  vars: {base: 1}\n  tasks:\n' + ''.join(
        '    - name: step %d\n      debug: {msg: "{{ inventory_hostname }} {{ base + %d }}"}\n      when: base > 0\n' % (i, i) for i in range(50)))
    for n in (100, 200, 400):
        write(d + '/many%d.yml' % n, '- hosts: localhost\n  gather_facts: false\n  tasks:\n    - include_tasks: "{{ item }}"\n      loop: "{{ range(%d) | map(\'regex_replace\', \'^\', \'one\') | map(\'regex_replace\', \'$\', \'.yml\') | list }}"\n' % n)
    for i in range(400):
        write(d + '/one%d.yml' % i, '- debug: {msg: one}\n- debug: {msg: two}\n')
    for n in (1, 10000):
        write(d + '/lookup%d.yml' % n, '- hosts: h00000\n  gather_facts: false\n  tasks:\n    - debug: {msg: "{{ rack }} {{ region }}"}\n      loop: "{{ range(2000) | list }}"\n')
    print('| what | CPU | wall | memory | ansible-core: CPU | wall | memory |\n| --- | --- | --- | --- | --- | --- | --- |')
    row('`--syntax-check` of a trivial playbook', ['ansible-playbook', '--syntax-check', 'ping.yml'], d)
    row('10,000 hosts, INI: `--list-hosts` of a group', ['ansible', 'rack7', '-i', 'hosts.ini', '--list-hosts'], d)
    row('10,000 hosts, YAML: `--list-hosts` of a group', ['ansible', 'rack7', '-i', 'hosts.yml', '--list-hosts'], d)
    row('10,000 hosts, INI: `ansible-inventory --list`', ['ansible-inventory', '-i', 'hosts.ini', '--list'], d, not quick)
    row('200 hosts x 50 tasks, local connections', ['ansible-playbook', '-i', 'local.ini', 'tasks.yml'], d, not quick)
    for n in (100, 200, 400):
        row('looped include of %d files' % n, ['ansible-playbook', 'many%d.yml' % n], d, not quick)
    write(d + '/one.ini', 'h00000 rack=0\n[all:vars]\nregion=north\n')
    row('2,000 look-ups of variables, 1 host', ['ansible-playbook', '-i', 'one.ini', 'lookup1.yml'], d)
    row('2,000 look-ups of variables, 10,000 hosts', ['ansible-playbook', '-i', 'hosts.ini', 'lookup10000.yml'], d, not quick)
