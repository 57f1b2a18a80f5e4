package difftest

import "strings"

// lines splits a table of words written one a line.
func lines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }

// What expressions are made of. The variables are those of testdata/vars.json.
var (
	ints   = strings.Fields("0 1 2 -1 5 7 10 100 n zero users[0].uid big 2**70 3 -7 1_000 0x1F")
	floats = strings.Fields("1.5 0.0 -2.25 f 1e3 1e16 1.0e-5 3.0 1/3")
	texts  = lines(`
''
'a'
'hello world'
s
e
text
path
ver
uni
pct
numstr
'42'
' x '
'A-b_c d'
'%s'
'1.5'
'aXbXc'
"it's"
'é'
'{}'
'abc' 'def'
'İß'
'a\tb'
html
'\N{EM DASH}'
'\x41\u00e9'`)
	lists = lines(`
l
ls
[]
nums
[1,2]
['x','y']
[1,"a",none,true]
nested
(1,2)
(1,)
ports
[3,1,2]
[['a',1],['b',2]]
range(5)
range(2,20,3)
users
[1.5,2,true]
()
['b','B','a','A']
[nosuch, 1]`)
	dicts = lines(`
d
{}
{'a':1}
{'b':2,'a':[1]}
deep
users[0]
hosts
{1:2}
{'k':none}
dict(a=1,b=2)
{'k': nosuch}`)
	others      = strings.Split("none;true;false;nosuch;d.nokey;nn;t;fa;undef();l[9];d['x y']", ";")
	attributes  = strings.Fields("a zeta nokey 0 name x.y.z items real upper")
	subscripts  = strings.Fields("0 -1 1 1: ::2 ::-1 :2 'a' 'zeta' 99 true 1.0 none -2: 5:1:-2")
	binary      = strings.Split("+;-;*;/;//;%;**;~;==;!=;<;<=;>;>=;in;not in;and;or", ";")
	intMethods  = strings.Fields("bit_length() real imag numerator conjugate()")
	textMethods = lines(`
upper()
lower()
title()
capitalize()
strip()
split()
split('l')
split(' ',1)
rsplit(' ',1)
splitlines()
replace('l','L')
replace('a','',1)
find('o')
rfind('o')
index('z')
count('l')
startswith('h')
endswith(('d','e'))
center(20)
center(15,'*')
ljust(14,'.')
rjust(14)
zfill(12)
isdigit()
isalpha()
isalnum()
isspace()
islower()
isupper()
istitle()
isidentifier()
isnumeric()
swapcase()
casefold()
partition(' ')
rpartition('o')
join(['a','b'])
join(l)
format(1,a=2)
encode()
expandtabs(4)
removeprefix('he')
removesuffix('ld')
lstrip('h')
rstrip('d')
strip('hd')
translate({108: 'X'})
splitlines(true)
split('')
find('l',3)
format(*l)
format_map(d)`)
	listMethods    = strings.Fields("index(1) copy() count(3) append(4) pop() reverse() sort() extend([7]) insert(0,9) remove(3) clear() pop(0) index(99)")
	dictMethods    = strings.Fields("keys() values() items() get('a') get('zz','dd') get('zeta') copy() pop('a') pop('zz',3) setdefault('q',1) update({'z':1}) popitem()")
	loopAttributes = lines(`
index
index0
revindex
first
last
length
previtem | default("P")
nextitem | default("N")
cycle('a','b')
changed(x)
depth`)
	tests = lines(`
defined
undefined
none
string
number
integer
float
boolean
mapping
sequence
iterable
callable
odd
even
divisibleby 2
divisibleby(3)
in l
in ['a',1]
eq 1
ne 2
gt 1
lt 3
ge 2
le 1
sameas none
sameas true
true
false
lower
upper
filter
test
not defined
not none
equalto n
escaped
greaterthan 3
lessthan(2)
notest
superset([1])
subset(nums)
contains(1)
contains('a')
match('h.*')
search('o')
regex('l+')
version('1.9', '>=')
any
all
truthy
falsy
truthy(convert_bool=true)
abs
nan
uri
url
failed
succeeded
changed
skipped
started`)
	filters = lines(`
abs
length
count
list
first
last
string
int
float
upper
lower
title
capitalize
trim
sort
reverse
unique
min
max
sum
join
join(',')
join('-')
wordcount
escape
e
urlencode
batch(2)
batch(3,'x')
slice(2)
slice(3,'z')
round
round(1)
round(1,'ceil')
round(0,'floor')
default(1)
default('x',true)
d(2)
dictsort
dictsort(true,'value')
dictsort(by='value',reverse=true)
center(20)
indent
indent(2,true)
indent('>>')
truncate(5)
truncate(5,true)
truncate(8,end='~',leeway=0)
filesizeformat
filesizeformat(true)
tojson
tojson(2)
items
striptags
wordwrap(5)
format(1)
format('a','b')
replace('l','L')
replace('o','0',1)
pprint
xmlattr
sort(reverse=true)
sort(case_sensitive=true)
sort(attribute='uid')
map('upper')
map('string')
map('int')
map('length')
map(attribute='name')
map(attribute='shell',default='N')
select
select('odd')
select('string')
reject('none')
select('gt',1)
reject('equalto',1)
selectattr('active')
selectattr('uid','gt',1000)
rejectattr('shell','defined')
groupby('active')
map('default','D')
int(7)
int(0,16)
float(2.5)
attr('real')
unique(true)
max(attribute='uid')
min(case_sensitive=true)
sum(start=1)
sum(attribute='uid')
safe
forceescape
sort | first
nofilter
round(-1)
join(d='+')
first | default('q')
urlize
list | length
list | string
items | list`)
	reference = lines(`
b64encode
b64decode
basename
bool
checksum
combinations(2)
combine({'z':1})
combine({'a':[3]}, recursive=true, list_merge='append')
comment
comment('c')
dict2items
dict2items(key_name='a', value_name='b')
difference([1])
dirname
expanduser
extract(nums)
extract(d)
flatten
flatten(levels=1)
from_json
from_yaml
hash('md5')
human_readable
human_to_bytes
intersect([1,2])
items2dict
items2dict(key_name='name', value_name='uid')
log
log(10)
mandatory
mandatory('gone')
md5
normpath
permutations(2)
pow(2)
product([1,2])
quote
regex_escape
regex_findall('[a-z]+')
regex_replace('l', 'L')
regex_replace('(o)', '<\\1>')
regex_search('o.')
rekey_on_member('uid')
relpath('/etc')
root
sha1
splitext
split
split('l')
strftime(0)
subelements('groups')
symmetric_difference([1,9])
ternary('y','n')
ternary('y','n','u')
to_datetime('%Y')
to_json
to_nice_json
to_nice_yaml
to_uuid
to_yaml
type_debug
union([9])
urldecode
urlsplit
urlsplit('path')
win_basename
win_dirname
win_splitdrive
zip([1,2])
zip_longest([1], fillvalue='F')
commonpath
path_join
shuffle(seed='s')
random(seed='s')
nice_json
undef`)
	markup   = strings.Fields("safe escape forceescape e tojson safe|upper")
	onMarkup = lines(`
 | type_debug
 is escaped
 | escape
 ~ '<i>' | type_debug
 + '<i>'
 * 2 | type_debug
.upper() | type_debug
.split('l')
[0] | type_debug
[1:] | type_debug
 | string | type_debug
 | upper | type_debug
 | trim | type_debug
 | replace('a','<')
 | join('<')
 | list | string
 | indent | type_debug
 | center(20) | type_debug
 | truncate(3) | type_debug
 | format('<') | type_debug
 | to_json
 | to_nice_yaml
 | length
 | string == 'a'
 % '<'
.format('<')
.join(['<','>'])
.striptags()
.unescape()
.escape('<')
.__html__()
.capitalize().lower()
 | striptags | type_debug
 | regex_replace('a','b') | type_debug
 | default('x') | type_debug
 in ['a','b']
 | first | type_debug
 | last | type_debug
 | hash('md5')
.partition('b')
.splitlines()
.rsplit('b', 1)
.encode()
.replace('b', '<')
.zfill(12)
 | quote
 | urlencode
 | int
 | wordcount
 | title | type_debug
 | capitalize | type_debug`)
)
