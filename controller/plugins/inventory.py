def encrypted(text):
    return EncryptedString(ciphertext=text) if TrustedAsTemplate else EncryptedString(text)


def position(v):
    origin = Origin.get_tag(v) if Origin else None
    if origin is None:
        return ['', 0, 0]
    return [origin.path or origin.description or '', origin.line_num or 0, origin.col_num or 0]


def written(v):
    """Encodes text that may be rendered, and what stays encrypted, as such."""
    if isinstance(v, EncryptedString):
        return tagged('vault', str.__str__(v._ciphertext) if isinstance(v._ciphertext, str) else v._ciphertext.decode())
    if isinstance(v, str) and (TrustedAsTemplate.is_tagged_on(v) if TrustedAsTemplate else not isinstance(v, AnsibleUnsafe)):
        return tagged('template', [str.__str__(v)] + position(v))
    return None


def fresh(now, before):
    """The variables that are not those from before."""
    return {k: v for k, v in now.items() if k not in before or before[k] is not v}


class Sources:
    """Inventory plugins: each reads a source and adds to what is there."""

    def __init__(self, channel):
        global Origin, EncryptedString, AnsibleUnsafe
        from ansible.inventory import manager
        from ansible.inventory.data import InventoryData
        from ansible.inventory.host import Host
        from ansible.parsing import vault
        from ansible.utils import vars as variables
        try:
            from ansible._internal._datatag._tags import Origin
        except ImportError:
            Origin = None
        try:
            from ansible.utils.unsafe_proxy import AnsibleUnsafe
        except ImportError:
            AnsibleUnsafe = ()
        EncryptedString = getattr(vault, 'EncryptedString', None)
        if EncryptedString is None:
            from ansible.parsing.yaml.objects import AnsibleVaultEncryptedUnicode as EncryptedString
        else:
            EncryptedString._decrypt = lambda v: channel.ask(
                'decrypt', data=base64.b64encode(v._ciphertext.encode()).decode('ascii')).decode()
        self.wrapper = getattr(manager, '_InventoryDataWrapper', None)
        self.data, self.host, self.variables = InventoryData, Host, variables
        self.plugins = {}  # found by wants, wanted by read

    def wants(self, helper, frame):
        plugin = loading.inventory_loader.get(frame['name'])
        if plugin is None:
            return {'name': '', 'wants': False}
        name = getattr(plugin, '_load_name', None) or frame['name']
        try:
            wants = bool(plugin.verify_file(frame['source']))
        except Exception:
            wants = False
        self.plugins[frame['name']] = plugin
        return {'name': name, 'wants': wants}

    def read(self, helper, frame):
        name, source, have = frame['name'], frame['source'], frame['have']
        plugin = self.plugins.pop(name, None) or loading.inventory_loader.get(name)
        if plugin is None:
            raise AnsibleError('The inventory plugin %r was not found.' % name)
        loader = helper.files()
        loader.set_basedir(frame['basedir'])
        self.variables.load_extra_vars.extra_vars = decode(frame['extra'])
        data, before = self.fill(have)
        data.current_source = source
        data.processed_sources = list(frame['processed'])
        target = data
        if self.wrapper is not None:
            target = self.wrapper(data, target_plugin=plugin, origin=Origin(
                description='<inventory plugin %r with source %r>' % (getattr(plugin, '_load_name', name), source)))
        failed = []
        try:
            plugin.parse(target, loader, source, cache=frame['cache'])
            if hasattr(plugin, 'update_cache_if_changed'):
                plugin.update_cache_if_changed()
        except Gone:
            raise
        except Exception as ex:  # what it added until then stays
            failed = report(ex)
        out = encode(self.added(data, before), keep=written)
        out['failed'] = failed
        return Encoded(out)

    def fill(self, have):
        """What is there already, and a note of it to tell what is added."""
        data = self.data()
        hosts, groups = {}, {}
        for name, variables in have['hosts']:
            h = data.hosts[name] = self.host(name)
            h.vars = decode(variables)
            hosts[name] = dict(h.vars)
            if data.localhost is None and name in ('localhost', '127.0.0.1', '::1'):
                data.localhost = h
        for g in have['groups']:
            data.add_group(g['name'])
        for g in have['groups']:
            group = data.groups[g['name']]
            group.vars = decode(g['vars'])
            group.priority = g['priority']
            for member in g['children'] + g['hosts']:
                data.add_child(group.name, member)
            groups[group.name] = (dict(group.vars), set(g['children']), set(g['hosts']), group.priority)
        return data, (hosts, groups)

    @staticmethod
    def added(data, before):
        hosts, groups = before
        out = {'hosts': [], 'groups': [], 'gone': [name for name in hosts if name not in data.hosts]}
        for name, h in data.hosts.items():
            variables = fresh(h.vars, hosts.get(name, {}))
            if variables or name not in hosts:
                out['hosts'].append([str(name), variables])
        for name, g in data.groups.items():
            variables, children, members, priority = groups.get(name, ({}, set(), set(), None))
            more = {
                'name': str(name), 'vars': fresh(g.vars, variables), 'priority': g.priority,
                'children': [str(c.name) for c in g.child_groups if c.name not in children],
                'hosts': [str(h.name) for h in g.hosts if h.name not in members],
            }
            if name not in groups or more['vars'] or more['children'] or more['hosts'] or g.priority != priority:
                out['groups'].append(more)
        return out
