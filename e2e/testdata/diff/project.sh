# Makes what a checkout may not keep: modes, links, archives, a vaulted file.
cd files
mkdir -p tree/sub/deep tree/empty
printf 'one\n' > tree/one.txt
printf 'two\n' > tree/sub/two.txt
printf 'three' > tree/sub/deep/three.bin
chmod 750 tree/sub
chmod 640 tree/sub/two.txt
ln -sf one.txt tree/link
ln -sf sub tree/dirlink
printf '#!/bin/sh\necho "script: $0 args: $*" | sed "s,/[^ ]*/,,"\necho "$VAR"\nexit ${RC:-0}\n' > script.sh
chmod 755 script.sh
printf '#!/usr/bin/python3\nimport sys\nprint("py", sys.argv[1:])\n' > script.py
printf 'plain text\nsecond line\n' > plain.txt
chmod 600 plain.txt
printf 'caf\303\251 \377\n' > latin.bin
: > empty.txt
mkdir -p frag
printf 'a\n' > frag/10-a; printf 'b' > frag/20-b; printf 'c\n' > frag/30-c.skip; printf '# hidden\n' > frag/.hidden
mkdir -p pack/d
printf 'in archive\n' > pack/a.txt; printf 'deep\n' > pack/d/b.txt; chmod 600 pack/d/b.txt; ln -sf a.txt pack/l
mkdir -p single/below
printf 'single\n' > single/below/f
touch -h -d 2024-01-02T03:04:05Z pack/a.txt pack/d/b.txt pack/l pack/d
tar -C pack --owner=0 --group=0 --sort=name -cf arch.tar a.txt d l
gzip -nkf arch.tar
tar -C pack --owner=0 --group=0 --sort=name -cJf arch.tar.xz a.txt d l
python3 - <<'PY'
import zipfile
z = zipfile.ZipFile('arch.zip', 'w')
for n in ('a.txt', 'd/b.txt'):
    i = zipfile.ZipInfo(n, (2024, 1, 2, 3, 4, 6)); i.external_attr = 0o100644 << 16
    z.writestr(i, open('pack/' + n).read())
z.close()
PY
cd ..
printf 'vaultpass\n' > vault.pass
