

# Action plugins: ansible-core's own ActionBase, whose ways to the host are the
# controller's link to it.

def bridge(channel):
    """Makes the classes that action plugins work with."""
    from ansible.errors import AnsibleActionFail, AnsibleActionSkip
    from ansible.playbook.play_context import PlayContext
    from ansible.playbook.task import Task
    from ansible.plugins.action import ActionBase
    from ansible.plugins.connection import ConnectionBase

    class Connection(ConnectionBase):
        transport = 'ssh'
        has_pipelining = True
        has_tty = False

        def __init__(self, play_context, transport):
            # ConnectionBase's own wants a connection plugin's options.
            self.transport = transport
            self._load_name = transport
            self._play_context = play_context
            self._connected = True
            self._shell = loading.shell_loader.get('sh')
            self._shell.set_options()
            self.become = None
            self.variables = {}

        def get_option(self, option, hostvars=None):
            found = {'remote_user': self._play_context.remote_user, 'host': self._play_context.remote_addr,
                     'remote_addr': self._play_context.remote_addr, 'port': self._play_context.port,
                     'private_key_file': self._play_context.private_key_file, 'pipelining': True}
            if option not in found:
                raise KeyError(option)
            return found[option]

        def has_option(self, option):
            return option in ('remote_user', 'host', 'remote_addr', 'port', 'private_key_file', 'pipelining')

        def set_options(self, *args, **kwargs):
            pass

        def _connect(self):
            return self

        def exec_command(self, cmd, in_data=None, sudoable=True):
            if in_data:
                raise AnsibleError('A command of an action plugin cannot be given standard input here.')
            if isinstance(cmd, bytes):
                cmd = cmd.decode('utf-8', 'surrogateescape')
            got = channel.ask('raw', cmd=cmd)
            return got['rc'], str(got['stdout']).encode('utf-8', 'surrogateescape'), str(got['stderr']).encode('utf-8', 'surrogateescape')

        def put_file(self, in_path, out_path):
            channel.ask('put', path=os.path.abspath(os.fsdecode(in_path)), dest=os.fsdecode(out_path))

        def fetch_file(self, in_path, out_path):
            channel.ask('get', path=os.fsdecode(in_path), dest=os.path.abspath(os.fsdecode(out_path)))

        def reset(self):
            channel.ask('reset')

        def close(self):
            pass

    own = {'module': ActionBase._execute_module, 'find': ActionBase._find_needle}

    def execute_module(self, module_name=None, module_args=None, tmp=None, task_vars=None, persist_files=False,
                       delete_remote_tmp=None, wrap_async=False, **kwargs):
        if not isinstance(self._connection, Connection):  # a plugin that made a connection of its own, such as local
            return own['module'](self, module_name=module_name, module_args=module_args, tmp=tmp, task_vars=task_vars,
                                 persist_files=persist_files, delete_remote_tmp=delete_remote_tmp, wrap_async=wrap_async, **kwargs)
        args = self._task.args if module_args is None else module_args
        if kwargs.get('ignore_unknown_opts'):  # ActionBase's own stat asks for what only win_stat knows
            args = {k: v for k, v in args.items() if k != 'get_size'}
        return channel.ask('module', name=module_name or self._task.action, args=encode(args), background=bool(wrap_async))

    def low_level(self, cmd, sudoable=True, in_data=None, executable=None, encoding_errors=None, chdir=None):
        if not isinstance(self._connection, Connection):
            rc, out, err = self._connection.exec_command(cmd, in_data=in_data, sudoable=sudoable)
        else:
            if chdir:
                cmd = self._connection._shell.append_command('cd %s' % chdir, cmd)
            got = channel.ask('raw', cmd=cmd, executable=executable or '')
            rc, out, err = got['rc'], got['stdout'], got['stderr']
        out, err = text(out), text(err)
        return dict(rc=rc, stdout=out, stdout_lines=out.splitlines(), stderr=err, stderr_lines=err.splitlines())

    def text(v):
        return v.decode('utf-8', 'replace') if isinstance(v, bytes) else v

    def find_needle(self, dirname, needle):
        return channel.ask('find', dir=dirname, name=needle)

    ActionBase._execute_module = execute_module
    ActionBase._low_level_execute_command = low_level
    ActionBase._find_needle = find_needle
    ActionBase._fixup_perms2 = lambda self, remote_paths, remote_user=None, execute=True: remote_paths
    ActionBase._is_become_unprivileged = lambda self: False
    ActionBase._get_remote_user = lambda self: self._play_context.remote_user

    def play_context(said):
        pc = PlayContext()
        pc.remote_addr, pc.remote_user, pc.port = said['remote_addr'], said['remote_user'] or None, said['port']
        pc.private_key_file, pc.connection = said['private_key_file'] or None, said['connection']
        pc.become, pc.become_user, pc.become_method = said['become'], said['become_user'] or None, said['become_method'] or None
        pc.check_mode, pc.diff, pc.verbosity = said['check'], said['diff'], said['verbosity']
        pc.no_log, pc.timeout = said['no_log'], 10
        return pc

    def task(said, args):
        t = Task()
        t.action, t.args, t.name = said['action'], args, said['name'] or None
        t.async_val, t.poll = said['async'], said['poll']
        t.check_mode, t.diff, t.no_log = said['check'], said['diff'], said['no_log']
        t.become, t.become_user, t.become_method = said['become'], said['become_user'] or None, said['become_method'] or None
        t.delegate_to, t.connection, t.environment = said['delegate_to'] or None, said['connection'], []
        t.remote_user, t.vars = said['remote_user'] or None, {}
        return t

    def run(helper, frame):
        said, args = frame['task'], decode(frame['args'])
        variables = Vars(channel)
        loader = helper.files()
        loader.set_basedir(frame['basedir'])
        pc = play_context(said)
        connection = Connection(pc, said['connection'])
        templar = Templar(loader=loader, variables=variables)
        action = loading.action_loader.get(frame['name'], task=task(said, args), connection=connection, play_context=pc,
                                           loader=loader, templar=templar, shared_loader_obj=loading)
        if action is None:
            raise AnsibleError('The action plugin %r was not found.' % frame['name'])
        Display().verbosity = said['verbosity']
        try:
            return {'result': action.run(task_vars=variables)}
        except AnsibleActionSkip as ex:
            return {'skip': report(ex)[0]['msg'], 'result': getattr(ex, 'result', None) or {}}
        except AnsibleActionFail as ex:
            return {'fail': report(ex), 'during': bool(ex.__context__ and not ex.__cause__),
                    'result': getattr(ex, 'result', None) or {}}
        finally:
            action.cleanup()

    return run


def start():
    try:
        main()
    except (Gone, KeyboardInterrupt):
        pass


start()
