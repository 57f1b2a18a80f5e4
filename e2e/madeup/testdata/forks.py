"""Runs ansible-playbook in forks of a Python that has imported what it needs.

One JSON request a line on stdin ({dir, argv, out, err, timeout}), one exit code a line on stdout.
"""
import json
import os
import signal
import sys
import time

import ansible.cli.playbook  # noqa: F401  the costly part
import ansible.executor.playbook_executor  # noqa: F401
import ansible.executor.task_queue_manager  # noqa: F401
import ansible.plugins.strategy.linear  # noqa: F401
import ansible.plugins.callback.default  # noqa: F401
import ansible._internal._templating._engine  # noqa: F401


def child(req):
    os.setsid()
    os.chdir(req['dir'])
    null = os.open('/dev/null', os.O_RDONLY)
    out = os.open(req['out'], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    err = os.open(req['err'], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(null, 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.environ['PWD'] = req['dir']
    from ansible.cli.playbook import PlaybookCLI
    PlaybookCLI.cli_executor(req['argv'])


def main():
    answers = os.fdopen(os.dup(1), 'w', buffering=1)
    for line in sys.stdin:
        req = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = 255
            try:
                child(req)
                code = 0
            except SystemExit as ex:
                code = ex.code if isinstance(ex.code, int) else 0 if ex.code is None else 1
            finally:
                try:
                    sys.stdout.flush()
                    sys.stderr.flush()
                finally:
                    os._exit(code)
        end, code = time.time() + req['timeout'], None
        while code is None:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
            elif time.time() > end:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                code = -999
            else:
                time.sleep(0.003)
        answers.write('%d\n' % code)


main()
