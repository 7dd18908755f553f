package changes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/export"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mediatype"
	"curtsy/storage/sorted"
)

// Options say what is compared.
type Options struct {
	From, To int64  // generations; zero means the last two
	Temp     string // for temporary files; empty means the system's folder
	Running  bool   // the crawl is: its ledger counts up to its checkpoint

	// OptedOut reports whether an opt-out list in force names the URL, for the latest generation. Nil means that there
	// is no list.
	OptedOut func(canon.URL) bool
}

// ErrOne says that a crawl has one generation alone.
var ErrOne = errors.New("there is one generation, and nothing to compare it with")

// ErrGeneration says that there is no such generation, or that the one is not older than the other.
var ErrGeneration = errors.New("no such generations")

// Compare says how two generations of the crawl in dir differ. The crawl may be running.
func Compare(ctx context.Context, dir string, o Options) (_ *Result, err error) {
	in, err := export.Open(ctx, o.Temp, dir)
	if err != nil {
		return nil, fmt.Errorf("changes: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if o.Running {
		in.Crawls[0].Entries = in.Crawls[0].Size
	}
	r, err := readLedger(ctx, o.Temp, in.Crawls[0])
	if err != nil {
		return nil, fmt.Errorf("changes: %w", err)
	}
	defer func() { err = errors.Join(err, r.lines.Close()) }()
	latest := max(r.latest, in.Crawls[0].Generation())
	from, to, err := o.which(latest)
	if err != nil {
		return nil, err
	}
	c := &comparing{
		from: from, to: to,
		r: &Result{
			Version: Version, From: r.of(from), To: r.of(to), Latest: latest, BadLines: r.bad, Dir: dir, Running: o.Running,
			Counts: map[string]Count{}, Kinds: map[string]int64{}, Missing: map[string]int64{}, Changes: []Change{},
		},
	}
	// What the last update wrote says whether it came to its end.
	if head, ok := crawldir.ReadChangesHeader(filepath.Join(dir, crawldir.ChangesName)); ok && head.Generation == to {
		c.r.Complete, c.r.Round = head.Complete, head.Round
	}
	if to == latest {
		c.listed = o.OptedOut
	}
	if err := c.outcomes(ctx, r); err != nil {
		return nil, err
	}
	c.moves()
	if err := c.read(ctx, in); err != nil {
		return nil, err
	}
	c.count()
	return c.r, nil
}

// which are the generations to compare.
func (o Options) which(latest int64) (from, to int64, err error) {
	if latest < 2 {
		return 0, 0, ErrOne
	}
	to = cmp.Or(o.To, latest)
	from = cmp.Or(o.From, to-1)
	if from < 1 || to > latest || from >= to {
		return 0, 0, fmt.Errorf("%w: %d and %d; there are 1 to %d, and the first must be the older one", ErrGeneration, from, to, latest)
	}
	return from, to, nil
}

func (r *ledgerReading) of(generation int64) Generation {
	if g := r.generations[generation]; g != nil {
		return *g
	}
	return Generation{Number: generation}
}

// comparing is one comparison.
type comparing struct {
	from, to int64
	r        *Result
	listed   func(canon.URL) bool         // an opt-out list names it; nil if none is known
	pairs    []pair                       // beside r.Changes
	spent    int                          // bytes of diffs
	alike    map[[sha256.Size]byte]string // the first URL by the lines that go and come
}

// pair is what is read of a change.
type pair struct {
	payload     [2]string // before and after
	wanted      [2]bool   // the texts
	texts       [2]*reading
	outstanding int
}

// outcomes goes through the ledger by URL.
func (c *comparing) outcomes(ctx context.Context, r *ledgerReading) error {
	var h history
	for row, err := range r.lines.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("changes: %w", err)
		}
		if row.Key != h.url {
			c.settle(&h)
			h = history{url: row.Key}
		}
		h.take(&row.Value, c.from, c.to)
	}
	c.settle(&h)
	return nil
}

// settle says what became of a URL.
func (c *comparing) settle(h *history) {
	change := c.became(h)
	if change == "" {
		return
	}
	of := &h.is
	if change == Gone || !h.now {
		of = &h.was
	}
	x := Change{URL: h.url, Change: change, Page: of.page() || h.had && h.was.there && h.was.page()}
	if change == Unchanged || len(c.r.Changes) == MaxListed {
		c.tally(&x)
		if change != Unchanged {
			c.r.LeftOut++
		}
		return
	}
	if h.had && h.was.there {
		x.Before = h.was.answer()
	}
	if h.now {
		x.After = h.is.answer()
	} else if change == Unknown {
		x.Why = h.lost.Why
	}
	p := pair{payload: [2]string{h.was.Payload, h.is.Payload}}
	if change == New {
		p.payload[0] = ""
	}
	c.r.Changes, c.pairs = append(c.r.Changes, x), append(c.pairs, p)
}

// became is what became of a URL; "" where neither generation has it.
func (c *comparing) became(h *history) string {
	had := h.had && h.was.there
	switch {
	case h.now && h.is.there && !had:
		return New
	case !had:
		return ""
	case h.now && !h.is.there:
		return Gone
	case h.now && h.is.Record == h.was.Record && h.is.Payload == h.was.Payload, h.now && c.same(h):
		return Unchanged
	case h.now:
		return Changed
	case h.asked && h.lost.Why == storage.ReasonOptOut:
		return OptedOut
	case h.asked:
		return Unknown
	case c.r.Round || h.met < c.from:
		return "" // a round asks for some pages alone; the others were missing before
	case c.optedOut(h.url):
		return OptedOut
	case c.r.Complete:
		return Unlinked
	}
	return Unasked
}

// optedOut reports whether an opt-out list names a URL now.
func (c *comparing) optedOut(url string) bool {
	u, err := canon.Parse(url)
	return err == nil && c.listed != nil && c.listed(u)
}

// same reports whether two fetched answers have one payload.
func (c *comparing) same(h *history) bool {
	return h.was.Outcome == storage.OutcomeFetched && h.is.Outcome == storage.OutcomeFetched &&
		h.was.Payload != "" && h.was.Payload == h.is.Payload && h.was.Truncated == "" && h.is.Truncated == ""
}

// moves finds payloads that one URL lost and another one, alone, has newly.
func (c *comparing) moves() {
	type places struct{ lost, found []int }
	by := map[string]*places{}
	at := func(payload string) *places {
		if by[payload] == nil {
			by[payload] = &places{}
		}
		return by[payload]
	}
	for i := range c.r.Changes {
		x, p := &c.r.Changes[i], &c.pairs[i]
		switch {
		case x.Change == New && x.Page && p.payload[1] != "" && x.After.Status/100 == 2:
			at(p.payload[1]).found = append(at(p.payload[1]).found, i)
		case x.Page && p.payload[0] != "" && x.Before != nil && x.Before.Status/100 != 3 &&
			(x.Change != Changed && x.Change != New || x.After != nil && x.After.Status/100 == 3):
			at(p.payload[0]).lost = append(at(p.payload[0]).lost, i)
		}
	}
	for _, m := range by {
		if len(m.lost) != 1 || len(m.found) != 1 {
			continue // copies: which is which, nobody knows
		}
		lost, found := &c.r.Changes[m.lost[0]], &c.r.Changes[m.found[0]]
		lost.MovedTo, found.MovedFrom = found.URL, lost.URL
		c.r.Moved++
	}
}

func (c *comparing) tally(x *Change) {
	n := c.r.Counts[x.Change]
	if x.Page {
		n.Pages++
	} else {
		n.Other++
	}
	c.r.Counts[x.Change] = n
}

// count sums up what is listed.
func (c *comparing) count() {
	for i := range c.r.Changes {
		x := &c.r.Changes[i]
		c.tally(x)
		if x.Kind != "" {
			c.r.Kinds[x.Kind]++
		}
		if x.Missing != "" {
			c.r.Missing[x.Missing]++
		}
	}
	for _, w := range Words() {
		if _, ok := c.r.Counts[w]; !ok {
			c.r.Counts[w] = Count{} // each word has its number, also of none
		}
	}
	slices.SortStableFunc(c.r.Changes, func(a, b Change) int { return cmp.Compare(a.URL, b.URL) })
}

// told is what the ledger says of a URL in one line, as it is sorted.
type told struct {
	Generation int64           `json:"g"`
	Time       time.Time       `json:"t"`
	Outcome    storage.Outcome `json:"o"`
	Change     storage.Change  `json:"c,omitempty"`
	Status     int             `json:"s,omitempty"`
	Type       string          `json:"m,omitempty"`
	Payload    string          `json:"p,omitempty"`
	Record     string          `json:"r,omitempty"`
	Truncated  string          `json:"u,omitempty"`
	Why        string          `json:"w,omitempty"`
}

// sortMemory is how many bytes of lines are sorted in memory at once.
const sortMemory = 16 << 20

// A reading of a ledger: its lines by URL, and its generations.
type ledgerReading struct {
	lines       *sorted.Rows[told]
	generations map[int64]*Generation
	latest      int64
	bad         int64
}

// maxGenerations is how many generations are told apart: more than anybody makes.
const maxGenerations = 1 << 20

func readLedger(ctx context.Context, temp string, c *export.Crawl) (r *ledgerReading, err error) {
	r = &ledgerReading{lines: sorted.NewRows[told](temp, sortMemory), generations: map[int64]*Generation{}}
	last := int64(1)
	err = c.Decisions(ctx, func(l *storage.Line, generation int64) error {
		if generation <= 0 || generation > maxGenerations {
			generation = last // it does not say: it is that of the lines before
		}
		last = generation
		g := r.generations[generation]
		if g == nil {
			g = &Generation{Number: generation, Began: l.Time}
			r.generations[generation] = g
		}
		g.Ended = l.Time
		r.latest = max(r.latest, generation)
		return r.add(l, generation)
	})
	if err != nil {
		return nil, errors.Join(err, r.lines.Close())
	}
	return r, nil
}

// add adds a line that says what became of a URL. Refusals that never became a task have no outcome.
func (r *ledgerReading) add(l *storage.Line, generation int64) error {
	if l.Outcome == "" || l.Outcome == storage.OutcomeDeferred || l.Count > 0 ||
		l.Decision == storage.DecisionRobots || l.Decision == storage.DecisionOwner || l.Kind == storage.KindMap {
		return nil
	}
	if strings.ContainsFunc(l.URL, func(c rune) bool { return c <= ' ' }) {
		r.bad++ // no URL of ours
		return nil
	}
	if _, err := canon.Parse(l.URL); err != nil {
		r.bad++
		return nil //nolint:nilerr // it is counted
	}
	return r.lines.Add(l.URL, told{
		Generation: generation, Time: l.Time, Outcome: l.Outcome, Change: l.Change, Status: l.Status, Type: l.Type,
		Payload: l.Payload, Record: l.Record, Truncated: l.Truncated, Why: why(l),
	})
}

// telling reports whether an outcome says what is there.
func telling(o storage.Outcome) bool {
	return o == storage.OutcomeFetched || o == storage.OutcomeRedirected || o == storage.OutcomeGone
}

// why says why nothing is known of what is there.
func why(l *storage.Line) string {
	if telling(l.Outcome) {
		return ""
	}
	if l.Reason == "" {
		return string(l.Decision)
	}
	return l.Reason
}

// state is what the crawl has of a URL at the end of a generation.
type state struct {
	told
	there bool // something was fetched, or it redirects
}

// take takes in a line. What an answer confirms stays as it is, by the record that has its body.
func (s *state) take(t *told) {
	if s.there && (t.Change == storage.ChangeUnchanged || t.Change == storage.ChangeFresh) {
		s.Generation = t.Generation
		return
	}
	*s = state{told: *t, there: t.Outcome != storage.OutcomeGone}
}

// page reports whether it is a page or a text, as far as the server says.
func (s *state) page() bool {
	t := mediatype.Parse(s.Type)
	return s.Outcome == storage.OutcomeFetched && (t.Name == "" || t.IsHTML() || t.IsXHTML() || t.Name == "text/plain")
}

func (s *state) answer() *Answer {
	return &Answer{Time: s.Time, Status: s.Status, Type: s.Type, Record: s.Record}
}

// A history is what the ledger says of a URL, up to a generation and up to another.
type history struct {
	url        string
	was, is    state
	had        bool  // was says something
	met        int64 // the last generation up to the first that has a line of it
	asked, now bool  // the later ones have a line of it; one that tells
	lost       told  // the last one that tells nothing
}

func (h *history) take(t *told, from, to int64) {
	switch {
	case t.Generation > to:
	case t.Generation <= from:
		h.met = t.Generation
		if telling(t.Outcome) {
			h.had = true
			h.was.take(t)
			h.is = h.was
		}
	default:
		h.asked = true
		if telling(t.Outcome) {
			h.now = true
			h.is.take(t)
		} else {
			h.lost = *t
		}
	}
}

// What became of a URL.
const (
	New       = "new"       // the one generation had nothing there
	Changed   = "changed"   // another payload, or a redirect to another place; Kind says which
	Unchanged = "unchanged" // the same payload, or not asked for because it holds still
	Gone      = "gone"      // 404 or 410, where something was
	Unknown   = "unknown"   // it was there, and no answer says whether it still is
	Unlinked  = "unlinked"  // it was there, and nothing led to it when all was done
	OptedOut  = "opted-out" // it was there, and an opt-out list names it or its address now
	Unasked   = "unasked"   // it was there, and was not asked for; whether nothing leads to it is not known
)

// Words are all that may become of a URL, in the order in which they are told.
func Words() []string {
	return []string{New, Changed, Gone, Unknown, OptedOut, Unlinked, Unasked, Unchanged}
}

// How a URL changed.
const (
	Text     = "text"     // the main text differs; the whole text where a page has no main one, or one that lacks much
	Around   = "around"   // the main text is the same, what stands around it differs
	Markup   = "markup"   // the text is the same
	Coding   = "coding"   // the bytes are the same, and were sent with another content coding
	File     = "file"     // it is no text, and its bytes differ
	Redirect = "redirect" // it redirects, or did, or elsewhere
	Unread   = "unread"   // its texts cannot be compared; Missing says why
)

// Kinds are all the ways to change, in the order in which they are told.
func Kinds() []string { return []string{Text, Redirect, File, Unread, Around, Markup, Coding} }

// Why texts cannot be compared.
const (
	NoRecord   = "not in the archive"        // forgotten, lost, or never archived
	NoOriginal = "another archive has it"    // the original of a revisit
	Redacted   = "the body was redacted"     // of it, or of what a revisit refers to
	Cut        = "the body was cut"          // by a limit of the crawl, or the connection
	NoBody     = "the body cannot be read"   // it is damaged
	NoText     = "no text"                   // pages that are pictures alone
	TooMany    = "too many to read them all" // of new and gone pages, whose texts are read up to MaxExcerpts
	Differs    = "only one is a page"        // as when a file takes the place of a page
)

// Reasons are all of them, in the order in which they are told.
func Reasons() []string {
	return []string{NoRecord, NoOriginal, Redacted, Cut, NoBody, NoText, TooMany, Differs}
}

// Bounds.
const (
	MaxListed   = 20_000  // URLs that changed, by name; all are counted
	MaxExcerpts = 1_000   // new and gone pages of which the text is read
	MaxDiffs    = 8 << 20 // bytes of all diffs
	MaxLines    = 200     // lines of a diff
	MaxExcerpt  = 20      // lines of a new page, or one that is gone
	MaxLine     = 600     // bytes of a line that is shown
)

// Version is that of the JSON form.
const Version = 1

// A Result is how two generations of a crawl differ.
type Result struct {
	Version  int        `json:"version"`
	Dir      string     `json:"dir"`
	From     Generation `json:"from"`
	To       Generation `json:"to"`
	Latest   int64      `json:"latest"`   // generation
	Running  bool       `json:"running"`  // the crawl was, so that To may not be whole
	Complete bool       `json:"complete"` // nothing of To was left to do, as far as that is known
	Round    bool       `json:"round,omitempty"`

	Counts  map[string]Count `json:"counts"`  // by what became of URLs
	Kinds   map[string]int64 `json:"kinds"`   // of those that changed
	Missing map[string]int64 `json:"missing"` // why texts are missing
	Moved   int64            `json:"moved"`

	Changes  []Change `json:"changes"`   // by URL, without those that are unchanged
	LeftOut  int64    `json:"left_out"`  // changes beyond MaxListed
	NoDiffs  int64    `json:"no_diffs"`  // diffs beyond MaxDiffs
	BadLines int64    `json:"bad_lines"` // of the ledger, of what is no URL of ours
}

// A Generation is one of the crawl, as its ledger has it.
type Generation struct {
	Number int64     `json:"generation"`
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended"` // its last decision
}

// Count is of pages and of all else: pictures, style sheets, redirects.
type Count struct {
	Pages int64 `json:"pages"`
	Other int64 `json:"other"`
}

// All is how many there are.
func (c Count) All() int64 { return c.Pages + c.Other }

// A Change is what became of one URL.
type Change struct {
	URL    string  `json:"url"`
	Change string  `json:"change"`
	Kind   string  `json:"kind,omitempty"`   // of Changed
	Why    string  `json:"why,omitempty"`    // of Unknown, what the ledger says
	Page   bool    `json:"page"`             // it is a page or a text
	Title  string  `json:"title,omitempty"`  // first line of its text
	Before *Answer `json:"before,omitempty"` // nil for what is new
	After  *Answer `json:"after,omitempty"`  // nil where there is none

	MovedTo   string `json:"moved_to,omitempty"`   // where the same payload is now, and was not before
	MovedFrom string `json:"moved_from,omitempty"` // the same, told of what is new

	Missing string `json:"missing,omitempty"` // why there is no text to compare
	Diff    *Diff  `json:"diff,omitempty"`    // without lines where SameAs has them
	SameAs  string `json:"same_as,omitempty"` // the first page whose text changed by the same lines, as by a new footer
}

// An Answer is an archived one.
type Answer struct {
	Time     time.Time `json:"time"`
	Status   int       `json:"status"`
	Type     string    `json:"type,omitempty"`
	Record   string    `json:"record,omitempty"`
	Location string    `json:"location,omitempty"` // of a redirect, as it was written
}

// A Diff is how two texts differ. Of a new page the first text is empty, of one that is gone the second.
type Diff struct {
	Of      string `json:"of"`      // "main" or "whole": which text
	Added   int    `json:"added"`   // lines
	Removed int    `json:"removed"` // lines
	Lines   []Line `json:"lines"`   // in their order, up to MaxLines; begins of parts are lines "@"
	LeftOut int    `json:"left_out,omitempty"`
}

// A Line is one of a diff. In JSON it is its mark followed by its text.
type Line struct {
	Mark byte // '@' for where a part begins, ' ', '-' or '+'
	Text string
}

// MarshalText has JSON write a line as a string.
func (l Line) MarshalText() ([]byte, error) { return append([]byte{l.Mark}, l.Text...), nil }

// Says reports whether a site says something else: a page is new, gone or not known, or has another text, or something
// redirects elsewhere.
func (r *Result) Says() bool {
	for _, word := range []string{New, Gone, Unknown, OptedOut, Unlinked} {
		if r.Counts[word].All() > 0 {
			return true
		}
	}
	return r.LeftOut > 0 || r.Kinds[Text]+r.Kinds[Redirect]+r.Kinds[File]+r.Kinds[Unread] > 0
}
