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


def timed(c, base, loader):
    """CPU seconds that c['times'] renders take, compiled once in plain Jinja2 or as the reference does it."""
    times = range(c['times'])
    if c['engine'] == 'jinja2':
        import jinja2
        variables = json.load(open(sys.argv[1]))
        render = jinja2.Environment(trim_blocks=True).from_string(c['template']).render
        start = time.process_time()
        for _ in times:
            v = render(variables)
        return time.process_time() - start, v
    text = trusted.tag(c['template'])
    render = Templar(loader, variables=base).template
    start = time.process_time()
    for _ in times:
        v = render(text)
    return time.process_time() - start, v


def main():
    base = trust(json.load(open(sys.argv[1])))
    loader = DataLoader()
    out = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    for line in sys.stdin:
        c = json.loads(line)
        t = c['template']
        d = {}
        try:
            if c.get('engine'):
                d['seconds'], v = timed(c, base, loader)
            else:
                v = Templar(loader, variables=dict(base, **trust(c.get('vars') or {}))).template(trusted.tag(t))
            d['want'] = repr(v)
        except RecursionError:
            d['skip'] = True
        except Exception as e:
            m = str(e)
            d['class'] = type(e).__name__
            d['error'] = m.split('\n')[0]
        out.write(json.dumps(d) + '\n')
        out.flush()


main()
