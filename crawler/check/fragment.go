package check

import (
	"fmt"
	"net/url"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/storage/markup"
	"curtsy/storage/sorted"
)

// fragment takes in the fragment of a link (HTML Standard 7.4.6.4): the name as it is written or without its percent
// encoding must be that of an anchor. Not looked for is what needs none: "#", "#top", text fragments (#:~:), and the
// routes of scripts (#/, #!).
func (d *document) fragment(u canon.URL, r markup.Ref, at *markup.Place) {
	written, _, _ := strings.Cut(strings.TrimPrefix(r.Fragment(), "#"), ":~:")
	if written == "" || strings.EqualFold(written, "top") || written[0] == '/' || written[0] == '!' {
		return
	}
	page := d.told.final(u)
	name := written
	if plain, err := url.PathUnescape(written); err == nil {
		name = plain
	}
	d.add(subject{fragment, u.String() + "#" + cut(written, maxShown)},
		mentioned{key: d.told.anchor(page, name), page: page, kind: KindFragment, reason: "no element has this id or name"}, r, at)
}

// fragments brings fragments and anchors together, in bounded memory. A row has the digest of page and name for its key, and
// is nil for an anchor, which comes before what mentions it.
type fragments struct {
	rows  *sorted.Rows[*wanted]
	pages map[uint64]struct{} // whose anchors are known
}

// sortMemory is how many bytes the sorter holds.
const sortMemory = 8 << 20

func newFragments(temp string) *fragments {
	return &fragments{rows: sorted.NewRows[*wanted](temp, sortMemory), pages: map[uint64]struct{}{}}
}

// wanted is a fragment that a page mentions.
type wanted struct {
	URL    string  `json:"u"`
	Page   uint64  `json:"p"`
	Places []Place `json:"o"`
	Count  int64   `json:"n"`
}

func (f *fragments) add(r *reading) error {
	if r.anchored {
		f.pages[r.page] = struct{}{}
	}
	for _, a := range r.anchors {
		if err := f.rows.Add(fmt.Sprintf("%016x a", a), nil); err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	return nil
}

func (f *fragments) mention(s subject, m *mentioned) error {
	if err := f.rows.Add(fmt.Sprintf("%016x b", m.key), &wanted{s.url, m.page, m.places, m.count}); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}

// missing gives those fragments to see that no anchor of a page is for.
func (f *fragments) missing(see func(w wanted)) error {
	there := ""
	for row, err := range f.rows.All() {
		if err != nil {
			return fmt.Errorf("check: %w", err)
		}
		key, w := row.Key[:16], row.Value
		if w == nil {
			there = key
		} else if _, known := f.pages[w.Page]; known && there != key {
			see(*w)
		}
	}
	return nil
}
