package extract

import (
	"curtsy/frontier/canon"
	"curtsy/storage/markup"
)

// maxRemembered is how many distinct references of a page are remembered by their text. A page with more has them
// resolved each time, rather than us keeping them all.
const maxRemembered = 2 * MaxLinks

// collector makes links of mentions: it resolves, counts and drops repeats.
type collector struct {
	base canon.URL
	self bool // the base is the page's own URL

	charset string // of the page: that of the queries it links to

	links   []Link
	repeats int
	dropped int
	refused map[canon.Reason]int

	tell  *teller             // nil: nobody asks for each mention
	refs  map[string]resolved // by the text of the reference
	keys  map[string]int      // index in found, by canonical key
	found []place
}

// resolved is what became of a reference: an index in found, or the reason why it is no URL.
type resolved struct {
	at     int
	reason canon.Reason
}

// place says where a URL stands in links, plus one, as a link and as a requisite; zero means not.
type place struct{ link, embed int }

func newCollector(own, base canon.URL) collector {
	return collector{base: base, self: own == base, refs: map[string]resolved{}, keys: map[string]int{}}
}

// add takes a mention of ref; l is the link but for its URL.
func (c *collector) add(ref string, l Link) {
	raw := restore(ref)
	c.collect(raw, markup.EncodeQuery(markup.Strip(raw), c.charset), l)
}

// collect is add for a reference whose query is in UTF-8 already; raw is how it was written.
func (c *collector) collect(raw, ref string, l Link) {
	if fate, at, reason := c.take(ref, l); c.tell != nil {
		c.tell.hand(c, raw, ref, l, fate, at, reason)
	}
}

// take takes a mention in. It returns the place of its link, or the reason why it is no URL.
func (c *collector) take(ref string, l Link) (fate Fate, place int, reason canon.Reason) {
	if (ref == "" || ref[0] == '#') && (c.self || l.Embed) {
		return Within, 0, "" // the page itself; nor does a browser fetch anything for an empty src
	}
	full := len(c.links) == MaxLinks
	r, known := c.refs[ref]
	if !known {
		if full {
			c.dropped++
			return TooMany, 0, ""
		}
		r, l.URL = c.resolve(ref)
	}
	if r.reason != "" {
		c.refuse(r.reason)
		return Refused, 0, r.reason
	}
	at := &c.found[r.at].link
	other := c.found[r.at].embed
	if l.Embed {
		at, other = &c.found[r.at].embed, c.found[r.at].link
	}
	switch {
	case *at > 0:
		first := &c.links[*at-1]
		first.Rel = first.Rel.and(l.Rel)
		first.Refresh = first.Refresh || l.Refresh
		c.repeats++
		return Repeat, *at - 1, ""
	case full:
		c.dropped++
		return TooMany, 0, ""
	default:
		if known {
			l.URL = c.links[other-1].URL
		}
		if c.links == nil {
			c.links = make([]Link, 0, 64)
		}
		c.links = append(c.links, l)
		*at = len(c.links)
		return Listed, *at - 1, ""
	}
}

// refuse counts a mention that is no canonical URL.
func (c *collector) refuse(reason canon.Reason) {
	if c.refused == nil {
		c.refused = map[canon.Reason]int{}
	}
	c.refused[reason]++
}

// resolve reads a reference that is not remembered, and remembers it. The URL is zero when it is refused.
func (c *collector) resolve(ref string) (r resolved, u canon.URL) {
	u, err := c.base.Resolve(ref)
	if err != nil {
		r.reason = canon.ReasonOf(err)
	} else if at, ok := c.keys[u.Key()]; ok {
		r.at = at
	} else {
		r.at = len(c.found)
		c.found = append(c.found, place{})
		c.keys[u.Key()] = r.at
	}
	if len(c.refs) < maxRemembered {
		c.refs[ref] = r
	}
	return r, u
}

// into hands over what was collected.
func (c *collector) into(p *Page) {
	p.Links, p.Repeats, p.Dropped, p.Refused = c.links, c.repeats, c.dropped, c.refused
}
