set -e
useradd -m -s /bin/bash plain
useradd -M -r -s /usr/sbin/nologin svc
groupadd shared
mkdir -p /srv/www/dir /srv/diff /srv/deb
printf 'served\n' > /srv/www/file.txt
printf '{"a": [1, 2], "b": "text"}' > /srv/www/data.json
printf 'gone\n' > /srv/www/dir/x
touch -d 2024-01-02T03:04:05Z /srv/www/file.txt /srv/www/data.json
cat > /srv/server.py <<'PY'
import http.server, json, base64
class H(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a): pass
    def send(self, code, body=b'', **h):
        self.send_response(code)
        for k, v in h.items(): self.send_header(k.replace('_', '-'), v)
        self.send_header('Content-Length', str(len(body))); self.end_headers()
        if self.command != 'HEAD': self.wfile.write(body)
    def do_GET(self):
        if self.path == '/redirect': return self.send(302, b'', Location='/file.txt')
        if self.path == '/echo':
            h = {k.lower(): v for k, v in self.headers.items() if k.lower() not in ('host', 'connection')}
            n = int(self.headers.get('Content-Length') or 0)
            return self.send(200, json.dumps({'method': self.command, 'headers': h, 'body': self.rfile.read(n).decode('latin1')}, sort_keys=True).encode(), Content_Type='application/json')
        if self.path == '/auth':
            want = 'Basic ' + base64.b64encode(b'u:p').decode()
            if self.headers.get('Authorization') != want: return self.send(401, b'no', WWW_Authenticate='Basic realm="x"')
            return self.send(200, b'welcome', Content_Type='text/plain')
        if self.path == '/500': return self.send(500, b'broken')
        if self.path == '/cookie': return self.send(200, b'c', Set_Cookie='k=v; Path=/')
        return super().do_GET()
    def do_POST(self): self.path = '/echo' if self.path != '/500' else self.path; return H.do_GET(self)
    do_PUT = do_DELETE = do_PATCH = do_POST
http.server.ThreadingHTTPServer(('127.0.0.1', 8099), lambda *a, **k: H(*a, directory='/srv/www', **k)).serve_forever()
PY
cat > /etc/systemd/system/testweb.service <<'U'
[Service]
ExecStart=/usr/bin/python3 /srv/server.py
[Install]
WantedBy=multi-user.target
U
cat > /etc/systemd/system/sleeper.service <<'U'
[Unit]
Description=sleeps
[Service]
ExecStart=/bin/sleep infinity
ExecReload=/bin/true
[Install]
WantedBy=multi-user.target
U
cat > /etc/systemd/system/breaks.service <<'U'
[Service]
Type=oneshot
ExecStart=/bin/false
[Install]
WantedBy=multi-user.target
U
cat > /etc/systemd/system/tmpl@.service <<'U'
[Service]
ExecStart=/bin/sleep infinity
U
cat > /etc/init.d/scripted <<'S'
#!/bin/sh
### BEGIN INIT INFO
# Provides:          scripted
# Required-Start:
# Required-Stop:
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
# Short-Description: a test
### END INIT INFO
case "$1" in
start) shift; echo "Starting." "$@"; : > /run/scripted;;
stop) echo "Stopping."; rm -f /run/scripted;;
reload) echo "Reloading.";;
status) if [ -e /run/scripted ]; then echo "running"; else echo "stopped"; exit 3; fi;;
esac
S
chmod 755 /etc/init.d/scripted
sed 's/scripted/both/g' /etc/init.d/scripted > /etc/init.d/both
chmod 755 /etc/init.d/both
sed 's/sleeps/both/' /etc/systemd/system/sleeper.service > /etc/systemd/system/both.service
systemctl daemon-reload
systemctl enable --now testweb
apt-get update -qq
apt-get install -y -qq --no-install-recommends cron git unzip xz-utils acl dnf rpm createrepo-c >/dev/null 2>&1
mkdir -p /srv/deb/p/DEBIAN
for v in 1.0 2.0; do
printf 'Package: voltest\nVersion: %s\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: a test\n' $v > /srv/deb/p/DEBIAN/control
dpkg-deb -b /srv/deb/p /srv/deb/voltest_$v.deb >/dev/null
done
git -c init.defaultBranch=main init -q /srv/repo
cd /srv/repo
git config user.email a@example.org; git config user.name a
export GIT_AUTHOR_DATE=2024-01-02T03:04:05Z GIT_COMMITTER_DATE=2024-01-02T03:04:05Z
echo v1 > f; git add f; git commit -qm one; git tag v1
echo v2 > f; git commit -qam two; git branch side
mkdir -p /etc/ansible/facts.d
printf '[sec]\nkey=value\n' > /etc/ansible/facts.d/ini.fact
printf '{"j": [1, true]}' > /etc/ansible/facts.d/js.fact
printf '#!/bin/sh\necho "{\\"x\\": 1}"\n' > /etc/ansible/facts.d/run.fact
chmod 755 /etc/ansible/facts.d/run.fact
mkdir -p /srv/rpm/build /srv/rpm/repo /etc/yum.repos.d
cd /srv/rpm
spec() { # NAME VERSION LINES
printf 'Name: %s\nVersion: %s\nRelease: 1\nSummary: a test\nLicense: none\nBuildArch: noarch\n%s\n%%description\nx\n%%files\n' "$1" "$2" "$3" > build/x.spec
rpmbuild -bb --quiet --define "_topdir /srv/rpm/build" --define "_rpmdir /srv/rpm/repo" build/x.spec >/dev/null 2>&1
}
spec lab-release 9 'Provides: system-release'
spec lab-one 1.0 'Provides: lab-capability'
spec lab.dot 1
spec java-11-lab 11
spec lab-old 1.0
rpm -i --nodeps repo/noarch/*.rpm
spec lab-old 2.0
spec lab-available 1.0
spec lab-other 1.0
createrepo_c -q repo
printf '[lab]\nname=lab\nbaseurl=file:///srv/rpm/repo\ngpgcheck=0\n' > /etc/yum.repos.d/lab.repo
