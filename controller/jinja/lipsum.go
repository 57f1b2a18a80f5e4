package jinja

import (
	"math/rand/v2"
	"strings"

	"volant/wire/value"
)

const lorem = `a ac accumsan ad adipiscing aenean aliquam aliquet amet ante aptent arcu at auctor augue bibendum blandit class
commodo condimentum congue consectetuer consequat cras cubilia curabitur cursus dapibus diam dictum dignissim dis dolor donec dui
duis egestas eget eleifend elementum elit enim erat eros est et etiam eu euismod facilisi fames faucibus felis fermentum feugiat
fringilla fusce gravida habitant hac hendrerit iaculis id imperdiet in inceptos integer interdum ipsum justo lacinia lacus laoreet
lectus leo libero ligula lobortis lorem luctus maecenas magna mattis mauris metus mi molestie mollis montes morbi nam nec neque
nibh nisi nisl non nulla nunc odio orci ornare pede pellentesque per pharetra phasellus placerat porta posuere potenti praesent
pretium primis proin pulvinar purus quam quis rhoncus risus rutrum sagittis sapien scelerisque sed sem semper sit sociis sodales
suscipit tellus tempor tempus tincidunt tortor tristique turpis ullamcorper ultrices urna ut varius vehicula vel velit venenatis
vestibulum vitae vivamus viverra volutpat vulputate`

func lipsum(c *Context, a []any) (any, error) {
	var n [3]int
	for i, k := range []int{0, 2, 3} {
		var err error
		if n[i], err = wantInt(a[k]); err != nil {
			return nil, err
		}
	}
	if n[1] >= n[2] {
		return nil, value.ValueErrorf("empty range for randrange() (%d, %d, %d)", n[1], n[2], n[2]-n[1])
	}
	if n[0] > 0 && n[2] > 0 && n[0] > c.run.limits.Output/16/n[2] {
		return nil, &LimitError{"output", c.run.limits.Output}
	}
	all := strings.Fields(lorem)
	var out []string
	for range n[0] {
		var p []string
		capital, comma, stop := true, 0, 0
		for i := range n[1] + rand.IntN(n[2]-n[1]) {
			w := all[rand.IntN(len(all))]
			if capital {
				w, capital = capitalize(w), false
			}
			if i-(3+rand.IntN(5)) > comma {
				comma = i
				stop += 2
				w += ","
			}
			if i-(10+rand.IntN(10)) > stop {
				comma, stop = i, i
				w += "."
				capital = true
			}
			p = append(p, w)
		}
		s := strings.TrimSuffix(strings.Join(p, " "), ",")
		if !strings.HasSuffix(s, ".") {
			s += "."
		}
		if value.Truth(a[1]) {
			s = "<p>" + s + "</p>"
		}
		out = append(out, s)
	}
	if value.Truth(a[1]) {
		return strings.Join(out, "\n"), nil
	}
	return strings.Join(out, "\n\n"), nil
}
