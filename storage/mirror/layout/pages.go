package layout

import (
	"slices"
	"strings"

	"curtsy/frontier/canon"
)

// Page is an answer that gets a file, known without an archive.
type Page struct {
	URL    canon.URL
	Type   string // value of its Content-Type field
	Digest string // of its payload, in any form that is equal for equal payloads; empty if it is not known
}

// Names returns the names of the files of a set of pages, in their order: slash-separated paths below the mirror's
// directory. They depend on the set alone. Pages have one file if they have one key, and if they would have one name and
// are the same answer.
func Names(pages []Page, l Layout) []string {
	order := make([]int, len(pages))
	for i := range order {
		order[i] = i
	}
	keyed := func(i int) string { return pages[i].URL.Key() }
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(keyed(a), keyed(b)) })
	first := slices.CompactFunc(slices.Clone(order), func(a, b int) bool { return keyed(a) == keyed(b) })
	found, _ := l.Names(pageSet{pages, first})
	names := make([]string, len(pages))
	for i, j := 0, 0; i < len(order); i++ {
		if keyed(order[i]) != keyed(first[j]) {
			j++
		}
		names[order[i]] = found[j]
	}
	return names
}

type pageSet struct {
	pages []Page
	order []int
}

func (s pageSet) Len() int                 { return len(s.order) }
func (s pageSet) Key(i int) string         { return s.pages[s.order[i]].URL.Key() }
func (s pageSet) ContentType(i int) string { return s.pages[s.order[i]].Type }
func (s pageSet) Same(i, j int) bool {
	a, b := s.pages[s.order[i]], s.pages[s.order[j]]
	return a.Digest != "" && a.Digest == b.Digest && a.Type == b.Type
}
