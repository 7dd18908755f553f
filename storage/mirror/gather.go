package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"iter"
	"net/http"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
	"unique"

	"golang.org/x/sync/errgroup"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/mediatype"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/plainly"
	"curtsy/storage/sorted"
	"curtsy/storage/warc"
)

// Reason is why a URL has no file in the mirror.
type Reason string

// The reasons.
const (
	Robots       Reason = "robots"          // robots.txt forbids it, or was unavailable
	OptOut       Reason = "opt-out"         // an opt-out list names it
	Scope        Reason = "scope"           // out of the crawl's scope
	Budget       Reason = "budget"          // over a limit of the crawl
	NoFollow     Reason = "nofollow"        // links to it have nofollow
	Held         Reason = "held"            // held for the operator
	Failed       Reason = "error"           // no usable response: a failure, or a status other than 200
	Gone         Reason = "gone"            // status 404 or 410
	NoArchive    Reason = "noarchive"       // it asks not to be archived
	Truncated    Reason = "truncated"       // its body was cut
	TooLarge     Reason = "too large"       // its body exceeds Options.MaxBody or the crawl's limit
	Damaged      Reason = "damaged"         // its record is unreadable, or its body undecodable
	NoOriginal   Reason = "no original"     // a revisit of a response that is not in the archive
	Redirect     Reason = "redirect"        // it redirects to a URL that is not in the mirror, or in a loop
	NotFetched   Reason = "not fetched"     // it was not requested
	ByScript     Reason = "named by script" // only scripts and JSON name it; the detail has its outcome
	NotRewritten Reason = "not rewritten"   // a document too large to be searched for links
)

// reasonWords are the reasons for users.
var reasonWords = map[Reason]string{
	Robots: "robots.txt forbids it", OptOut: "an opt-out list names it", Scope: "out of the crawl's scope",
	Budget: "over a limit of the crawl", NoFollow: "links to it have nofollow", Held: "held for the operator",
	Failed: "no usable response", Gone: "status 404 or 410", NoArchive: "it asks not to be archived (noarchive)",
	Truncated: "its body was cut", TooLarge: "its body is too large", Damaged: "its record or body is damaged",
	NoOriginal: "its original is not in the archive", Redirect: "redirects to a URL that is not in the mirror",
	NotFetched: "not requested", ByScript: "only scripts name it", NotRewritten: "too large to rewrite its links",
}

// Why explains a reason in words; detail is that of a Missing.
func (r Reason) Why(detail string) string {
	words, own := plainly.Reason(detail), cmp.Or(reasonWords[r], string(r)) // reasons of references are words
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

// Flags of an entry.
const (
	kept  = 1 << iota // an older response represents a page that is gone
	stale             // an older response represents an unusable one
	owner             // it has the file, which others may share

	unreadable // its record, or a later one of its URL, is unreadable; otherwise a damaged body was archived like that
)

// entry is an archived URL: 96 bytes and its strings, all in memory.
type entry struct {
	key     string
	name    string                // of its file; of a redirect its target, see targetOf
	sum     [16]byte              // of its payload's digest; zero if unknown
	offset  int64                 // of the record that has the body
	length  int64                 // of that record's gzip member, from the index
	seen    int64                 // time of the last such response, in microseconds
	kind    unique.Handle[string] // its Content-Type
	segment int32
	final   int32 // entry at the end of a redirect; -1 without one
	status  uint16
	state   state
	flags   uint8
}

// maxType bounds a stored Content-Type, in bytes; a longer one is normalized.
const maxType = 256

// kindOf interns a Content-Type.
func kindOf(contentType string) unique.Handle[string] {
	if len(contentType) > maxType {
		contentType = mediatype.Parse(contentType).String()
	}
	return unique.Make(strings.ToValidUTF8(contentType[:min(len(contentType), maxType)], "\uFFFD"))
}

// plan is every archived URL, sorted by key.
type plan struct {
	entries []entry
	layout  layout.Layout
}

// index prepares find. Entries do not move afterwards.
func (p *plan) index() {
	slices.SortFunc(p.entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
}

func (p *plan) search(key string) (int, bool) {
	return sort.Find(len(p.entries), func(i int) int { return strings.Compare(key, p.entries[i].key) })
}

func (p *plan) find(key string) (*entry, bool) {
	i, ok := p.search(key)
	if !ok {
		return nil, false
	}
	return &p.entries[i], true
}

func (p *plan) has(key string) bool {
	e, ok := p.find(key)
	return ok && p.fileOf(e) != nil
}

// fileOf returns the entry whose file e uses: itself, or the end of its redirects; nil without one.
func (p *plan) fileOf(e *entry) *entry {
	switch {
	case e.state == isFile:
		return e
	case e.state == isRedirect && e.final >= 0:
		return &p.entries[e.final]
	}
	return nil
}

// placeIn returns the fragment of a Location with its "#", or "" if that has more than 1 KiB.
func placeIn(location string) string {
	i := strings.IndexByte(location, '#')
	if i < 0 || len(location)-i > 1024 {
		return ""
	}
	return escaped(strings.Trim(location[i:], " \t"), fragmentSafe)
}

// targetOf returns the key of a redirect's target and the fragment with its "#", or "".
func targetOf(e *entry) (key, fragment string) {
	if i := strings.IndexByte(e.name, '#'); i >= 0 { // a key has none
		return e.name[:i], e.name[i:]
	}
	return e.name, ""
}

// placeOf returns the last fragment on the way of a redirect, or "".
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

func (p *plan) resolve() {
	for i := range p.entries {
		e := &p.entries[i]
		if e.state != isRedirect {
			continue
		}
		e.final = -1
		for to, hops := e, 0; hops < maxHops && to.state == isRedirect; hops++ {
			target, _ := targetOf(to)
			j, ok := p.search(target)
			if !ok {
				break
			}
			if to = &p.entries[j]; to.state == isFile {
				e.final = int32(j) //nolint:gosec // there are fewer
			}
		}
	}
}

func (p *plan) name() {
	set := planned{p: p}
	for i := range p.entries {
		if p.entries[i].state == isFile {
			set.order = append(set.order, int32(i)) //nolint:gosec // there are fewer
		}
	}
	names, owners := p.layout.Names(set)
	all := strings.Join(names, "") // one string takes less memory
	for i, s := range names {
		e := &p.entries[set.order[i]]
		e.name, all = all[:len(s)], all[len(s):]
		e.flags &^= owner
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
func (s planned) ContentType(i int) string { return s.at(i).kind.Value() }
func (s planned) Same(i, j int) bool {
	a, b := s.at(i), s.at(j)
	return a.sum != [16]byte{} && a.sum == b.sum && a.kind == b.kind
}

// keyOf returns the canonical form of a URL; ok is false if it is not on the web.
func keyOf(url string) (canon.URL, bool) {
	if !utf8.ValidString(url) {
		return canon.URL{}, false
	}
	u, err := canon.Parse(url)
	return u, err == nil
}

const (
	maxHistory = 64  // captures of a URL that are considered, the latest
	maxNotes   = 100 // of a Summary
)

// history is the captures of a URL in order of time.
type history struct {
	url      canon.URL
	captures []capture
}

type capture struct {
	at   place
	time time.Time // to the second
}

type gatherer struct {
	*opened
	options *Options
	plan    *plan

	mu      sync.Mutex
	skipped int64 // captures that are not of web URLs
	lost    int64 // captures with an unreadable record

	saved map[*entry]salvaged
}

// salvaged is an entry with a damaged record that keeps its previous file.
type salvaged struct {
	line Entry // of the previous map
	was  entry // as archived
}

func gather(ctx context.Context, o *opened, options *Options, temp string) (*gatherer, error) {
	g := &gatherer{opened: o, options: options, plan: &plan{layout: options.Layout}, saved: map[*entry]salvaged{}}
	group, ctx := errgroup.WithContext(ctx)
	work := make(chan history, 64)
	group.Go(func() error {
		defer close(work)
		return g.scan(cdxj.Sorted(ctx, temp, o.index...), func(h history) error {
			select {
			case work <- h:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() (err error) {
			var from warc.Places
			defer func() { err = errors.Join(err, from.Close()) }()
			for h := range work {
				options.Progress.Read.Add(1)
				if err := g.add(ctx, &from, h); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("mirror: read the archive: %w", err)
	}
	g.plan.index()
	return g, nil
}

// scan calls give with the captures of each URL. All spellings of a URL have one key of the index and adjacent lines.
func (g *gatherer) scan(lines iter.Seq2[[]byte, error], give func(history) error) error {
	last, together := "", map[string]*history{}
	flush := func() error {
		for _, h := range together {
			if err := give(*h); err != nil {
				return err
			}
		}
		clear(together)
		return nil
	}
	for line, err := range lines {
		if err != nil {
			return err
		}
		l, err := cdxj.ParseLine(line)
		if err != nil {
			return err
		}
		if l.Key != last {
			if err := flush(); err != nil {
				return err
			}
			last = l.Key
		}
		u, ok := keyOf(l.URL)
		seg, there := g.segment(l.Filename)
		if !there {
			return fmt.Errorf("the index names the segment %.100q, which is not among those given", l.Filename)
		}
		if !ok {
			g.skipped++
			continue
		}
		h := together[u.Key()]
		if h == nil {
			h = &history{url: u}
			together[u.Key()] = h
		}
		if len(h.captures) == maxHistory {
			h.captures = h.captures[1:]
		}
		h.captures = append(h.captures,
			capture{place{int32(seg), l.Offset, l.Length}, l.Time}) //nolint:gosec // there are fewer
	}
	return flush()
}

func (g *gatherer) add(ctx context.Context, from *warc.Places, h history) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e, ok, err := g.decide(from, h)
	if err != nil || !ok {
		return err
	}
	e.key = strings.Clone(h.url.Key())
	g.mu.Lock()
	g.plan.entries = append(g.plan.entries, e)
	g.mu.Unlock()
	return nil
}

// decide reads the captures of a URL, the latest first, until one counts: the latest response does, except that a
// failure does not change earlier ones. noarchive also applies to earlier ones.
func (g *gatherer) decide(from *warc.Places, h history) (e entry, ok bool, err error) {
	var first entry
	noted, damaged := false, uint8(0)
	for a, err := range g.latestFirst(from, h) {
		if err != nil {
			return e, false, err
		}
		if a.decision == storage.DecisionRobots && !a.linked || a.decision == storage.DecisionOwner || a.decision == "" &&
			h.url.Path() == "/robots.txt" {
			continue // the crawler's request for itself
		}
		e, err := g.judge(from, a, h.url)
		if err != nil {
			return e, false, err
		}
		damaged |= e.flags & unreadable
		switch {
		case e.state == isFile || e.state == isRedirect:
			e.flags |= damaged
			if noted && first.state == isGone {
				e.flags |= kept
			} else if noted {
				e.flags |= stale
			}
			return e, true, nil
		case !noted:
			first, noted = e, true
		}
		if e.state == isNoArchive || e.state == isGone && g.options.removes(a.Date) {
			if first.state != isGone {
				first = e
			}
			damaged = 0 // in any case nothing is shown
			break
		}
	}
	first.flags |= damaged
	return first, noted, nil
}

// latestFirst returns the responses of a history, the latest first. An index has only the second.
func (g *gatherer) latestFirst(from *warc.Places, h history) func(yield func(*version, error) bool) {
	return func(yield func(*version, error) bool) {
		cs := h.captures
		slices.SortStableFunc(cs, func(a, b capture) int { return b.time.Compare(a.time) })
		for len(cs) > 0 {
			n := 1
			for n < len(cs) && cs[n].time.Equal(cs[0].time) {
				n++
			}
			var same []*version
			for _, c := range cs[:n] {
				a, err := g.read(from, c.at)
				if ours(err) {
					yield(nil, err)
					return
				}
				if err != nil {
					g.cannotRead(c.at, fmt.Errorf("%s: %w", h.url.Key(), err))
					a = &version{Answer: &answer.Answer{Date: c.time}, at: c.at}
				}
				same = append(same, a)
			}
			slices.SortFunc(same, func(a, b *version) int {
				return cmp.Or(b.Date.Compare(a.Date), strings.Compare(b.ID, a.ID))
			})
			for _, a := range same {
				if !yield(a, nil) {
					return
				}
			}
			cs = cs[n:]
		}
	}
}

func (g *gatherer) cannotRead(at place, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !strings.HasSuffix(g.segments[at.segment], ".open") { // a kill may have torn its end
		g.lost++
	}
	if len(g.notes) < maxNotes {
		g.notes = append(g.notes, fmt.Sprintf("%s: at byte %d: %v", g.segments[at.segment], at.offset, err))
	}
}

// salvage keeps the previous files of damaged responses, unless the archive has a later one.
func (g *gatherer) salvage(was *previous, d *disk) error {
	isAffected := func(e entry) bool { return e.state == isDamaged || e.flags&unreadable != 0 }
	if was.dir == "" || !slices.ContainsFunc(g.plan.entries, isAffected) {
		return nil
	}
	for line, err := range Map(was.dir) {
		if err != nil {
			return err
		}
		e, ok := g.plan.find(line.URL)
		if !ok || !isAffected(*e) || line.File == "" || line.Redirect != "" || d.old(line.File) == nil {
			continue
		}
		isUsable := e.state == isFile || e.state == isRedirect
		if isUsable && max(line.Date, line.Seen) <= dateOf(time.UnixMicro(e.seen)) {
			continue
		}
		if _, again := g.saved[e]; !again {
			g.saved[e] = salvaged{line, *e}
			e.state, e.kind, e.sum = isFile, kindOf(line.Type), [16]byte{}
		}
	}
	return nil
}

// name plans the names of files. A salvaged file keeps its name or is dropped.
func (g *gatherer) name() {
	for again := true; again; {
		again = false
		g.plan.resolve()
		g.plan.name()
		for e, s := range g.saved {
			if e.name != s.line.File {
				*e, again = s.was, true
				delete(g.saved, e)
			}
		}
	}
}

func (g *gatherer) judge(from *warc.Places, a *version, url canon.URL) (entry, error) {
	e := entry{segment: a.at.segment, offset: a.at.offset, length: a.at.length, seen: a.Date.UnixMicro(),
		status: uint16(a.status()), final: -1} //nolint:gosec // three digits
	if a.ID == "" && a.status() == 0 {
		e.state, e.flags = isDamaged, unreadable
		return e, nil
	}
	if a.noArchive {
		e.state = isNoArchive
		return e, nil
	}
	body, err := g.original(from, a, url.String())
	if err != nil {
		return e, err
	}
	switch status := a.status(); {
	case a.Revisit && body == nil && (status == http.StatusNotModified || status/100 == 2):
		e.state = isNoOriginal
	case a.Revisit && status == http.StatusNotModified:
		e.status = uint16(body.status()) //nolint:gosec // three digits
		g.judgeBody(&e, body, body)
	case status == http.StatusNotFound, status == http.StatusGone:
		e.state = isGone
	case status/100 == 3:
		e.state = isFailed
		location := a.Header.Get("Location")
		if to, err := url.Resolve(location); err == nil && location != "" && to.Key() != url.Key() {
			e.state, e.name = isRedirect, strings.Clone(to.Key()+placeIn(location))
		}
	case status >= 200 && status <= 203:
		g.judgeBody(&e, a, body)
	default:
		e.state = isFailed
	}
	return e, nil
}

func (g *gatherer) judgeBody(e *entry, a, body *version) {
	switch {
	case body.noArchive:
		e.state = isNoArchive
	case body.Truncated != "":
		e.state = isTruncated
	case body.status() < 200 || body.status() > 203:
		e.state = isFailed
	default:
		contentType := mediatype.Value(a.Header)
		if mediatype.Parse(contentType).Unnamed() {
			contentType = mediatype.Value(body.Header)
		}
		if mediatype.Parse(contentType).Unnamed() {
			contentType = body.sniffed
		}
		e.kind, e.segment, e.offset, e.length = kindOf(contentType), body.at.segment, body.at.offset,
			body.at.length
		if d := answer.Digest(body.Digest); d != "" {
			sum := sha256.Sum256([]byte(d))
			copy(e.sum[:], sum[:])
		}
	}
}

// newSorter returns a sorter of lines with 8 MiB of memory and files in dir.
func newSorter(dir string) *sorted.Sorter { return sorted.New(dir, 8<<20) }

// previous is the record of each file of the previous tree.
type previous struct {
	dir     string // "" if it is missing or unreadable
	seed    maphash.Seed
	records map[uint64]uint64 // by hashes of the file's name and of the record's id and digest
}

// readPrevious reads the previous map. If it is unreadable, only documents are shared, whose bytes are compared.
func readPrevious(dir string, notes *[]string) *previous {
	b := &previous{dir: dir, seed: maphash.MakeSeed(), records: map[uint64]uint64{}}
	for e, err := range Map(dir) {
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) && len(*notes) < maxNotes {
				*notes = append(*notes, fmt.Sprintf("the mirror before is not taken into account: %v", err))
			}
			return &previous{seed: b.seed}
		}
		if e.Redirect != "" || e.File == "" {
			continue
		}
		file := maphash.String(b.seed, e.File)
		if _, has := b.records[file]; !has || e.Size > 0 { // the line with a size is the owner's
			b.records[file] = b.record(e.Record, e.Digest)
		}
	}
	return b
}

// record hashes a record's id and digest: archives of other crawlers may have an id twice.
func (b *previous) record(id, digest string) uint64 {
	return maphash.String(b.seed, id+"\n"+digest)
}

// has reports whether a file of the previous tree is of this record; false without a digest.
func (b *previous) has(file string, rec *warc.Record) bool {
	digest := rec.Fields.Get("WARC-Payload-Digest")
	was, ok := b.records[maphash.String(b.seed, file)]
	return ok && digest != "" && was == b.record(rec.ID(), digest)
}
