package extract

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/storage/charset"
)

// MaxLinks is how many links of a page are listed; the rest is counted (politeness rule 22).
const MaxLinks = 6000

// MaxParse is how many bytes of a page are looked at (politeness rule 15).
const MaxParse = 10 << 20

// Input is a page as it was fetched.
type Input struct {
	URL         canon.URL   // the fetch URL: references are relative to it where the page names no base
	ContentType string      // value of the Content-Type, as mediatype.Value has it; may be empty
	Header      http.Header // for X-Robots-Tag and Refresh; may be nil
	Body        io.Reader   // bytes with content codings removed; nil is an empty body
	Size        int64       // bytes of Body; zero or less means not known, and the tree is held to be large
	Turn        bool        // the caller holds the turn of Body, see Extractor.Turn
	Token       string      // our product token; directives for it bind us, and so do those for "curtsy"

	// Previews has the pictures that meta elements name for others to show (og:image, twitter:image) listed as requisites.
	Previews bool

	// Text, if not nil, is called with the page's text, piece by piece in document order: the title, and what is in no
	// script, style or template.
	Text func(string)

	// Mention, if not nil, is called with each mention of a URL, in document order: with those that Links lists, and with
	// the rest. It must not keep the strings.
	Mention func(Mention)
}

// Page is what a page says. All text in it is the site's and hostile.
type Page struct {
	Title     string    // of the first title element, white space collapsed, at most 1 KiB
	About     string    // of the first meta element named description, white space collapsed, at most 2 KiB
	Canonical canon.URL // of the first link element with rel=canonical that names a page of the web; zero without one
	Base      canon.URL // what references were resolved against; zero if the page names a base that is not on the web
	Charset   string    // the encoding's name in the Encoding Standard, lower case: "utf-8", "windows-1252"
	CharsetBy charset.Decider

	Links   []Link               // in document order, each once by key and kind, at most MaxLinks
	Repeats int                  // further mentions of what Links lists
	Refused map[canon.Reason]int // mentions that are no canonical URL (mailto:, javascript:, malformed); nil if none
	Dropped int                  // mentions beyond MaxLinks

	Robots Directives

	// NeedsScript says that the page is empty without its scripts (prune.NeedsScript). It is known of pages that are not large.
	NeedsScript bool

	// Unparsed says why links are missing: UnparsedDeep and UnparsedBroken, all; UnparsedLong, UnparsedTags and
	// UnparsedAttrs, those behind the first MaxParse bytes, MaxTags tags or attrs.Max attributes; UnparsedParts, all of what is no page; UnparsedXML, perhaps some. Empty if none is.
	Unparsed string
}

// The values of Page.Unparsed. They are stable: pages are counted by them.
const (
	UnparsedDeep   = "512 open elements" // golang.org/x/net/html refuses to nest deeper
	UnparsedLong   = "over 10 MiB"
	UnparsedTags   = "over 131072 tags"
	UnparsedAttrs  = "over 131072 attributes"
	UnparsedBroken = "html parser failed"
	UnparsedNested = "page within an attribute"     // an iframe's srcdoc, that is
	UnparsedParts  = "not what its media type says" // a web manifest that is not JSON
	UnparsedXML    = "not well-formed XML"          // a page in XML, which was read as HTML as well
)

// Link is a mention of a URL.
type Link struct {
	URL     canon.URL
	Embed   bool   // a requisite: what a browser fetches by itself to show the page
	Element string // "a", "img"; empty for a field of the header and in a style sheet
	Attr    string // "href", "srcset"; of meta "content"; the name of the field; in a style sheet "url", "import" …
	Rel     Rel    // of a, area and link
	Refresh bool   // the page asks to be left for it, by meta refresh or the Refresh field
}

// Shown reports whether the page shows what l leads to as a part of itself: a picture, a film, another page. Style sheets
// and scripts are nothing that it says.
func (l *Link) Shown() bool { return l.Embed && l.Element != "link" && l.Element != "script" }

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
