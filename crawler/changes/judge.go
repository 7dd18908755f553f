package changes

import (
	"crypto/sha256"
	"strings"
)

// judge says how a URL changed, of what was read of it, and lets that go.
func (c *comparing) judge(at int) {
	x, p := &c.r.Changes[at], &c.pairs[at]
	before, after := p.texts[0], p.texts[1]
	p.texts, p.outstanding = [2]*reading{}, 0
	for side, r := range []*reading{before, after} {
		if a := []*Answer{x.Before, x.After}[side]; r != nil && a != nil {
			a.Location = r.location
		}
	}
	switch x.Change {
	case New:
		c.excerpt(x, after, '+')
	case Gone:
		c.excerpt(x, before, '-')
	case Changed:
		c.changed(x, before, after)
	}
}

// excerpt shows the beginning of a page that is new, or gone.
func (c *comparing) excerpt(x *Change, r *reading, mark byte) {
	switch {
	case r == nil:
		x.Missing = NoRecord
	case r.location != "":
		x.Page = false
	case r.missing != "":
		x.Missing = r.missing
	case !r.page:
		x.Page = false // whatever its server says
	case r.whole == "":
		x.Missing = NoText
	default:
		x.Title = titleOf(r.whole)
		d := excerpt(r.main, mark)
		d.Of = of(r)
		c.show(x, d)
	}
}

// changed says how two answers of a URL differ.
func (c *comparing) changed(x *Change, before, after *reading) {
	is := func(a *Answer) bool { return a != nil && a.Status/100 == 3 && a.Status != 304 }
	if is(x.Before) || is(x.After) {
		x.Kind, x.Page = Redirect, false
		return
	}
	x.Kind = Unread
	switch {
	case before == nil || after == nil:
		x.Missing = NoRecord
	case before.missing != "" || after.missing != "":
		x.Missing = before.missing + after.missing
		if before.missing != "" {
			x.Missing = before.missing
		}
	case before.sum == after.sum && !before.cut && !after.cut:
		x.Kind, x.Page = Coding, after.page
	case !before.page && !after.page:
		x.Kind, x.Page = File, false
	case before.page != after.page:
		x.Missing = Differs
	default:
		x.Page, x.Title = true, titleOf(after.whole)
		c.texts(x, before, after)
	}
	if x.Missing != "" {
		return
	}
	if (before.cut || after.cut) && x.Diff == nil {
		x.Missing = Cut // what is there is alike; of the rest nothing is known
		x.Kind = Unread
	}
}

// texts compares two texts. The whole texts decide where a page has no main text, or one that lacks much. The smaller
// diff is shown where the extractor of the main text took two different parts of the page for it.
func (c *comparing) texts(x *Change, before, after *reading) {
	all := differ(before.whole, after.whole)
	if all == nil {
		x.Kind = Markup
		return
	}
	all.Of = "whole"
	if of(before) != "main" || of(after) != "main" || before.partial || after.partial {
		x.Kind = Text
		c.show(x, all)
		return
	}
	main := differ(before.main, after.main)
	if main == nil {
		x.Kind = Around
		if min(before.share, after.share) < surelyMain && all.hasProse() {
			x.Kind = Text
		}
		c.show(x, all)
		return
	}
	main.Of, x.Kind = "main", Text
	if main.Added+main.Removed > 2*(all.Added+all.Removed) {
		main = all
	}
	c.show(x, main)
}

const (
	surelyMain = 0.9 // share of the text from which all prose of a page is in its main text
	shortLine  = 60  // bytes that a line of a menu or footer has at most
)

// hasProse reports whether d changes a line that is longer than those of menus and footers.
func (d *Diff) hasProse() bool {
	for _, l := range d.Lines {
		n := 0
		for _, s := range l.Spans {
			n += len(s.Text)
		}
		if (l.Mark == '+' || l.Mark == '-') && n > shortLine {
			return true
		}
	}
	return d.LeftOut > 0
}

// of is which text of a reading is compared.
func of(r *reading) string {
	if r.main == r.whole {
		return "whole"
	}
	return "main"
}

// show keeps a diff, while there is room for all. What changed alike on many pages, as their footer, is kept once.
func (c *comparing) show(x *Change, d *Diff) {
	if x.Change == Changed && d.LeftOut == 0 {
		if c.alike == nil {
			c.alike = map[[sha256.Size]byte]string{}
		}
		sum := d.sum(x.Kind)
		if first, ok := c.alike[sum]; ok {
			x.SameAs, x.Diff, d.Lines = first, d, []Line{}
			return
		}
		c.alike[sum] = x.URL
	}
	size := d.size()
	if c.spent+size > MaxDiffs {
		c.r.NoDiffs++
		d.LeftOut += len(d.Lines)
		d.Lines = []Line{}
	} else {
		c.spent += size
	}
	x.Diff = d
}

// titleOf is the first line of a text.
func titleOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return shortened(line, 200)
}
