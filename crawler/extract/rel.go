package extract

import (
	"fmt"
	"strings"
)

// Rel is what a link says of itself (HTML Standard 4.6.7); of several mentions, what all of them say.
type Rel struct {
	NoFollow  bool // the author does not endorse it: it is not followed (politeness rule 19)
	UGC       bool // written by users of the site
	Sponsored bool // paid for

	// mentions has a bit for each set of these words that a mention had, the empty set first. Zero is one mention of what
	// the fields say.
	mentions uint8
}

// Rels is a set of the words of a Rel.
type Rels uint8

// The words.
const (
	RelNoFollow Rels = 1 << iota
	RelUGC
	RelSponsored
)

// ParseRels reads a list of words: nofollow, ugc, sponsored. "none" is the empty set, and stands alone.
func ParseRels(words []string) (Rels, error) {
	if len(words) == 1 && words[0] == "none" {
		return 0, nil
	}
	var set Rels
	for _, w := range words {
		switch w {
		case "nofollow":
			set |= RelNoFollow
		case "ugc":
			set |= RelUGC
		case "sponsored":
			set |= RelSponsored
		default:
			return 0, fmt.Errorf("extract: rel %q: write nofollow, ugc, sponsored, or only none", w)
		}
	}
	return set, nil
}

// Followed reports whether a link is to be followed by who follows links with these words: some mention of it has no
// other.
func (r Rel) Followed(set Rels) bool {
	for said := range Rels(8) {
		if r.sets()&(1<<said) != 0 && said&^set == 0 {
			return true
		}
	}
	return false
}

// sets is mentions, never zero.
func (r Rel) sets() uint8 {
	if r.mentions != 0 {
		return r.mentions
	}
	return 1 << r.Rels()
}

// Rels is what r says as a set.
func (r Rel) Rels() (set Rels) {
	if r.NoFollow {
		set |= RelNoFollow
	}
	if r.UGC {
		set |= RelUGC
	}
	if r.Sponsored {
		set |= RelSponsored
	}
	return set
}

// and takes two mentions of a link together.
func (r Rel) and(o Rel) Rel {
	return Rel{r.NoFollow && o.NoFollow, r.UGC && o.UGC, r.Sponsored && o.Sponsored, r.sets() | o.sets()}
}

// relOf reads what the rel of an element says of the link.
func relOf(rel string) (r Rel) {
	for token := range strings.FieldsFuncSeq(rel, isSpace) {
		switch {
		case strings.EqualFold(token, "nofollow"):
			r.NoFollow = true
		case strings.EqualFold(token, "ugc"):
			r.UGC = true
		case strings.EqualFold(token, "sponsored"):
			r.Sponsored = true
		}
	}
	return r
}
