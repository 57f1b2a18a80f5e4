# The helper process that runs Python plugins. Frames
# (4 bytes of length, big endian, then JSON) come on descriptor 3 and go out on
# descriptor 4; see doc.go for what they hold. Written for ansible-core 2.17 to
# 2.21: what a version lacks is looked for, not assumed.
import base64
import collections.abc as abc
import contextlib
import datetime
import json
import os
import struct
import sys
from collections import ChainMap

MAX_FRAME = 64 << 20
MAX_DEPTH = 200


class Gone(Exception):
    """The controller went away."""


class Channel:
    def __init__(self):
        os.set_inheritable(3, False)
        os.set_inheritable(4, False)
        self.inp = os.fdopen(3, 'rb')
        self.out = os.fdopen(4, 'wb')

    def _take(self, n):
        data = self.inp.read(n)
        if len(data) != n:
            raise Gone()
        return data

    def receive(self):
        (n,) = struct.unpack('>I', self._take(4))
        if n > MAX_FRAME:
            raise Gone()
        return json.loads(self._take(n))

    def send(self, frame):
        data = json.dumps(frame).encode('ascii')
        if len(data) > MAX_FRAME:
            data = json.dumps({'error': [{'class': 'ValueError', 'msg': 'the result of the plugin is over 64 MiB'}]}).encode('ascii')
        self.out.write(struct.pack('>I', len(data)) + data)
        self.out.flush()

    def ask(self, what, **more):
        """Asks the controller while a call goes on; the answer comes next."""
        self.send(dict(more, ask=what))
        answer = self.receive()
        if 'error' in answer:
            raise AnsibleError(answer['error'])
        return decode(answer.get('value'))


def tagged(name, value):
    return {'~': name, 'v': value}


def encode(v, depth=0, keep=None):
    """The JSON of a value; keep may encode it otherwise, or return None."""
    if depth > MAX_DEPTH:
        raise ValueError('the value is nested too deep')
    if v is None or v is True or v is False:
        return v
    kept = keep(v) if keep else None
    if kept is not None:
        return kept
    if isinstance(v, str):
        return str.__str__(v)
    if isinstance(v, int):
        return int(v)
    if isinstance(v, float):
        return float(v)
    if is_marker(v):
        return marker(v)
    if isinstance(v, (bytes, bytearray)):
        return tagged('bytes', base64.b64encode(bytes(v)).decode('ascii'))
    if isinstance(v, datetime.datetime):
        return tagged('datetime', v.isoformat())
    if isinstance(v, datetime.date):
        return tagged('date', v.isoformat())
    if isinstance(v, abc.Mapping):
        if all(isinstance(k, str) for k in v) and '~' not in v:
            return {str.__str__(k): encode(v[k], depth + 1, keep) for k in v}
        return tagged('dict', [[encode(k, depth + 1, keep), encode(v[k], depth + 1, keep)] for k in v])
    if isinstance(v, tuple):
        return tagged('tuple', [encode(i, depth + 1, keep) for i in v])
    if isinstance(v, (set, frozenset)):
        return tagged('set', [encode(i, depth + 1, keep) for i in v])
    if isinstance(v, (abc.Sequence, abc.Iterator, abc.KeysView, abc.ValuesView, abc.ItemsView)):
        return [encode(i, depth + 1, keep) for i in v]
    if type(v).__name__ == 'EncryptedString':
        return str(v)
    raise TypeError('Type %r is unsupported for variable storage.' % type(v).__name__)


def decode(v):
    if isinstance(v, list):
        return [decode(i) for i in v]
    if not isinstance(v, dict):
        return v
    if '~' not in v:
        return {k: decode(i) for k, i in v.items()}
    kind, inner = v['~'], v.get('v')
    if kind == 'bytes':
        return base64.b64decode(inner)
    if kind == 'datetime':
        return datetime.datetime.fromisoformat(inner)
    if kind == 'date':
        return datetime.date.fromisoformat(inner)
    if kind == 'dict':
        return {decode(k): decode(i) for k, i in inner}
    if kind == 'tuple':
        return tuple(decode(i) for i in inner)
    if kind == 'set':
        return set(decode(i) for i in inner)
    if kind == 'float':
        return float(inner)
    if kind == 'undefined':
        return undefined(inner)
    if kind == 'template':
        return trusted(inner)
    if kind == 'vault':
        return encrypted(inner)
    raise ValueError('no value is called %r' % kind)


def trusted(text):
    """What the operator wrote: it may hold templates, and be an expression."""
    return TrustedAsTemplate().tag(text) if TrustedAsTemplate else text


class Encoded:
    """A value that encode has made already."""

    def __init__(self, json):
        self.json = json


def is_marker(v):
    return Undefined is not None and isinstance(v, Undefined)


def marker(v):
    hint = getattr(v, '_undefined_message', None) or str(getattr(v, '_undefined_hint', '') or '')
    return tagged('undefined', hint)


def undefined(hint):
    if UndefinedMarker is not None:
        return UndefinedMarker(hint=hint)
    return Undefined(hint=hint)


class Lazy(dict):
    """A dict whose items are fetched one by one when they are read."""

    def __init__(self, channel):
        super().__init__()
        self._channel = channel
        self._names = None

    def _fetch(self, name):
        raise NotImplementedError()

    def _list(self):
        raise NotImplementedError()

    def _all(self):
        if self._names is None:
            self._names = dict.fromkeys(self._list())
        return self._names

    def __contains__(self, name):
        return name in self._all()

    def __iter__(self):
        return iter(self._all())

    def __len__(self):
        return len(self._all())

    def __getitem__(self, name):
        if not dict.__contains__(self, name):
            if name not in self:
                raise KeyError(name)
            dict.__setitem__(self, name, self._fetch(name))
        return dict.__getitem__(self, name)

    def __setitem__(self, name, v):
        self._all()[name] = None
        dict.__setitem__(self, name, v)

    def __delitem__(self, name):
        del self._all()[name]
        dict.pop(self, name, None)

    def pop(self, name, *default):
        if name not in self:
            return dict.pop(self, name, *default)
        v = self[name]
        del self[name]
        return v

    def setdefault(self, name, default=None):
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *args, **kwargs):
        for k, v in dict(*args, **kwargs).items():
            self[k] = v

    def get(self, name, default=None):
        return self[name] if name in self else default

    def keys(self):
        return self._all().keys()

    def items(self):
        return [(k, self[k]) for k in self]

    def values(self):
        return [self[k] for k in self]

    def copy(self):
        return {k: self[k] for k in self}

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __or__(self, other):
        return {**self.copy(), **other}

    def __bool__(self):
        return True


class HostVars(Lazy):
    """The variables of every host."""

    def _list(self):
        hosts = list((self._channel.ask('variable', name='groups') or {}).get('all', ()))
        return hosts + [h for h in [self._channel.ask('variable', name='inventory_hostname')] if h not in hosts]

    def __contains__(self, name):  # localhost is there though no inventory names it
        return name in self._all() or name in ('localhost', '127.0.0.1', '::1')

    def _fetch(self, name):
        return self._channel.ask('host', name=name)


class Vars(Lazy):
    """The variables of the task."""

    def _list(self):
        return list(self._channel.ask('names')) + ['hostvars', 'vars']

    def _fetch(self, name):
        if name == 'vars':
            return self
        return HostVars(self._channel) if name == 'hostvars' else self._channel.ask('variable', name=name)

    def copy(self):
        return {k: self[k] for k in self if k not in ('hostvars', 'vars')}


def report(ex):
    """An exception and what caused it, outermost first."""
    out = []
    while ex is not None and len(out) < 10:
        msg = getattr(ex, '_original_message', None)
        cause = ex.__cause__ or getattr(ex, 'orig_exc', None)
        if not isinstance(msg, str) or not isinstance(ex, AnsibleError):
            msg = str(ex) or type(ex).__name__
        out.append({'class': type(ex).__name__, 'msg': str.__str__(msg), 'help': getattr(ex, '_help_text', None) or ''})
        ex = cause
    return out


class Helper:
    def __init__(self, channel):
        self.channel = channel
        self.templar = None
        self.action = None
        self.inventory = None
        self.dirs = set()

    def answer(self, frame):
        try:
            out = getattr(self, 'do_' + frame['op'])(frame)
            return {'value': out.json if isinstance(out, Encoded) else encode(out)}
        except Gone:
            raise
        except Exception as ex:  # a plugin may raise anything
            source = getattr(ex, 'source', None)
            if is_marker(source):
                return {'undefined': marker(source)['v']}
            if Undefined is not None and isinstance(ex, UndefinedError):
                return {'undefined': str(ex)}
            return {'error': report(ex)}

    def do_dirs(self, frame):
        for d in frame['dirs']:
            if d not in self.dirs:
                self.dirs.add(d)
                loading.add_all_plugin_dirs(d)

    @staticmethod
    def loader(kind):
        return {'filter': loading.filter_loader, 'test': loading.test_loader, 'lookup': loading.lookup_loader}[kind]

    def instance(self, kind, name):
        try:
            return self.loader(kind).get(name)
        except KeyError:
            return None

    def do_find(self, frame):
        kind = frame['kind']
        if kind == 'lookup':
            found = self.loader(kind).get(frame['name'], class_only=True)
        else:
            found = self.instance(kind, frame['name'])
        if found is None:
            return {'found': False}
        return {
            'found': True,
            'name': getattr(found, 'ansible_name', None) or frame['name'],
            'markers': bool(getattr(found, 'accept_args_markers', False)),
        }

    def function(self, kind, name):
        found = self.instance(kind, name)
        fn = getattr(found, 'j2_function', None)
        if fn is None:
            raise AnsibleError('The %s plugin %r was not found.' % (kind, name))
        wants = getattr(getattr(fn, 'jinja_pass_arg', None), 'name', None)
        if wants is None:
            return fn, ()
        env = self.environment()
        first = {'environment': lambda: env, 'context': lambda: env.from_string('').new_context({}),
                 'eval_context': lambda: EvalContext(env)}[wants]()
        return fn, (first,)

    def environment(self):
        t = self.outside()
        return getattr(getattr(t, '_engine', None), 'environment', None) or getattr(t, 'environment', None)

    def outside(self):
        """A templar without variables, for filters and tests."""
        if self.templar is None:
            self.templar = Templar(loader=self.files(), variables={})
        return self.templar

    def files(self):
        return Loader(self.channel)

    def context(self, templar):
        """What plugins of 2.19 and newer find around them: the render that calls them."""
        engine = getattr(templar, '_engine', None)
        if TemplateContext is None or engine is None:
            return contextlib.nullcontext()
        return TemplateContext(template_value='', templar=engine, options=TemplateOptions.DEFAULT)

    def apply(self, kind, frame):
        fn, first = self.function(kind, frame['name'])
        with self.context(self.outside()):  # markers of what is undefined can only be made in one
            args, kwargs = [decode(a) for a in frame['args']], {k: decode(v) for k, v in frame['kwargs'].items()}
            return fn(*first, *args, **kwargs)

    def do_filter(self, frame):
        out = self.apply('filter', frame)
        if isinstance(out, (abc.Iterator, abc.ItemsView, abc.KeysView, abc.ValuesView, range)):
            out = list(out)
        return out

    def do_test(self, frame):
        out = self.apply('test', frame)
        return out if is_marker(out) or isinstance(out, bool) else {'type': repr(type(out)), 'truth': bool(out)}

    def do_lookup(self, frame):
        variables = Vars(self.channel)
        loader = self.files()
        loader.set_basedir(frame['basedir'])
        templar = Templar(loader=loader, variables=variables)
        plugin = loading.lookup_loader.get(frame['name'], loader=loader, templar=templar)
        if plugin is None:
            raise AnsibleError('The lookup plugin %r was not found.' % frame['name'])
        with self.context(templar):
            terms, kwargs = [decode(t) for t in frame['terms']], {k: decode(v) for k, v in frame['kwargs'].items()}
            out = plugin.run(terms, variables=variables, **kwargs)
        if isinstance(out, (str, bytes)) or not isinstance(out, abc.Sequence):
            raise TypeError('returned %s instead of %s' % (type(out), list))
        return list(out)

    def do_setting(self, frame):
        kind, plugin = frame['kind'], frame['plugin']
        found = getattr(loading, kind + '_loader').get(plugin, class_only=True)  # which makes its options known
        if found is None:
            raise AnsibleError('Unable to load %s plugin %r.' % (kind, plugin))
        if frame['name'] not in settings.config.get_configuration_definitions(kind, plugin):
            return {'known': False}
        value, origin = settings.config.get_config_value_and_origin(
            frame['name'], plugin_type=kind, plugin_name=plugin, variables=ChainMap(Vars(self.channel), vars(settings)))
        return {'known': True, 'value': value, 'origin': origin}

    def do_wants(self, frame):
        return self.sources().wants(self, frame)

    def do_inventory(self, frame):
        return self.sources().read(self, frame)

    def sources(self):
        if self.inventory is None:
            self.inventory = Sources(self.channel)
        return self.inventory

    def do_action(self, frame):
        if self.action is None:
            self.action = bridge(self.channel)
        return self.action(self, frame)


def quiet(channel):
    """Messages of plugins go to the controller, which shows them."""

    def warning(self, msg, formatted=False, help_text=None, **kwargs):
        channel.send({'note': 'warning', 'msg': str(msg), 'help': str(help_text or '')})

    def error_as_warning(self, msg, exception, help_text=None, **kwargs):
        chain = report(exception)
        if not msg:
            msg, chain = chain[0]['msg'], chain[1:]
        channel.send({'note': 'warning', 'msg': str(msg), 'help': str(help_text or ''), 'chain': chain})

    def deprecated(self, msg, version=None, removed=False, date=None, collection_name=None, help_text=None, **kwargs):
        if removed:
            raise AnsibleError(str(msg))
        channel.send({'note': 'deprecated', 'msg': str(msg), 'help': str(help_text or ''),
                      'version': str(version or date or ''), 'plugin': str(collection_name or '')})

    def verbose(self, msg, host=None, caplevel=2):
        channel.send({'note': 'verbose', 'level': caplevel + 1, 'msg': str(msg)})

    Display.warning = warning
    Display.error_as_warning = error_as_warning
    Display.deprecated = deprecated
    Display.verbose = verbose
    for n, name in enumerate(('v', 'vv', 'vvv', 'vvvv', 'vvvvv', 'vvvvvv')):
        setattr(Display, name, lambda self, msg, host=None, n=n: verbose(self, msg, host, n))


def main():
    channel = Channel()
    start = channel.receive()
    if start.get('path'):
        sys.path.insert(0, start['path'])
    names = globals()
    from ansible import constants as settings
    from ansible.errors import AnsibleError
    from ansible.parsing.dataloader import DataLoader
    from ansible.parsing.vault import is_encrypted
    from ansible.plugins import loader as loading
    from ansible.template import Templar
    from ansible.utils.display import Display
    from jinja2 import Undefined, UndefinedError
    from jinja2.nodes import EvalContext
    try:
        from ansible._internal._templating._jinja_common import UndefinedMarker
    except ImportError:
        UndefinedMarker = None

    try:
        from ansible._internal._templating._utils import TemplateContext
        from ansible._internal._templating._engine import TemplateOptions
    except ImportError:
        TemplateContext = TemplateOptions = None

    try:
        from ansible._internal._datatag._tags import TrustedAsTemplate
    except ImportError:
        TrustedAsTemplate = None

    try:
        from ansible._internal._templating import _jinja_bits
        flatten = _jinja_bits._flatten_and_lazify_vars
    except (ImportError, AttributeError):
        pass
    else:
        def layers(mapping):
            """What is rendered already needs none of the templates' lazy containers."""
            return iter([mapping]) if isinstance(mapping, Lazy) else flatten(mapping)

        _jinja_bits._flatten_and_lazify_vars = layers

    class Loader(DataLoader):
        def __init__(self, channel):
            super().__init__()
            self._channel = channel

        def _decrypt_if_vault_data(self, b_data, *args, **kwargs):
            if not is_encrypted(b_data):
                return b_data, False
            return self._channel.ask('decrypt', data=base64.b64encode(b_data).decode('ascii')), True

    names.update(AnsibleError=AnsibleError, settings=settings, loading=loading, Templar=Templar, Display=Display, Undefined=Undefined,
                 UndefinedError=UndefinedError, EvalContext=EvalContext, UndefinedMarker=UndefinedMarker, Loader=Loader,
                 TemplateContext=TemplateContext, TemplateOptions=TemplateOptions, TrustedAsTemplate=TrustedAsTemplate)
    quiet(channel)
    loading.init_plugin_loader(start.get('collections') or [])
    helper = Helper(channel)
    channel.send({'value': None})
    while True:
        channel.send(helper.answer(channel.receive()))

