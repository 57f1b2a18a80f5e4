"""Renders templates with ansible-core's own templar: one JSON object a line in, one a line out."""
import json
import os
import sys
import time

os.environ['TZ'] = 'UTC'
time.tzset()

from ansible._internal._datatag._tags import TrustedAsTemplate
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible.utils.display import Display

Display.warning = lambda *a, **k: None
Display.deprecated = lambda *a, **k: None
trusted = TrustedAsTemplate()


def trust(v):
    if isinstance(v, str):
        return trusted.tag(v)
    if isinstance(v, list):
        return [trust(x) for x in v]
    if isinstance(v, dict):
        return {trust(k): trust(x) for k, x in v.items()}
    return v


def main():
    base = trust(json.load(open(sys.argv[1])))
    loader = DataLoader()
    out = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    for line in sys.stdin:
        c = json.loads(line)
        t = c['template']
        d = {}
        start = time.perf_counter()
        try:
            v = None
            for _ in range(c.get('times', 1)):
                v = Templar(loader, variables=dict(base, **trust(c.get('vars') or {}))).template(trusted.tag(t))
            d['want'] = repr(v)
        except RecursionError:
            d['skip'] = True
        except Exception as e:
            m = str(e)
            d['class'] = type(e).__name__
            d['error'] = m.split('\n')[0]
        d['seconds'] = time.perf_counter() - start
        out.write(json.dumps(d) + '\n')
        out.flush()


main()
