#!/usr/bin/env python3
"""Run ansible-core's own integration targets, unmodified, and say which pass.

usage: conformance.py --suite DIR --reference VENV [--bin SHIMS] [--lab PROGRAM] [--cache DIR] [--doc FILE]
                      [--timeout S] [--no-sandbox] [--missing] [--fast] [TARGET ...]

--suite DIR      an unpacked source distribution of ansible-core (test/integration/targets)
--reference VENV a virtual environment holding that ansible-core
--bin SHIMS      put first on PATH: the commands under test; without it ansible-core itself runs
--cache DIR      reference.json (what ansible-core passes: the denominator), score.json and the logs
--doc FILE       write the table of the score there
--lab PROGRAM    volant-lab: targets that need services get a throw-away host of it that runs systemd
--missing        only targets without a recorded outcome
--fast           only the targets of FAST, and no table

A target is run as ansible-test runs it: its runme.sh, or a play over its role, in a fresh copy of the
targets it needs, with a local `testhost` in the inventory and ansible-test's environment. Where root
can, each target gets a throw-away system (an overlay of this one that is gone afterwards, or a host of
the lab), so that targets may make users and change files; elsewhere such targets are skipped.

Outcomes: passed; failed; later (it failed and brings Python plugins of kinds that are not loaded, or names
internals of ansible-core);
differs (it asserts what is different on purpose); skipped (cannot run here); and, where the reference
itself does not pass, alike (ended after the same results as the reference) or out.
Exit status: 0 when nothing failed that passed in the recorded score, else 1; 2 wrong usage.
With --fast: 1 as well when a target of FAST failed.
"""
import argparse
import fnmatch
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

# The targets of the language on Linux hosts; a name may be a pattern.
LANGUAGE = '''
adhoc ansible-inventory ansible-vault any_errors_fatal args assert async async_extra_data async_fail become
become_su blocks builtin_vars_prompt callback_default changed_when check_mode cli command_nonexisting
command_shell conditionals config connection_local connection_ssh debug debugger delegate_to environment
error_from_connection failed_when gathering gathering_facts group_by groupby_filter handler_race handlers hash
hosts_field ignore_errors ignore_unreachable import_tasks include_import include_import_tasks_nested
include_vars include_vars-ad-hoc include_when_parent_is_dynamic include_when_parent_is_static includes
includes_race inventory inventory-invalid-group inventory_advanced_host_list inventory_constructed
inventory_ini inventory_script inventory_yaml keyword_inheritance limit_inventory loop-connection loop-until
loop_control loops lookup_* meta_tasks module_defaults module_no_log no_log noexec omit order parsing
path_lookups playbook register roles roles_arg_spec roles_var_inheritance set_fact special_vars
special_vars_hosts split strategy_free strategy_host_pinned strategy_linear tags task_ordering tasks
templating* test_core test_files test_mathstuff throttle undefined unicode until unvault var_blending
var_inheritance var_precedence var_reserved var_templating vars_files yaml_parsing
'''.split()

# Those of actions and modules.
MODULES = '''
add_host apt argspec assemble blockinfile copy cron deb822_repository dpkg_selections fetch file find get_url
getent git group hostname known_hosts lineinfile package package_facts pause pip raw reboot replace script
service service_facts set_stats slurp stat systemd tempfile template unarchive uri user wait_for
wait_for_connection
'''.split()

# Quick ones that every change is tried with; Python plugins, networks and root are not needed.
FAST = '''
any_errors_fatal args changed_when check_mode conditionals debug environment failed_when group_by hash
hosts_field ignore_errors import_tasks include_import_tasks_nested include_vars-ad-hoc
include_when_parent_is_dynamic include_when_parent_is_static includes inventory-invalid-group
inventory_constructed inventory_ini inventory_yaml limit_inventory lookup_dict lookup_file lookup_fileglob
lookup_indexed_items lookup_inventory_hostnames lookup_items lookup_lines lookup_list lookup_nested
lookup_pipe lookup_random_choice lookup_sequence lookup_subelements lookup_template lookup_together
lookup_varnames loop_control parsing path_lookups register roles_var_inheritance special_vars
special_vars_hosts split strategy_free strategy_host_pinned strategy_linear tags task_ordering
templating_lookups templating_settings test_files unvault var_inheritance vars_files
'''.split()

# They need services, a journal or a name of their own: a host that runs systemd.
BOOTED = {'hostname', 'module_no_log', 'reboot', 'service', 'service_facts', 'systemd'}

# They need a host that is not the controller: it is reached by SSH.
REMOTE = {'fetch'}

# What targets assert that is different on purpose.
DIFFERS = {
    'adhoc': "expects a warning of untrusted text that only a setting for ansible-core's own tests turns on",
    'connection_ssh': 'expects sshpass to hang on a prompt it does not know; Volant speaks SSH itself',
    'copy': 'sends a file whose path the result of a module gave (docs/adr/0002-provenance.md)',
    'fetch': 'reads with a lookup a file whose path the result of a module gave (docs/adr/0002-provenance.md)',
    'template': 'reads with a lookup a file whose path the result of a module gave (docs/adr/0002-provenance.md)',
    'delegate_to': 'expects one SSH session for each name of a machine; here all names share one agent (and it brings a connection plugin)',
}

# Kinds of Python plugins that are not loaded (filters, tests, lookups, actions and inventories are).
PLUGINS = ('become', 'cache', 'callback', 'connection', 'strategy', 'vars')
TAIL = 4000  # characters of a log kept as the reason


class Target:
    """One target: what it needs and how it is run."""

    def __init__(self, suite, name):
        self.name = name
        self.path = os.path.join(suite, name)
        self.aliases = read_aliases(os.path.join(self.path, 'aliases'))
        self.script = next((s for s in ('runme.sh', 'runme.py') if os.path.exists(os.path.join(self.path, s))), None)

    def listed(self, kind):
        """The names of aliases such as needs/target/NAME."""
        return [a.split('/')[2] for a in self.aliases if a.startswith(kind + '/')]

    def setups(self):
        return self.listed('setup/once') + self.listed('setup/always')

    def plugins(self):
        """What this target brings that is not loaded here."""
        found = []
        for folder, _, files in os.walk(self.path):
            rel = os.path.relpath(folder, self.path)
            parts = rel.split(os.sep)
            kinds = [p[:-len('_plugins')] for p in parts if p.endswith('_plugins')]
            if 'plugins' in parts[:-1]:
                kinds.append(parts[parts.index('plugins') + 1])
            python = sorted(f for f in files if f.endswith('.py') and f != '__init__.py')
            if any(k in PLUGINS for k in kinds):
                found += [os.path.join(rel, f) for f in python]
            elif rel != '.' and not {'library', 'module_utils', 'modules'} & set(parts):
                for name in python:  # in a directory that a setting names
                    with open(os.path.join(folder, name), encoding='utf-8', errors='replace') as source:
                        if re.search(r'^class (Connection|CallbackModule)\b', source.read(), re.M):
                            found.append(os.path.join(rel, name))
            elif rel == '.':
                for name in python:
                    with open(os.path.join(folder, name), encoding='utf-8', errors='replace') as source:
                        if re.search(r'^\s*(from|import) ansible\b(?!\.module_utils)', source.read(), re.M):
                            found.append(name)
            for name in files:
                if name.endswith(('.yml', '.yaml', '.j2')):  # what ansible-core keeps for its own tests
                    with open(os.path.join(folder, name), encoding='utf-8', errors='replace') as source:
                        found += re.findall(r'ansible\._protomatter\.\w+', source.read())
        return sorted(set(found))


def read_aliases(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as f:
        lines = [line.split('#')[0].strip() for line in f]
    return [line for line in lines if line]


def needed(suite, name):
    """The names of the targets that must lie beside name, itself included."""
    every = sorted(os.listdir(suite))
    hidden = [n for n in every if not os.path.exists(os.path.join(suite, n, 'aliases')) or
              'hidden' in read_aliases(os.path.join(suite, n, 'aliases'))]
    done, todo = set(), [name]
    while todo:
        current = todo.pop()
        if current in done or not os.path.isdir(os.path.join(suite, current)):
            continue
        done.add(current)
        target = Target(suite, current)
        todo += target.setups() + target.listed('needs/target')
        meta = os.path.join(target.path, 'meta')
        for folder, folders, files in os.walk(target.path):
            for entry in folders + files:
                path = os.path.join(folder, entry)
                if os.path.islink(path):
                    real = os.path.realpath(path)
                    if real.startswith(os.path.realpath(suite) + os.sep):
                        todo.append(os.path.relpath(real, os.path.realpath(suite)).split(os.sep)[0])
                elif folder == meta and entry in files:
                    with open(path, encoding='utf-8', errors='replace') as f:
                        text = '\n'.join(line for line in f if not line.lstrip().startswith('#'))
                    todo += [n for n in hidden if n in text]
    return sorted(done)


# ---------------------------------------------------------------- one target, inside its sandbox
def run_inside(job):
    """Run one target here and now; the status of the process is its outcome."""
    root = os.path.join(job['work'], '%s-\u00c5\u00d1\u015a\u00cc\u03b2\u0141\u00c8' % job['target'])
    if 'no/temp_unicode' in Target(job['suite'], job['target']).aliases:
        root = os.path.join(job['work'], job['target'] + '-ansible')
    integration = os.path.join(root, 'test', 'integration')
    targets = os.path.join(integration, 'targets')
    os.makedirs(targets)
    for name in needed(job['suite'], job['target']):
        shutil.copytree(os.path.join(job['suite'], name), os.path.join(targets, name), symlinks=True)
    config = os.path.join(integration, 'integration.cfg')
    open(config, 'w', encoding='utf-8').close()
    inventory = os.path.join(integration, 'inventory')
    python = os.path.join(job['reference'], 'bin', 'python')
    with open(inventory, 'w', encoding='utf-8') as f:
        way = 'ansible_connection="local"'
        if job['target'] in REMOTE:
            way = 'ansible_host="127.0.0.1" ansible_user="root"'
        f.write('[testgroup]\ntesthost %s ansible_pipelining="yes" ansible_python_interpreter="%s"\n' % (way, python))
    output = os.path.join(job['work'], 'output_dir')
    target = Target(job['suite'], job['target'])
    for name in target.setups() + [job['target']]:
        shutil.rmtree(output, ignore_errors=True)
        os.makedirs(output)
        code = run_target(job, Target(job['suite'], name), root, integration, inventory, config, output, python)
        if code:
            if name != job['target']:
                print('conformance: the setup target %s failed' % name, flush=True)
            return code
    return 0


def run_target(job, target, root, integration, inventory, config, output, python):
    targets = os.path.join(integration, 'targets')
    paths = [os.path.join(job['reference'], 'bin'), '/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
    if job['bin']:
        paths.insert(0, job['bin'])
    packages, injector = os.path.join(job['work'], 'packages'), os.path.join(job['work'], 'injector')
    if not os.path.exists(packages):
        os.makedirs(packages)
        os.makedirs(injector)
        os.symlink(job['package'], os.path.join(packages, 'ansible'))
        shutil.copy(os.path.join(job['package'], '..', 'ansible_test', '_util', 'target', 'injector', 'virtualenv.sh'), injector)
    paths.insert(0, injector)
    version = '%d.%d' % tuple(job['version'])
    home = os.environ['HOME']
    if job.get('fast'):  # this system stays; it keeps nothing
        home = os.path.join(job['work'], 'home')
        os.makedirs(home, exist_ok=True)
    env = dict(
        LC_ALL='C.UTF-8', HOME=home, PATH=':'.join(paths), PYTHONPATH=packages, PAGER='/bin/cat',
        ANSIBLE_PYTHON_MODULE_RLIMIT_NOFILE='1024', ANSIBLE_FORCE_COLOR='false', ANSIBLE_FORCE_HANDLERS='true',
        ANSIBLE_HOST_PATTERN_MISMATCH='error', ANSIBLE_INVENTORY='/dev/null', ANSIBLE_DEPRECATION_WARNINGS='false',
        ANSIBLE_HOST_KEY_CHECKING='false', ANSIBLE_RETRY_FILES_ENABLED='false', ANSIBLE_DISPLAY_TRACEBACK='never',
        ANSIBLE_CONFIG=config, ANSIBLE_LIBRARY=job['modules'], ANSIBLE_DEVEL_WARNING='false',
        ANSIBLE_WORKER_SHUTDOWN_POLL_COUNT='100', ANSIBLE_WORKER_SHUTDOWN_POLL_DELAY='0.1',
        ANSIBLE_TEST_ANSIBLE_LIB_ROOT=job['package'],
        ANSIBLE_PYTHON_INTERPRETER='/set/ansible_python_interpreter/in/inventory',
        JUNIT_OUTPUT_DIR=os.path.join(job['work'], 'junit'), JUNIT_TASK_RELATIVE_PATH=root,
        JUNIT_REPLACE_OUT_OF_TREE_PATH='out-of-tree:', ANSIBLE_CALLBACKS_ENABLED='junit',
        ANSIBLE_TEST_CI='', ANSIBLE_TEST_COVERAGE='', ANSIBLE_TEST_ANSIBLE_VERSION=job['core'],
        ANSIBLE_TEST_PYTHON_VERSION=version, ANSIBLE_TEST_PYTHON_INTERPRETER=python,
        OUTPUT_DIR=output, INVENTORY_PATH=inventory, VOLANT_ANSIBLE_CORE=job['reference'],
    )
    for alias in target.aliases:
        if alias.startswith('env/set/'):
            key, value = alias[len('env/set/'):].split('/', 1)
            env[key] = value
    if target.script:
        cwd = os.path.join(targets, target.name)
        command = ['./' + target.script]
    else:
        cwd = integration
        env['ANSIBLE_ROLES_PATH'] = targets
        play = dict(hosts='testhost', gather_facts='gather_facts/no' not in target.aliases, vars_files=[],
                    vars=dict(output_dir=output), roles=[target.name])
        playbook = '%s-run.yml' % target.name
        with open(os.path.join(cwd, playbook), 'w', encoding='utf-8') as f:
            f.write(json.dumps([play], indent=4, sort_keys=True))
        command = ['ansible-playbook', playbook, '-i', os.path.relpath(inventory, integration)]
    env['ANSIBLE_PLAYBOOK_DIR'] = cwd
    return subprocess.call(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL)


# ---------------------------------------------------------------- the throw-away system around it
def overlay(base, upper, work, content):
    """A writable view of this system at base/root, which is also returned; content is copied into it.

    (A layer that lies below / itself cannot be a second lower layer.)
    """
    root = os.path.join(base, 'root')
    sh('mount', '--make-rprivate', '/')
    sh('mount', '-t', 'tmpfs', '-o', 'size=4g', 'tmpfs', base)
    for path in (root, upper or os.path.join(base, 'upper'), work or os.path.join(base, 'work')):
        os.makedirs(path, exist_ok=True)
    if content:
        sh('cp', '-a', content + '/.', os.path.join(base, 'upper'))
    sh('mount', '-t', 'overlay', 'overlay', '-o', 'lowerdir=/,upperdir=%s,workdir=%s' % (
        upper or os.path.join(base, 'upper'), work or os.path.join(base, 'work')), root)
    for name in ('dev', 'sys'):
        sh('mount', '--rbind', '/' + name, os.path.join(root, name))
    sh('mount', '-t', 'proc', 'proc', os.path.join(root, 'proc'))
    sh('mount', '-t', 'tmpfs', 'tmpfs', os.path.join(root, 'run'))
    return root


def enter(job):
    """In new namespaces: a writable overlay of / that is gone with us; then the target."""
    root = overlay(job['sandbox'], '', '', job['layer'])
    os.chroot(root)
    os.chdir('/')
    os.makedirs(job['work'])
    os.chmod(job['work'], 0o755)
    make_keys()
    if job['ssh']:
        serve_ssh()
    return run_inside(job)


def make_keys():
    """A key that logs in to this very system."""
    home = os.path.join(os.environ['HOME'], '.ssh')
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home, 0o700)
    key = os.path.join(home, 'id_rsa')
    sh('ssh-keygen', '-q', '-t', 'rsa', '-N', '', '-f', key)
    shutil.copy(key + '.pub', os.path.join(home, 'authorized_keys'))


def serve_ssh():
    """An SSH server on this namespace's own loopback that takes us without asking."""
    sh('ip', 'link', 'set', 'lo', 'up')
    home = os.path.join(os.environ['HOME'], '.ssh')
    os.makedirs('/run/sshd')
    sh('/usr/sbin/sshd')
    with open(os.path.join(home, 'known_hosts'), 'wb') as known:
        for _ in range(50):
            scan = subprocess.run(['ssh-keyscan', 'localhost', '127.0.0.1'], capture_output=True, check=False)
            if scan.stdout:
                known.write(scan.stdout)
                break
            time.sleep(0.1)


# What targets expect of a system, as images of ansible-test have it.
PACKAGES = 'acl bzip2 cron git gnupg iproute2 libuser locales openssh-client openssh-server sshpass sudo unzip xz-utils zip zstd'


def build(job):
    """In new namespaces: what targets expect of a system and this one lacks, as a layer above it."""
    root = overlay(job['sandbox'], os.path.join(job['build'], 'upper'), os.path.join(job['build'], 'work'), '')
    policy = os.path.join(root, 'usr/sbin/policy-rc.d')
    with open(policy, 'w', encoding='utf-8') as f:
        f.write('#!/bin/sh\nexit 101\n')
    os.chmod(policy, 0o755)
    code = subprocess.call(['chroot', root, 'sh', '-c', 'export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && '
                            'apt-get install -y -qq --no-install-recommends %s '
                            '&& localedef -i en_US -f UTF-8 en_US.UTF-8 && ssh-keygen -A && apt-get clean && rm -rf /var/lib/apt/lists/*' % PACKAGES])
    os.unlink(policy)
    return code


def sh(*command):
    subprocess.run(command, check=True)


def can_sandbox():
    if os.geteuid() != 0 or not shutil.which('unshare'):
        return False
    return subprocess.run(['unshare', '-m', '-p', '-f', 'true'], capture_output=True, check=False).returncode == 0


def layer(cache):
    """The layer of packages for the sandbox, made once; '' where it cannot be made."""
    path = os.path.abspath(os.path.join(cache, 'layer'))
    upper, stamp = os.path.join(path, 'upper'), os.path.join(path, 'stamp')
    below = hashlib.sha256(PACKAGES.encode())  # a layer above another set of packages would undo that one
    if os.path.exists('/var/lib/dpkg/status'):
        with open('/var/lib/dpkg/status', 'rb') as f:
            below.update(f.read())
    if not os.path.exists(stamp) or open(stamp, encoding='utf-8').read() != below.hexdigest():
        shutil.rmtree(path, ignore_errors=True)
    if not os.path.exists(os.path.join(upper, 'usr/sbin/sshd')) and shutil.which('apt-get'):
        base = '/tmp/conformance-layer-%d' % os.getpid()
        os.mkdir(base)
        job = dict(build=path, sandbox=base)
        code, _ = run_one(job, os.path.join(cache, 'layer.log'), 600)
        os.rmdir(base)
        if code:
            print('conformance: the layer of packages could not be made, see layer.log', flush=True)
            shutil.rmtree(path, ignore_errors=True)
            return ''
        with open(stamp, 'w', encoding='utf-8') as f:
            f.write(below.hexdigest())
    return upper if os.path.exists(os.path.join(upper, 'usr/sbin/sshd')) else ''


def run_one(job, log, timeout, host=None):
    """Run job in a process (and system) of its own; the outcome is (status or None, seconds)."""
    self = [sys.executable, os.path.abspath(__file__), '--inside', json.dumps(job)]
    if host:
        self = host.command('python3', HOST + '/conformance.py', '--inside', json.dumps(job))
    elif job['sandbox']:
        self = ['unshare', '-m', '-p', '-f', '--kill-child'] + (['-n'] if job.get('ssh') else []) + self
    began = time.monotonic()
    with open(log, 'wb') as out:
        child = subprocess.Popen(self, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
    return code, time.monotonic() - began


# ---------------------------------------------------------------- a host that runs systemd, for those that need one
HOST = '/opt/conformance'  # where the host has the suite, the reference and the commands


class Host:
    """A throw-away host of volant-lab, prepared to be the controller and the target in one."""

    def __init__(self, lab, base):
        self.lab, self.dir = os.path.abspath(lab), base

    def command(self, *words):
        return [self.lab, 'exec', '--dir', self.dir, 'h1'] + list(words)

    def run(self, *words, **more):
        return subprocess.run(self.command(*words), check=True, **more)

    def __enter__(self):
        subprocess.run([self.lab, 'systemd', 'up', '--hosts', '1', '--dir', self.dir], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        subprocess.run([self.lab, 'down', '--dir', self.dir], check=False, capture_output=True)
        shutil.rmtree(self.dir, ignore_errors=True)

    def prepare(self, suite, reference, core, cache, shims):
        """Give the host what a controller needs; the facts of its reference."""
        out = self.run('python3', '-c', 'import sys; print("%d.%d" % sys.version_info[:2])', capture_output=True, text=True)
        version = out.stdout.strip()
        site = os.path.join(os.path.abspath(cache), 'host-python' + version)
        if not os.path.exists(os.path.join(site, 'ansible')):
            shutil.rmtree(site, ignore_errors=True)
            sh(os.path.join(reference, 'bin', 'pip'), 'install', '-q', '--disable-pip-version-check', '--python-version', version,
               '--only-binary=:all:', '--target', site, 'ansible-core==' + core, 'passlib', 'bcrypt')
        packages = '%s/venv/lib/python%s/site-packages' % (HOST, version)
        self.run('sh', '-c', 'mkdir -p %s && python3 -m venv --without-pip %s/venv' % (HOST, HOST))
        root = os.path.dirname(os.path.dirname(os.path.dirname(suite)))
        self.send(root, ['test/integration/targets', 'test/support/integration'], HOST)
        self.send(site, ['.'], packages)
        self.send(os.path.dirname(os.path.abspath(__file__)), ['conformance.py'], HOST)
        self.run('sh', '-c', 'cd %s/venv/bin && for f in %s/bin/ansible*; do { echo "#!%s/venv/bin/python"; tail -n +2 $f; } > ${f##*/}; '
                 'chmod 755 ${f##*/}; done; mkdir -p ~/.ssh' % (HOST, packages, HOST))
        if shims:
            volant = os.path.realpath(os.path.join(shims, 'ansible-playbook'))
            self.send(os.path.dirname(volant), [os.path.basename(volant)], HOST + '/bin')
            self.run(HOST + '/bin/' + os.path.basename(volant), 'shims', HOST + '/shims', stdout=subprocess.DEVNULL)
        return packages + '/ansible', [int(n) for n in version.split('.')]

    def send(self, folder, names, dest):
        tar = subprocess.Popen(['tar', '-C', folder, '-cf', '-'] + names, stdout=subprocess.PIPE)
        self.run('sh', '-c', 'mkdir -p %s && tar -C %s -xf -' % (dest, dest), stdin=tar.stdout)
        if tar.wait():
            raise RuntimeError('tar could not read ' + folder)


def run_booted(job, options, log):
    """Run job on a host of its own that runs systemd."""
    with Host(options.lab, job['work'] + '.lab') as host:
        package, version = host.prepare(job['suite'], job['reference'], job['core'], options.cache, job['bin'])
        inner = dict(job, sandbox='', ssh=False, suite=HOST + '/test/integration/targets', reference=HOST + '/venv', package=package,
                     version=version, bin=HOST + '/shims' if job['bin'] else '',
                     modules=HOST + '/test/support/integration/plugins/modules')
        return run_one(inner, log, options.timeout, host)


# ---------------------------------------------------------------- the score
def recaps(log):
    """The results counted in all recaps of a log: what two runs have in common that end at the same place."""
    with open(log, encoding='utf-8', errors='replace') as f:
        return [' '.join(line.split()) for line in f if re.match(r'\S+\s+: ok=\d+', line)]


def reason(log):
    """What a reader wants to see first of a log: its last failure, else its end."""
    with open(log, encoding='utf-8', errors='replace') as f:
        text = f.read()[-200000:]
    lines = text.splitlines()
    marks = [i for i, line in enumerate(lines) if re.match(r'fatal: |\[ERROR\]|ERROR|failed: |\+ exit 1|Traceback|AssertionError|panic:', line)]
    start = max(marks[-1] - 3, 0) if marks else max(len(lines) - 15, 0)
    return '\n'.join(lines[start:start + 40])[-TAIL:]


def skipped(target, options):
    if target.name in BOOTED:
        if options.lab and options.sandboxed:
            return ''
        return 'needs a host that runs systemd (root and volant-lab)'
    if ('needs/ssh' in target.aliases or target.name in REMOTE) and not options.layer:
        return 'needs an SSH server, and no throw-away system with one can be made here'
    if 'needs/httptester' in target.aliases:
        return 'needs a web server of ansible-test'
    if not options.sandboxed and ('destructive' in target.aliases or 'needs/root' in target.aliases or target.setups()):
        return 'changes the system, and no throw-away system can be made here'
    return ''


def table(score, known, core, suite):
    lines = ['# Conformance', '',
             "ansible-core %s's own integration targets, unmodified, run by `make conformance` with the commands of Volant first on" % core,
             'PATH, each in a throw-away system. Counted are the targets that ansible-core itself passes there. Of those that it does',
             'not (most want a network or a web server of its makers) `alike` ended after the very same results as ansible-core.',
             'ansible-core was run here on %d of the %d; the others are taken as passed by it.' % (
                 len([n for n in score if n in known]), len(score)), '']
    note = {'out': 'not counted: ansible-core does not pass it there', 'alike': 'alike: ends where ansible-core does'}
    parts = (('The language', LANGUAGE), ('Actions and modules', MODULES))
    lines += ['**All: %s**' % summary(score), '']
    for title, patterns in parts:
        names = [n for n in chosen(suite, patterns) if n in score]
        lines += ['## ' + title, '', '**%s**' % summary({n: score[n] for n in names}), '', '| target | outcome |', '|---|---|']
        for name in sorted(names):
            entry = score[name]
            outcome = note.get(entry['outcome'], entry['outcome'])
            if entry['outcome'] == 'later':
                outcome = 'later: brings ' + ', '.join('`%s`' % p for p in shown(entry['plugins']))
            elif entry['outcome'] in ('skipped', 'differs'):
                outcome += ': ' + entry['reason']
            lines.append('| %s | %s |' % (name, outcome))
        lines.append('')
    return '\n'.join(lines)


def shown(plugins):
    """Names of plugins, the first few."""
    names = [p if p.startswith('ansible.') else '/'.join(p.split(os.sep)[-2:]) for p in plugins]
    return names[:3] + (['...'] if len(names) > 3 else [])


def summary(score):
    count = {}
    for entry in score.values():
        count[entry['outcome']] = count.get(entry['outcome'], 0) + 1
    text = '%d passed, %d failed, %d later' % tuple(count.get(k, 0) for k in ('passed', 'failed', 'later'))
    return text + ''.join(', %d %s' % (count[k], k) for k in ('differs', 'alike', 'skipped', 'out') if k in count)


def load(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding='utf-8') as f:
        return json.load(f)


def save(path, value):
    with open(path + '.new', 'w', encoding='utf-8') as f:
        json.dump(value, f, indent=1, sort_keys=True)
        f.write('\n')
    os.replace(path + '.new', path)


def chosen(suite, patterns):
    names = sorted(os.listdir(suite))
    out = []
    for pattern in patterns:
        out += [n for n in names if fnmatch.fnmatchcase(n, pattern) and n not in out]
    return out


def facts(reference):
    """Where the reference's package lies, its release and its Python's version."""
    code = ('import json, sys, os, ansible, ansible.release as r; '
            'print(json.dumps([os.path.dirname(ansible.__file__), r.__version__, sys.version_info[:2]]))')
    out = subprocess.run([os.path.join(reference, 'bin', 'python'), '-c', code], check=True, capture_output=True)
    return json.loads(out.stdout)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == '--inside':
        job = json.loads(sys.argv[2])
        return build(job) if 'build' in job else enter(job) if job['sandbox'] else run_inside(job)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--suite', required=True)
    parser.add_argument('--reference', required=True)
    parser.add_argument('--bin')
    parser.add_argument('--cache', default='.cache/conformance')
    parser.add_argument('--doc')
    parser.add_argument('--timeout', type=float, default=300)
    parser.add_argument('--no-sandbox', action='store_true')
    parser.add_argument('--lab')
    parser.add_argument('--missing', action='store_true')
    parser.add_argument('--fast', action='store_true')
    parser.add_argument('target', nargs='*')
    options = parser.parse_args()
    suite = os.path.abspath(os.path.join(options.suite, 'test', 'integration', 'targets'))
    if not os.path.isdir(suite):
        parser.error('%s holds no integration targets' % options.suite)
    reference = os.path.abspath(options.reference)
    package, core, version = facts(reference)
    options.sandboxed = can_sandbox() and not options.no_sandbox and not options.fast
    os.makedirs(options.cache, exist_ok=True)
    options.layer = layer(options.cache) if options.sandboxed else ''
    known_path = os.path.join(options.cache, 'reference.json')
    score_path = os.path.join(options.cache, 'score.json')
    known, score = load(known_path), load(score_path)
    logs = os.path.abspath(os.path.join(options.cache, 'logs' if options.bin else 'reference-logs'))
    os.makedirs(logs, exist_ok=True)
    names = chosen(suite, options.target or (FAST if options.fast else LANGUAGE + MODULES))
    if options.missing:
        names = [n for n in names if n not in (score if options.bin else known)]
    fell, ran = False, {}
    for name in names:
        target = Target(suite, name)
        log = os.path.join(logs, name + '.log')
        work = '/tmp/conformance-%d-%s' % (os.getpid(), name)
        job = dict(target=name, suite=suite, reference=reference, bin=os.path.abspath(options.bin) if options.bin else '',
                   package=package, core=core, version=version, work=work, fast=options.fast, sandbox=work + '.system' if options.sandboxed else '',
                   layer=options.layer, ssh='needs/ssh' in target.aliases or name in REMOTE,
                   modules=os.path.join(os.path.dirname(os.path.dirname(suite)), 'support', 'integration', 'plugins', 'modules'))
        before = score.get(name, {}).get('outcome')
        why, code, seconds = skipped(target, options), 0, 0.0
        theirs = known.get(name, {})
        if options.bin and not why and theirs.get('outcome') == 'skipped':
            entry = dict(outcome='out', reason=theirs.get('reason', ''))
        elif why:
            entry = dict(outcome='skipped', reason=why)
        else:
            if job['sandbox']:
                os.mkdir(job['sandbox'])
            else:
                os.mkdir(work)
            try:
                if name in BOOTED:
                    code, seconds = run_booted(job, options, log)
                else:
                    code, seconds = run_one(job, log, options.timeout)
            finally:
                shutil.rmtree(job['sandbox'] or work, ignore_errors=True)
            plugins = target.plugins()
            if code == 0:
                entry = dict(outcome='passed')
            elif code is None:
                entry = dict(outcome='failed', reason='no end after %g s\n%s' % (options.timeout, reason(log)))
            else:
                entry = dict(outcome='failed', reason=reason(log))
            if options.bin and entry['outcome'] == 'failed':
                if theirs.get('outcome') == 'failed':
                    entry['outcome'] = 'alike' if theirs.get('recaps') and theirs['recaps'] == recaps(log) else 'out'
                elif name in DIFFERS:
                    entry.update(outcome='differs', log=entry['reason'], reason=DIFFERS[name])
                elif plugins:
                    entry.update(outcome='later', plugins=plugins)
            if not options.bin:
                entry['recaps'] = recaps(log)
            entry['seconds'] = round(seconds, 1)
        fell = fell or (before == 'passed' and entry['outcome'] not in ('passed', 'skipped')) or (
            options.fast and entry['outcome'] not in ('passed', 'skipped'))
        print('%-34s %s%s' % (name, entry['outcome'], '' if entry['outcome'] in ('passed', 'out') else
                              '  ' + (entry.get('reason') or '').strip().replace('\n', ' | ')[:160]), flush=True)
        mine, path = (score, score_path) if options.bin else (known, known_path)
        ran[name] = entry
        if options.fast:
            continue
        if not options.bin and code is None:  # a slow machine says nothing about the target
            continue
        mine[name] = entry
        save(path, {**load(path), name: entry})
    print(summary(ran))
    if options.doc and options.bin and not options.fast:
        with open(options.doc, 'w', encoding='utf-8') as f:
            f.write(table({n: e for n, e in score.items() if n in chosen(suite, LANGUAGE + MODULES)}, known, core, suite))
    return 1 if fell else 0


if __name__ == '__main__':
    sys.exit(main())
