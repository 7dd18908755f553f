package export

import (
	"curtsy/crawler/extract"
	"curtsy/crawler/trap"
	"curtsy/frontier/canon"
)

// Reader reads one page: its text piece by piece, as extract.Input.Text has it, and what it shows.
type Reader struct {
	says     *trap.Digester
	shingles shingler
}

// newNeardupReader returns a Reader for the page at u.
func newNeardupReader(u canon.URL) *Reader {
	r := &Reader{says: trap.NewDigester(u, false)}
	r.says.Hear(r.shingles.take)
	return r
}

// Text takes a piece of the page's text.
func (r *Reader) Text(s string) { r.says.Text(s) }

// Sketch is what is kept of a page with these links, of which those count that it shows. The Reader is of no use afterwards.
func (r *Reader) Sketch(links []extract.Link) Sketch {
	for i := range links {
		if links[i].Shown() {
			r.says.Embed(links[i].URL)
		}
	}
	digest, _ := r.says.Digests()
	return sketch(r.shingles.set(), r.shingles.words, digest)
}
