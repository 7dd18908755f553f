package report

import (
	"cmp"
	"slices"

	"curtsy/storage"
)

// maxTags is how many tags are told apart: the first ones. The others are summed.
const maxTags = 500

// noTag stands for the tag of seeds that have none.
const noTag = "(no tag)"

// tags gather what was done by the tag of the seed that it descends from.
type tags struct {
	by  map[string]*account
	any bool // a seed has a tag
}

// add takes in a line. Exchanges for robots.txt descend from no seed.
func (t *tags) add(l *storage.Line) {
	if l.Tag == "" && l.Seed == "" {
		return
	}
	t.any = t.any || l.Tag != ""
	name := noTag
	if l.Tag != "" {
		name = cleanTo(l.Tag, 200)
	}
	if t.by == nil {
		t.by = map[string]*account{}
	}
	if t.by[name] == nil && len(t.by) >= maxTags {
		name = otherWords
	}
	a := t.by[name]
	if a == nil {
		a = &account{}
		t.by[name] = a
	}
	a.add(l)
}

// list is what was gathered, the tag with the most pages first; nil when no seed has a tag.
func (t *tags) list() (all []Tag) {
	if !t.any {
		return nil
	}
	for name, a := range t.by {
		tag := Tag{name, a.result()}
		tag.State, tag.Robots, tag.Own = "", "", false
		all = append(all, tag)
	}
	slices.SortFunc(all, func(a, b Tag) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(b.Lines, a.Lines), cmp.Compare(a.Tag, b.Tag))
	})
	return all
}
