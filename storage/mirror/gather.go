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
	name    string                // of its file; of a redirect its target, see targetOf
	sum     [16]byte              // of its payload's digest; zero if that is not known
	offset  int64                 // of the record that has the body
	length  int64                 // of that record's gzip member, as the index says
	seen    int64                 // when it was last answered so, in microseconds
	kind    unique.Handle[string] // its Content-Type
	segment int32
	final   int32 // entry at the end of a redirect; -1 if there is none
	status  uint16
	state   state
	flags   uint8
}

// maxType is how much of a Content-Type value is kept; of a longer one, what it means.
const maxType = 256

// kindOf returns a Content-Type value as it is kept: equal ones once.
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

// index makes the entries known to find. They do not move after that.
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
	all := strings.Join(names, "") // they take less memory than each in its own piece
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

// keyOf returns the canonical URL of an archived one; ok is false for what is not on the web.
func keyOf(url string) (canon.URL, bool) {
	if !utf8.ValidString(url) {
		return canon.URL{}, false
	}
	u, err := canon.Parse(url)
	return u, err == nil
}

const (
	// maxHistory is how many captures of a URL are considered, the latest.
	maxHistory = 64
	// maxNotes is how many notes a Summary has.
	maxNotes = 100
)

// history is the captures of a URL, in the order of time.
type history struct {
	url      canon.URL
	captures []capture
}

type capture struct {
	at   place
	time time.Time // to the second
}

// gatherer makes a plan of an archive.
type gatherer struct {
	*opened
	options *Options
	plan    *plan

	mu      sync.Mutex
	skipped int64 // captures of what is not on the web
	lost    int64 // captures whose record cannot be read

	saved map[*entry]salvaged
}

// salvaged is what is known of an entry whose file is that of the tree before, because a record is damaged.
type salvaged struct {
	line Entry // in the map of the tree before
	was  entry // as the archive has it
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

// scan gives the captures of each URL to give. They have one key of the index, and so their lines stand together, with those
// of the URL's other spellings.
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

// decide reads the captures of a URL, the latest first, until one counts. The latest answer does; but a wish not to be
// archived holds for the answers before it, and a failure says nothing about them.
func (g *gatherer) decide(from *warc.Places, h history) (e entry, ok bool, err error) {
	var first entry
	noted, damaged := false, uint8(0)
	for a, err := range g.latestFirst(from, h) {
		if err != nil {
			return e, false, err
		}
		if a.decision == storage.DecisionRobots && !a.linked || a.decision == storage.DecisionOwner || a.decision == "" &&
			h.url.Path() == "/robots.txt" {
			continue // the crawler requested it for itself
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
			damaged = 0 // whatever it was, nothing is shown
			break
		}
	}
	first.flags |= damaged
	return first, noted, nil
}

// latestFirst returns the answers of a history, the latest first: an index knows the second only.
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
	if !strings.HasSuffix(g.segments[at.segment], ".open") { // whose end a kill may have torn
		g.lost++
	}
	if len(g.notes) < maxNotes {
		g.notes = append(g.notes, fmt.Sprintf("%s: at byte %d: %v", g.segments[at.segment], at.offset, err))
	}
}

// salvage keeps the files of the tree before whose responses are damaged, unless the archive has a later one.
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

// name plans where each file is. A file of the tree before cannot stand for another name than it has.
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

// judgeBody is judge for an answer whose body belongs into the mirror, if it is whole.
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

// newSorter returns a sorter of lines, which have no newline, whose files are in dir. It takes 8 MiB of memory.
func newSorter(dir string) *sorted.Sorter { return sorted.New(dir, 8<<20) }

// previous is what is known of the tree before: of which record each of its files is.
type previous struct {
	dir     string // "" if there is none, or nothing can be made of it
	seed    maphash.Seed
	records map[uint64]uint64 // by hashes of the file's name and of what tells the record
}

// readPrevious reads the map of the tree before. A map that cannot be read is no obstacle: the tree is derived, and
// then only documents are shared with it, whose bytes are compared.
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
		if _, has := b.records[file]; !has || e.Size > 0 { // the line with a size is that of the file's owner
			b.records[file] = b.record(e.Record, e.Digest)
		}
	}
	return b
}

// record tells records apart: by their ids and, since archives of others may have an id twice, their digests.
func (b *previous) record(id, digest string) uint64 {
	return maphash.String(b.seed, id+"\n"+digest)
}

// has reports whether a file of the tree before is of this record. Without a digest nobody knows.
func (b *previous) has(file string, rec *warc.Record) bool {
	digest := rec.Fields.Get("WARC-Payload-Digest")
	was, ok := b.records[maphash.String(b.seed, file)]
	return ok && digest != "" && was == b.record(rec.ID(), digest)
}
