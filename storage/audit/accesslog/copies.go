package accesslog

import "slices"

// copies finds lines that several files of a log have: of equal lines, as many count as one file has. They come by second.
type copies struct {
	key  [16]byte
	at   int64
	seen map[uint64][]sighting // lines of this key and second, by the hash of their bytes
}

type sighting struct {
	file uint16
	n    int64
}

// maxSeen bounds the distinct lines of a second; copies of further ones are not found.
const maxSeen = 10_000

// take records a line and returns the other files that have had it as often.
func (c *copies) take(key [16]byte, at int64, sum uint64, file uint16) (of []uint16) {
	if key != c.key || at != c.at || c.seen == nil {
		c.key, c.at, c.seen = key, at, map[uint64][]sighting{}
	}
	in := c.seen[sum]
	if in == nil && len(c.seen) == maxSeen {
		return nil
	}
	own := slices.IndexFunc(in, func(s sighting) bool { return s.file == file })
	if own < 0 {
		own, in = len(in), append(in, sighting{file: file})
	}
	in[own].n++
	for _, s := range in {
		if s.file != file && s.n >= in[own].n {
			of = append(of, s.file)
		}
	}
	c.seen[sum] = in
	return of
}

// common counts the crawler's lines in two files of a log between the first and the last second of both.
type common struct{ lines, copies int64 }

func (c *Comparison) copied(e *entry) bool {
	of := c.copies.take(e.key, e.from, e.sum, e.log)
	f := c.files[e.log]
	for i, g := range c.files {
		if g == f || g.of != f.of || e.from <= max(f.earliest, g.earliest) || e.from >= min(f.latest, g.latest) {
			continue
		}
		pair := [2]int{min(i, int(e.log)), max(i, int(e.log))}
		in := c.common[pair]
		in.lines++
		if slices.Contains(of, uint16(i)) {
			in.copies += 2
		}
		c.common[pair] = in
	}
	return len(of) > 0
}

// joinCopies makes one of files that overlap: each line between the first and the last second of both is in both.
func (c *Comparison) joinCopies() {
	for joined := true; joined; { // a row of files may need several rounds
		joined = false
		for pair, in := range c.common {
			if in.copies == in.lines && c.files[pair[0]].join(c.files[pair[1]]) {
				joined = true
			}
		}
	}
}
