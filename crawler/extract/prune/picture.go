package prune

import "strings"

// picture takes an svg element whose start tag ends at end, and its name at attrs. It is one if there are only shapes
// in it that the parser leaves where they are, each of which ends, and no other svg element.
func (p *Pruner) picture(at, end, attrs int) (next int, ok bool) {
	words, open := len(p.words), p.open[:0]
	if next = end; !closesItself(p.s[at:end], attrs-at) {
		open = append(open, p.s[at+1:attrs])
	}
	for len(open) > 0 {
		lt := markupAt(p.s, next)
		if next < lt {
			p.words = append(p.words, span{from: next, to: lt})
		}
		if next, open = inPicture(p.s, lt, open); next < 0 {
			p.words = p.words[:words]
			return 0, false
		}
	}
	p.open = open
	if !p.settled || leads(p.s[at:next]) {
		p.keep(at, next)
	}
	return next, true
}

// maxShapes is how deep shapes may be nested in a picture.
const maxShapes = 32

// inPicture reads a tag in a picture: where it ends, and what is open then. The end is -1 if it is something else than
// the tag of a shape, or ends another one than the last.
func inPicture(s string, at int, open []string) (end int, _ []string) {
	if at == len(s) {
		return -1, open
	}
	from := at + 1
	closing := s[from] == '/'
	if closing {
		from++
	}
	if !isLetter(s[from]) {
		return -1, open
	}
	var name tagName
	attrs := name.read(s, from)
	last := len(open) - 1
	end, class := tagEnd(s, attrs), name.shape()
	switch {
	case end < 0 || class == noShape:
		return -1, open
	case closing:
		if !strings.EqualFold(s[from:attrs], open[last]) {
			return -1, open
		}
		return end, open[:last]
	case class == shapeRoot || len(open) == maxShapes:
		return -1, open
	case class == shapeText:
		// Its contents are HTML: text alone will do.
		if lt := markupAt(s, end); !strings.HasPrefix(s[lt:], "</"+s[from:attrs]) {
			return -1, open
		}
	}
	if !closesItself(s[at:end], attrs-at) {
		open = append(open, s[from:attrs])
	}
	return end, open
}
