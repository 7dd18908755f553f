package mirror

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"curtsy/frontier/canon"
	"curtsy/storage/mediatype"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/plainly"
)

// Reason says why a URL has no file in the mirror.
type Reason string

// The reasons.
const (
	Robots       Reason = "robots"          // robots.txt forbids it, or could not be had
	OptOut       Reason = "opt-out"         // an opt-out list names it
	Scope        Reason = "scope"           // the crawl's scope leaves it out
	Budget       Reason = "budget"          // a limit of the crawl leaves it out
	NoFollow     Reason = "nofollow"        // the links to it say nofollow
	Held         Reason = "held"            // held until the operator frees it
	Failed       Reason = "error"           // no usable answer: a failure, or a status that is not 200
	Gone         Reason = "gone"            // status 404 or 410
	NoArchive    Reason = "noarchive"       // it asks not to be archived
	Truncated    Reason = "truncated"       // its body was cut
	TooLarge     Reason = "too large"       // its body is larger than Options.MaxBody, or than the crawl's limit
	Damaged      Reason = "damaged"         // its record cannot be read, or its body not be decoded
	NoOriginal   Reason = "no original"     // a revisit of what is not in the archive
	Redirect     Reason = "redirect"        // it redirects to what is not in the mirror, or in circles
	NotFetched   Reason = "not fetched"     // nobody asked for it
	ByScript     Reason = "named by script" // scripts and JSON alone name it; the detail says what became of it
	NotRewritten Reason = "not rewritten"   // of a document: it is too large to be searched for links
)

// reasonWords are the reasons for people.
var reasonWords = map[Reason]string{
	Robots: "robots.txt forbids it", OptOut: "an opt-out list names it", Scope: "out of the crawl's scope",
	Budget: "over a limit of the crawl", NoFollow: "links to it have nofollow", Held: "held for the operator",
	Failed: "no usable response", Gone: "status 404 or 410", NoArchive: "it asks not to be archived (noarchive)",
	Truncated: "its body was cut", TooLarge: "its body is too large", Damaged: "its record or body is damaged",
	NoOriginal: "its original is not in the archive", Redirect: "redirects to a URL that is not in the mirror",
	NotFetched: "not requested", ByScript: "only scripts name it", NotRewritten: "too large to rewrite its links",
}

// Why explains a reason in words; detail is that of the list of what is missing.
func (r Reason) Why(detail string) string {
	words, own := plainly.Reason(detail), cmp.Or(reasonWords[r], string(r)) // those of references are words already
	switch {
	case detail == "":
		return own
	case r == Scope, r == Gone, r == Failed, r == NotFetched, r == Damaged, r == Redirect && !strings.HasPrefix(detail, "to "):
		return words
	case r == Budget:
		return "--" + detail + " is reached"
	case r == Robots:
		return "robots.txt: " + strings.TrimPrefix(words, "robots.txt: ")
	case r == Redirect:
		return "redirects " + detail
	}
	return own + ": " + words
}

// state is what became of an archived URL.
type state uint8

const (
	isFile state = iota
	isRedirect
	isNoArchive
	isTruncated
	isFailed
	isGone
	isNoOriginal
	isDamaged
	isTooLarge
)

var stateReasons = [...]Reason{"", Redirect, NoArchive, Truncated, Failed, Gone, NoOriginal, Damaged, TooLarge}

// flags of an entry.
const (
	kept  = 1 << iota // an older answer stands for a page that is gone
	stale             // an older answer stands for one that could not be used
	owner             // the file is its own: others may share it

	unreadable // its record, or a later one of its URL, cannot be read; otherwise a damaged body was so when it was archived
)

// entry is an archived URL. There is one for each in memory: 96 bytes and its texts.
type entry struct {
	key     string
	name    string   // of its file; of a redirect its target, see targetOf
	sum     [16]byte // of its payload's digest; zero if that is not known
	offset  int64    // of the record that has the body
	length  int64    // of that record's gzip member, as the index says
	seen    int64    // when it was last answered so, in microseconds
	segment int32
	final   int32  // entry at the end of a redirect; -1 if there is none
	kind    uint32 // of the plan's texts: its Content-Type
	status  uint16
	state   state
	flags   uint8
}

// texts keeps strings in large pieces, and equal ones of a kind once.
type texts struct {
	mu    sync.Mutex
	chunk strings.Builder
	kinds []string
	known map[string]uint32
}

// keep returns a copy of s that does not hold on to the memory of s.
func (t *texts) keep(s string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.chunk.Cap()-t.chunk.Len() < len(s) {
		t.chunk = strings.Builder{}
		t.chunk.Grow(max(64<<10, len(s)))
	}
	from := t.chunk.Len()
	t.chunk.WriteString(s)
	return t.chunk.String()[from:]
}

// maxType is how much of a Content-Type value is kept; of a longer one, what it means.
const maxType = 256

// kind returns the number of a Content-Type value.
func (t *texts) kind(s string) uint32 {
	if len(s) > maxType {
		s = mediatype.Parse(s).String()
	}
	s = strings.ToValidUTF8(s[:min(len(s), maxType)], "\uFFFD")
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.known[s]
	if !ok {
		if t.known == nil {
			t.known = map[string]uint32{}
		}
		s = strings.Clone(s)
		n = uint32(len(t.kinds)) //nolint:gosec // there are fewer
		t.kinds, t.known[s] = append(t.kinds, s), n
	}
	return n
}

// plan is every archived URL, sorted by key.
type plan struct {
	entries []entry
	texts   texts
	layout  layout.Layout

	byKey map[string]int32 // entries by their keys
}

// index makes the entries known to find. They do not move after that.
func (p *plan) index() {
	slices.SortFunc(p.entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	p.byKey = make(map[string]int32, len(p.entries))
	for i, e := range slices.Backward(p.entries) { // the first of a key counts
		p.byKey[e.key] = int32(i) //nolint:gosec // there are fewer
	}
}

func (p *plan) find(key string) (*entry, bool) {
	i, ok := p.byKey[key]
	if !ok {
		return nil, false
	}
	return &p.entries[i], true
}

// has reports whether a key has a file.
func (p *plan) has(key string) bool {
	e, ok := p.find(key)
	return ok && p.fileOf(e) != nil
}

// fileOf returns the entry whose file is that of e: itself, or the end of its redirects; nil if there is none.
func (p *plan) fileOf(e *entry) *entry {
	switch {
	case e.state == isFile:
		return e
	case e.state == isRedirect && e.final >= 0:
		return &p.entries[e.final]
	}
	return nil
}

// maxPlace is the most bytes of a place in a page that a redirect names: what is longer is none.
const maxPlace = 1024

// placeIn returns the fragment of a Location with its "#", or "".
func placeIn(location string) string {
	i := strings.IndexByte(location, '#')
	if i < 0 || len(location)-i > maxPlace {
		return ""
	}
	return escaped(strings.Trim(location[i:], " \t"), fragmentSafe)
}

// targetOf returns the key of what a redirect leads to, and the place in it with its "#", or "".
func targetOf(e *entry) (key, fragment string) {
	if i := strings.IndexByte(e.name, '#'); i >= 0 { // a key has none
		return e.name[:i], e.name[i:]
	}
	return e.name, ""
}

// placeOf returns the place in its file to which a redirect leads, or "": the last that is named on the way.
func (p *plan) placeOf(e *entry) (fragment string) {
	for hops := 0; hops < maxHops && e.state == isRedirect; hops++ {
		key, place := targetOf(e)
		if place != "" {
			fragment = place
		}
		next, ok := p.find(key)
		if !ok {
			break
		}
		e = next
	}
	return fragment
}

// maxHops is how many redirects in a row are followed, as in a crawl.
const maxHops = 10

// resolve follows the redirects.
func (p *plan) resolve() {
	for i := range p.entries {
		e := &p.entries[i]
		if e.state != isRedirect {
			continue
		}
		e.final = -1
		for to, hops := e, 0; hops < maxHops && to.state == isRedirect; hops++ {
			target, _ := targetOf(to)
			j, ok := p.byKey[target]
			if !ok {
				break
			}
			if to = &p.entries[j]; to.state == isFile {
				e.final = j
			}
		}
	}
}

// name gives each file its name.
func (p *plan) name() {
	set := planned{p: p}
	for i := range p.entries {
		if p.entries[i].state == isFile {
			set.order = append(set.order, int32(i)) //nolint:gosec // there are fewer
		}
	}
	names, owners := p.layout.Names(set)
	for i, s := range names {
		e := &p.entries[set.order[i]]
		e.name, e.flags = p.texts.keep(s), e.flags&^owner
		if owners[i] {
			e.flags |= owner
		}
	}
}

type planned struct {
	p     *plan
	order []int32
}

func (s planned) at(i int) *entry          { return &s.p.entries[s.order[i]] }
func (s planned) Len() int                 { return len(s.order) }
func (s planned) Key(i int) string         { return s.at(i).key }
func (s planned) ContentType(i int) string { return s.p.texts.kinds[s.at(i).kind] }
func (s planned) Same(i, j int) bool {
	a, b := s.at(i), s.at(j)
	return a.sum != [16]byte{} && a.sum == b.sum && a.kind == b.kind
}

// keyOf returns the canonical URL of an archived one; ok is false for what is not on the web.
func keyOf(url string) (canon.URL, bool) {
	if !utf8.ValidString(url) {
		return canon.URL{}, false
	}
	u, err := canon.Parse(url)
	return u, err == nil
}
