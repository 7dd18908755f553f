package check

import (
	"encoding/binary"
	"encoding/json"
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

// fragments brings fragments and anchors together, in bounded memory: an item is the digest of page and name, and then 0
// for an anchor, or 1 and what mentions it.
type fragments struct {
	sorter *sorted.Sorter
	pages  map[uint64]struct{} // whose anchors are known
	b      []byte
}

// sortMemory is how many bytes the sorter holds.
const sortMemory = 8 << 20

func newFragments(temp string) *fragments {
	return &fragments{sorter: sorted.New(temp, sortMemory), pages: map[uint64]struct{}{}}
}

const (
	isAnchor = iota
	isFragment
)

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
		f.b = append(binary.BigEndian.AppendUint64(f.b[:0], a), isAnchor)
		if err := f.sorter.Add(f.b); err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	return nil
}

func (f *fragments) mention(s subject, m *mentioned) error {
	text, err := json.Marshal(wanted{s.url, m.page, m.places, m.count})
	if err == nil {
		f.b = append(append(binary.BigEndian.AppendUint64(f.b[:0], m.key), isFragment), text...)
		err = f.sorter.Add(f.b)
	}
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}

// missing gives those fragments to see that no anchor of a page is for.
func (f *fragments) missing(see func(w wanted)) error {
	var there uint64
	for b, err := range f.sorter.All() {
		if err != nil {
			return fmt.Errorf("check: %w", err)
		}
		key := binary.BigEndian.Uint64(b)
		if b[8] == isAnchor {
			there = key
			continue
		}
		if there == key {
			continue
		}
		var w wanted
		if err := json.Unmarshal(b[9:], &w); err != nil {
			return fmt.Errorf("check: a temporary file was changed: %w", err)
		}
		if _, known := f.pages[w.Page]; known {
			see(w)
		}
	}
	return nil
}
