# The warm Python server: it imports what every module imports once, then forks
# a child per sub-task. Its parent passes requests over the socket on fd 3 and
# the child's standard streams as descriptors with each; it answers with one
# JSON line per event. Usage: server.py BASE_DIR IDLE_SECONDS. Python 3.7+.
#
#   parent                     server                        child
#   request + 3 fds  ------->  fork  ----------------------> runs the module
#                    <-------  {"id", "pid"}                 writes to the fds
#                    <-------  {"id", "status"}  <---------- exits
#
# Where a sub-task is likely to be followed by another one like it, its child is
# forked ahead, while nothing waits for it: it gets the request over a socket of
# its own, and says its status there before it exits.

import atexit
import gc
import io
import json
import locale
import marshal
import os
import select
import signal
import socket
import struct
import sys
import threading
import time

CONTROL_FD = 3
MAX_REQUEST = 256 << 20
MAX_CODE = 512

# Standard modules worth importing once when a module's code names them: all
# without side effects. Names that are only attributes do no harm.
STDLIB = frozenset('''
ast base64 binascii bz2 calendar cgi cmd codecs collections collections.abc configparser contextlib copy csv
ctypes ctypes.util datetime decimal difflib email.mime.text email.utils enum errno fcntl filecmp fnmatch
functools getpass glob grp gzip hashlib hmac html http.client http.cookiejar inspect io ipaddress itertools json
locale logging lzma math mimetypes multiprocessing netrc ntpath operator os os.path pathlib pipes platform
posixpath pprint pty pwd queue random re select selectors shlex shutil signal smtplib socket sqlite3 ssl stat
string struct subprocess syslog tarfile tempfile textwrap threading time traceback types typing urllib
urllib.error urllib.parse urllib.request uuid warnings xml.etree.ElementTree zipfile zlib
'''.split())

PRELOAD = (
    'ansible.module_utils.basic',
    'ansible.module_utils._internal._ansiballz._loader',
    'ansible.module_utils._internal._ansiballz',
    'ansible.module_utils._internal._json._profiles._module_legacy_c2m',
    'ansible.module_utils._internal._json._profiles._module_legacy_m2c',
    'runpy',
)


def try_import(name):
    try:
        __import__(name)
        return True
    except Exception:
        return False


def package_dirs():
    """The directories whose change means that something was installed, and what an import found may be out of date."""
    seen = {}
    for entry in sys.path:
        if entry.endswith(('site-packages', 'dist-packages')):
            try:
                seen[entry] = os.stat(entry).st_mtime_ns
            except OSError:
                seen[entry] = None
    return seen


class Quiet(object):
    """Stands in for the syslog module while the server rehearses."""
    LOG_USER = LOG_INFO = 0

    def openlog(self, *unused):
        pass

    syslog = openlog


def rehearse():
    """Goes once through what every module does at its start and end, so that children find caches filled, code
    specialised and lazy imports done instead of doing each anew. The state it leaves is put back."""
    import ansible.module_utils.basic as basic
    names = ('_ANSIBLE_ARGS', '_ANSIBLE_PROFILE', '_PARSED_MODULE_ARGS', 'syslog', 'has_journal')
    saved = dict((n, getattr(basic, n)) for n in names if hasattr(basic, n))
    environ, stdout, was = dict(os.environ), sys.stdout, locale.setlocale(locale.LC_ALL)
    os.environ['LC_ALL'] = 'C'
    try:
        for unused in range(8):  # as often as the interpreter wants before it specialises code
            basic._ANSIBLE_ARGS = json.dumps({'ANSIBLE_MODULE_ARGS': {
                'text': 'a', 'number': '1', 'flag': 'yes', 'list': 'a,b', 'sub': {'text': 'b'}, 'mode': '0644',
                '_ansible_check_mode': False, '_ansible_no_log': False, '_ansible_diff': False, '_ansible_verbosity': 0,
            }}).encode()
            if '_ANSIBLE_PROFILE' in saved:
                basic._ANSIBLE_PROFILE = 'legacy'
            if 'syslog' in saved:
                basic.syslog = Quiet()
            basic.has_journal = False
            sys.stdout = io.StringIO()
            try:
                basic.AnsibleModule(
                    argument_spec=dict(
                        text=dict(type='str', choices=['a', 'b'], aliases=['name']), number=dict(type='int', default=3),
                        flag=dict(type='bool', default=False), list=dict(type='list', elements='str'),
                        sub=dict(type='dict', options=dict(text=dict(type='str', required=True))), path=dict(type='path'),
                        secret=dict(type='str', no_log=True)),
                    supports_check_mode=True, add_file_common_args=True, required_one_of=[['text', 'path']],
                ).exit_json(changed=False, rc=0, stdout='a', list=['a', 1, None, True, {'b': 1.5}])
            except SystemExit:
                pass
    except Exception:
        pass  # another core, which wants it otherwise: children are slower
    finally:
        for name, val in saved.items():
            setattr(basic, name, val)
        sys.stdout = stdout
        os.environ.clear()
        os.environ.update(environ)
        locale.setlocale(locale.LC_ALL, was)


def fill(keep):
    """Takes up the room between the objects that are there, so that what a child makes lies together in pages of its
    own: a page that it shares with the server is copied at the first touch."""
    if sys.implementation.name != 'cpython' or sys.maxsize < 2**32 or 't' in getattr(sys, 'abiflags', ''):
        return  # of other sizes, or with another allocator: it would only take up memory
    pool = (16 << 10) if sys.version_info >= (3, 10) else (4 << 10)
    makers = {16: object, 32: lambda: int('2147483648')}
    for size in range(16, 513, 16):
        make = makers.get(size) or (lambda n=size - sys.getsizeof(b''): bytes(n))
        for unused in range(8192):
            it = make()
            keep.append(it)
            if id(it) % pool == 48:  # the first of an untouched pool
                break


def receive(sock):
    """One message with its descriptors; None when the other side is gone."""
    head, fds = b'', []
    while len(head) < 4:
        data, ancillary, _flags, _addr = sock.recvmsg(4 - len(head), socket.CMSG_SPACE(3 * 4))
        for level, kind, raw in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds += struct.unpack('%di' % (len(raw) // 4), raw[:len(raw) // 4 * 4])
        if not data:
            return None
        head += data
    size, = struct.unpack('>I', head)
    if size > MAX_REQUEST:
        return None
    body = bytearray(size)
    view = memoryview(body)
    while size:
        n = sock.recv_into(view, size)
        if not n:
            return None
        view, size = view[n:], size - n
    return body, fds


class Ahead(object):
    """A child that waits for its request: forked while the server had that code and environment."""

    def __init__(self, pid, sock, code, environ):
        self.pid, self.sock, self.code, self.environ = pid, sock, code, environ

    def hand(self, req, fds):
        """Gives it its request; False when it is not there any more, or the request would make the server wait."""
        body = marshal.dumps(req)
        if len(body) > 64 << 10:
            return False
        try:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return False
            self.sock.sendmsg([struct.pack('>I', len(body)), body],
                              [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack('3i', *fds))])
            return True
        except (OSError, ValueError):
            return False


class Server(object):
    def __init__(self, control, base, idle):
        self.control = control
        self.environ = None  # that of the last request
        self.keep = []
        self.streams = streams()
        self.base = base
        self.idle = idle
        self.children = {}  # pid -> (request id, start)
        self.code = {}  # path -> code object
        self.ahead = None  # the child forked ahead
        self.telling = {}  # descriptor of its socket -> (socket, pid): children that say their status
        self.poll = select.poll()
        self.wake_r, self.wake_w = os.pipe()
        for fd in (self.wake_r, self.wake_w):
            os.set_blocking(fd, False)
        self.last = time.monotonic()
        self.packages = package_dirs()

    def send(self, **event):
        try:
            self.control.sendall(json.dumps(event).encode() + b'\n')
        except OSError:
            pass  # the parent is gone: the next read says so

    def load(self, path, fqn):
        """The module's code, compiled once; None lets the child fail as it would have."""
        code = self.code.get(path)
        if code is None:
            from importlib.machinery import SourceFileLoader
            try:
                loader = SourceFileLoader(fqn, path)
                # The core knows who deprecates something by its file's place in the package.
                place = os.path.join(self.base, *fqn.split('.')) + '.py' if fqn.startswith('ansible.') else path
                code = loader.source_to_code(loader.get_data(path), place)
            except Exception:
                return None
            if len(self.code) >= MAX_CODE:
                self.code = {}
            self.code[path] = code
            self.warm(code)
        return code

    def warm(self, code):
        """Imports in the server what the code will import, where that is the core's or harmless."""
        for name in code.co_names:
            if name in sys.modules:
                continue
            if name in STDLIB:
                try_import(name)
            elif name.startswith('ansible.module_utils.'):
                path = os.path.join(self.base, *name.split('.'))
                if os.path.exists(path + '.py') or os.path.exists(os.path.join(path, '__init__.py')):
                    try_import(name)
        self.settle()

    def settle(self):
        """Makes what was imported cheap to share."""
        gc.collect()
        fill(self.keep)
        gc.freeze()

    def surround(self, env):
        """The server takes on the environment and locale of its children: they inherit both."""
        if env == self.environ:
            return
        self.environ = None  # until all of it is in place
        wanted = env
        env = dict((os.fsencode(k), os.fsencode(v)) for k, v in env)
        tz = os.environ.get('TZ')
        for key in list(os.environb):
            if key not in env:
                del os.environb[key]
        for key, val in env.items():
            if os.environb.get(key) != val:
                os.environb[key] = val
        if os.environ.get('TZ') != tz:
            time.tzset()
        try:
            locale.setlocale(locale.LC_ALL, '')
        except locale.Error:
            pass  # the module finds out
        self.environ = wanted

    def over(self, pid, rc):
        """Says how a child ended, once."""
        child = self.children.pop(pid, None)
        if child is not None:
            self.send(id=child[0], status=rc, work=time.monotonic() - child[1])
            self.last = time.monotonic()

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if self.ahead is not None and self.ahead.pid == pid:
                self.dismiss()
            if os.WIFSIGNALED(status):
                rc = 128 + os.WTERMSIG(status)
            else:
                rc = os.WEXITSTATUS(status)
            self.over(pid, rc)
            for fd, (_sock, whose) in list(self.telling.items()):
                if whose == pid:  # what it left behind may hold the other end
                    self.told(fd)

    def told(self, fd):
        """What a child says on its socket: its status, as it is about to exit, or nothing, when it was killed."""
        sock, pid = self.telling.pop(fd)
        self.poll.unregister(fd)
        try:
            said = sock.recv(1, socket.MSG_DONTWAIT)
        except OSError:
            said = b''
        sock.close()
        if said:
            self.over(pid, said[0])

    def spawn(self, req, fds):
        self.last = time.monotonic()
        if package_dirs() != self.packages:
            self.send(id=req['id'], stale=True)
            return
        code = None
        if not req.get('isolate'):
            code = self.load(req['path'], req['fqn'])
        env, ahead = req.pop('env'), self.ahead
        if ahead is not None and code is not None and ahead.code.get(req['path']) is code and ahead.environ == env:
            self.ahead = None
            if ahead.hand(req, fds):
                self.children[ahead.pid] = (req['id'], self.last)
                self.telling[ahead.sock.fileno()] = (ahead.sock, ahead.pid)
                self.poll.register(ahead.sock.fileno(), select.POLLIN)
                self.send(id=req['id'], pid=ahead.pid)
                return
            ahead.sock.close()
        try:
            self.surround(env)
            start = time.monotonic()
            pid = os.fork()
        except (OSError, ValueError) as ex:  # of surround: a variable that the system does not take
            self.send(id=req['id'], error=str(ex))
            return
        if pid:
            self.children[pid] = (req['id'], start)
            self.send(id=req['id'], pid=pid)
            return
        status = 1
        try:
            self.become_child()
            status = self.child(req, code, fds)
        finally:
            os._exit(status & 0xff)

    def prepare(self):
        """Forks a child ahead, like the last one, where none waits that is."""
        if not self.code or self.environ is None:
            return
        if self.ahead is not None:
            if len(self.ahead.code) == len(self.code) and self.ahead.environ == self.environ:
                return
            self.dismiss()
        ours, theirs = socket.socketpair()
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            theirs.close()
            return
        if pid:
            theirs.close()
            self.ahead = Ahead(pid, ours, dict(self.code), self.environ)
            return
        status = 1
        try:
            ours.close()
            self.become_child()
            own = os.getpid()
            got = receive(theirs)
            if got is None:
                os._exit(0)  # dismissed
            req, fds = marshal.loads(got[0]), got[1]
            status = self.child(req, self.code.get(req['path']), fds)
            if os.getpid() == own:  # not what the module forked, which leaves by the same way
                for fd in (0, 1, 2):
                    os.close(fd)
                theirs.send(bytes([status & 0xff]))
        finally:
            os._exit(status & 0xff)

    def dismiss(self):
        """Lets the child that was forked ahead go: its socket ends."""
        self.ahead.sock.close()
        self.ahead = None

    def child(self, req, code, fds):
        """The module, in the child."""
        try:
            for want, have in enumerate(fds):
                os.dup2(have, want)
            for have in fds:
                os.close(have)
            sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__ = self.streams
            return run(req, code, self.base)
        except BaseException:
            try:
                import traceback
                traceback.print_exc()
                sys.stderr.flush()
            except BaseException:
                pass
            return 1

    def become_child(self):
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setpgid(0, 0)
        self.control.close()
        os.close(self.wake_r)
        os.close(self.wake_w)
        for sock, _pid in self.telling.values():
            sock.close()
        if self.ahead is not None:
            self.ahead.sock.close()

    def serve(self):
        signal.set_wakeup_fd(self.wake_w)
        signal.signal(signal.SIGCHLD, lambda *unused: None)
        self.poll.register(self.control.fileno(), select.POLLIN)
        self.poll.register(self.wake_r, select.POLLIN)
        while True:
            for fd, _event in self.poll.poll(30000):
                if fd in self.telling:
                    self.told(fd)
                    continue
                if fd == self.wake_r:
                    try:
                        os.read(self.wake_r, 4096)
                    except BlockingIOError:
                        pass
                    continue
                if fd != self.control.fileno():
                    continue
                got = receive(self.control)
                if got is None:
                    return  # children go on: whoever asked has gone, they have not
                req, fds = json.loads(got[0].decode()), got[1]
                try:
                    if len(fds) == 3:
                        self.spawn(req, fds)
                    else:
                        self.send(id=req['id'], error='descriptors did not arrive')
                finally:
                    for have in fds:
                        os.close(have)
            self.reap()
            if self.children:
                continue
            if time.monotonic() - self.last > self.idle:
                return
            if not self.poll.poll(0):
                self.prepare()


def streams():
    """The standard streams of a child, made before it is there: they are what its descriptors 0 to 2 will be."""
    return (
        io.TextIOWrapper(open(0, 'rb', closefd=False), encoding='utf-8', errors='surrogateescape'),
        io.TextIOWrapper(open(1, 'wb', closefd=False), encoding='utf-8', errors='surrogateescape'),
        io.TextIOWrapper(open(2, 'wb', closefd=False), encoding='utf-8', errors='backslashreplace', line_buffering=True),
    )


def surroundings(req):
    """Umask, working directory and limits of the sub-task."""
    if req['umask'] >= 0:
        os.umask(req['umask'])
    for cwd in (req['cwd'] or os.path.expanduser('~'), '/'):
        try:
            os.chdir(cwd)
            break
        except OSError:
            pass
    if req['memory'] or req['nofile']:
        import resource
        if req['memory']:
            resource.setrlimit(resource.RLIMIT_AS, (req['memory'], req['memory']))
        if req['nofile']:
            _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, req['nofile']), hard))
            except ValueError:
                pass


def search_path(req, base):
    """The module's own files first, then the core's, then what the environment adds."""
    extra = req['extra']
    added = [p for p in os.environ.get('PYTHONPATH', '').split(os.pathsep) if p and p not in sys.path]
    sys.path[:0] = [extra] + added
    if req.get('isolate'):
        # The module brings files of its own in place of the core's: nothing imported before may stay.
        for name in list(sys.modules):
            if name == 'ansible' or name.startswith('ansible.'):
                del sys.modules[name]
        return
    for name in req['packages']:
        package = sys.modules.get(name)
        if package is not None:
            package.__path__.insert(0, os.path.join(extra, *name.split('.')))


def run(req, code, base):
    surroundings(req)
    search_path(req, base)
    sys.argv = [req['path']]
    gc.enable()
    status = 0
    try:
        main(req, code)
    except SystemExit as ex:
        status = exit_status(ex)
    except BaseException:
        import traceback
        traceback.print_exc()
        status = 1
    finish()
    return status


def exit_status(ex):
    if ex.code is None:
        return 0
    if isinstance(ex.code, int):
        return ex.code
    sys.stderr.write('%s\n' % (ex.code,))
    return 1


def finish():
    """What an interpreter does before it goes, without tearing down what the server imported."""
    try:
        threading._shutdown()
    except BaseException:
        pass
    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass


def main(req, code):
    args = req['args'].encode()
    import ansible.module_utils.basic as basic
    basic._ANSIBLE_ARGS = args
    if hasattr(basic, '_ANSIBLE_PROFILE'):
        basic._ANSIBLE_PROFILE = 'legacy'
    extra, fqn, path = req['extra'], req['fqn'], req['path']
    if code is None:
        loader = None
        try:
            from ansible.module_utils._internal._ansiballz import _loader as loader
        except ImportError:
            pass
        if loader is not None:
            loader.run_module(json_params=args, profile='legacy', module_fqn=fqn, modlib_path=extra, extensions={})
            return
        import runpy
        runpy.run_module(mod_name=fqn, init_globals=dict(_module_fqn=fqn, _modlib_path=extra), run_name='__main__', alter_sys=True)
        return
    try:
        execute(code, fqn, path, extra)
        if hasattr(basic, '_ANSIBLE_PROFILE'):
            raise RuntimeError('New-style module did not handle its own exit.')
    except Exception as ex:
        loader = sys.modules.get('ansible.module_utils._internal._ansiballz._loader')  # imported at the start where there is one
        if loader is None:
            raise
        loader._handle_exception(ex, 'legacy')


def execute(code, fqn, path, extra):
    """Runs code as __main__ the way `python -m` would, so that a module that respawns itself finds its source."""
    from importlib.machinery import ModuleSpec, SourceFileLoader
    import types
    loader = SourceFileLoader(fqn, path)
    spec = ModuleSpec(fqn, loader, origin=path)
    spec.has_location = True
    module = types.ModuleType('__main__')
    module.__dict__.update(
        __file__=path, __loader__=loader, __spec__=spec, __cached__=None,
        __package__=fqn.rpartition('.')[0], __doc__=None, __builtins__=__builtins__,
        _module_fqn=fqn, _modlib_path=extra,
    )
    sys.modules['__main__'] = module
    exec(code, module.__dict__)


def start():
    base, idle = sys.argv[1], float(sys.argv[2])
    control = socket.socket(fileno=CONTROL_FD)
    os.set_inheritable(CONTROL_FD, False)
    here = os.path.dirname(os.path.realpath(__file__))
    sys.path = [p for p in sys.path if p not in ('', '.', here)]
    sys.path.insert(0, base)
    gc.disable()
    for name in PRELOAD:
        if not try_import(name) and name == PRELOAD[0]:
            __import__(name)  # the reason, on stderr
    rehearse()
    server = Server(control, base, idle)
    server.settle()
    server.send(ready=True, version='%d.%d.%d' % sys.version_info[:3], executable=sys.executable)
    server.serve()


if __name__ == '__main__':
    start()
