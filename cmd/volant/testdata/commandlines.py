"""Prints command lines that ansible-core's commands refuse, with what they say, as JSON lines.

Arguments: how many, and the seed of the generator.
"""
import argparse
import contextlib
import io
import json
import os
import random
import sys

count, rnd = int(sys.argv[1]), random.Random(int(sys.argv[2]))
sys.argv = ['commandlines']
import tempfile
_config = tempfile.NamedTemporaryFile(suffix='.cfg')
os.environ.update(ANSIBLE_NOCOLOR='1', COLUMNS='80', ANSIBLE_DEPRECATION_WARNINGS='0', ANSIBLE_CONFIG=_config.name)

from ansible.cli.adhoc import AdHocCLI
from ansible.cli.config import ConfigCLI
from ansible.cli.doc import DocCLI
from ansible.cli.inventory import InventoryCLI
from ansible.cli.playbook import PlaybookCLI
from ansible.cli.vault import VaultCLI

commands = dict(playbook=PlaybookCLI, adhoc=AdHocCLI, inventory=InventoryCLI, config=ConfigCLI, doc=DocCLI, vault=VaultCLI)
values = ['x', '5', '-1', '', 'a b', '-a b', '--', 'a=b', '=', '@f', '-', '1_0', ' 7 ', '0x1', 'é', 'yaml', 'json', 'all', 'module',
          'list', 'create', 'view', 'encrypt_string', 'nope.yml', '--nope', '-Z', '-vvZ', '--ask', '--vault-p', '--pri', '-vvv', '-vk',
          '--check=1', '-C1', '-f5', '-fx', '-i=', '-ea=b', '--verbose', '-h1', '-f-1', '--forks=0']


def words(parser):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield name
                yield from words(below)
        else:
            yield from action.option_strings


def refusal(make, args):
    cli = make([make.name, *args])
    cli.init_parser()
    err = io.StringIO()
    try:
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
            cli.post_process_args(cli.parser.parse_args(args))
    except SystemExit as stop:
        return err.getvalue() if stop.code else None
    except Exception:
        pass
    return None


while count:
    name = rnd.choice(list(commands))
    parser = commands[name]([commands[name].name])
    parser.init_parser()
    known, args = list(words(parser.parser)), []
    for _ in range(rnd.choice([0, 1, 1, 2, 2, 3, 4])):
        if rnd.random() < .6:
            word = rnd.choice(known)
            if word.startswith('--') and rnd.random() < .3:
                word = word[:rnd.randint(3, len(word))]
            args.append(word + '=' + rnd.choice(values) if rnd.random() < .25 else word)
            if rnd.random() < .3:
                args.append(rnd.choice(values))
        else:
            args.append(rnd.choice(values))
    if text := refusal(commands[name], args):
        print(json.dumps(dict(command=name, args=args, error=text)))
        count -= 1
