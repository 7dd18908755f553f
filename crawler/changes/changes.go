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

// Options select the generations to compare.
type Options struct {
	From, To int64  // generations; zero means the last two
	Temp     string // folder for temporary files; empty means the system's
	Running  bool   // the crawl runs: read its ledger up to the checkpoint

	// OptedOut reports whether an opt-out list in force names the URL, for the latest generation. Nil means no list.
	OptedOut func(canon.URL) bool
}

// ErrOne means that a crawl has only one generation.
var ErrOne = errors.New("there is one generation, and nothing to compare it with")

// ErrGeneration means that a generation does not exist, or that From is not older than To.
var ErrGeneration = errors.New("no such generations")

// Compare compares two generations of the crawl in dir, which may be running.
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
	// The last update recorded whether it completed.
	if head, ok := crawldir.ReadChangesHeader(filepath.Join(dir, crawldir.ChangesName)); ok && head.Generation == to {
		c.r.Complete, c.r.Round = head.Complete, head.Round
	}
	if to == latest && o.OptedOut != nil {
		c.listed = func(url string) bool {
			u, err := canon.Parse(url)
			return err == nil && o.OptedOut(u)
		}
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

type comparing struct {
	from, to int64
	r        *Result
	listed   func(url string) bool        // an opt-out list names it; nil if unknown
	pairs    []pair                       // parallel to r.Changes
	spent    int                          // bytes of diffs
	alike    map[[sha256.Size]byte]string // the first URL by changed lines
}

// pair is the reading of one change.
type pair struct {
	payload     [2]string // before and after
	wanted      [2]bool   // texts to read
	texts       [2]*reading
	outstanding int
}

// outcomes reads the ledger by URL.
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

// settle records the change of a URL.
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

// became returns the change of a URL; "" if neither generation has it.
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
	case c.r.Round || h.before < c.from:
		return "" // a round requests only some pages; the others were missing before
	case c.listed != nil && c.listed(h.url):
		return OptedOut
	case c.r.Complete:
		return Unlinked
	}
	return Unasked
}

// same reports whether two fetched responses have the same payload.
func (c *comparing) same(h *history) bool {
	return h.was.Outcome == storage.OutcomeFetched && h.is.Outcome == storage.OutcomeFetched &&
		h.was.Payload != "" && h.was.Payload == h.is.Payload && h.was.Truncated == "" && h.is.Truncated == ""
}

// moves finds payloads that exactly one URL lost and exactly one other gained.
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
			continue // ambiguous copies
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

// count adds up the listed changes.
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
			c.r.Counts[w] = Count{} // each word has a number
		}
	}
	slices.SortStableFunc(c.r.Changes, func(a, b Change) int { return cmp.Compare(a.URL, b.URL) })
}

// entry is a ledger line about a URL, as sorted.
type entry struct {
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

const sortMemory = 16 << 20 // bytes of lines

// ledgerReading is a ledger's lines by URL, and its generations.
type ledgerReading struct {
	lines       *sorted.Rows[entry]
	generations map[int64]*Generation
	latest      int64
	bad         int64
}

const maxGenerations = 1 << 20

func readLedger(ctx context.Context, temp string, c *export.Crawl) (r *ledgerReading, err error) {
	r = &ledgerReading{lines: sorted.NewRows[entry](temp, sortMemory), generations: map[int64]*Generation{}}
	last := int64(1)
	err = c.Decisions(ctx, func(l *storage.Line, generation int64) error {
		if generation <= 0 || generation > maxGenerations {
			generation = last // unknown: that of the previous line
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

// add adds a line with an outcome. Refusals that never became a task have none.
func (r *ledgerReading) add(l *storage.Line, generation int64) error {
	if l.Outcome == "" || l.Outcome == storage.OutcomeDeferred || l.Count > 0 ||
		l.Decision == storage.DecisionRobots || l.Decision == storage.DecisionOwner || l.Kind == storage.KindMap {
		return nil
	}
	if strings.ContainsFunc(l.URL, func(c rune) bool { return c <= ' ' }) {
		r.bad++ // no crawl requests it
		return nil
	}
	if _, err := canon.Parse(l.URL); err != nil {
		r.bad++
		return nil //nolint:nilerr // counted
	}
	why := ""
	if !isConclusive(l.Outcome) {
		why = cmp.Or(l.Reason, string(l.Decision))
	}
	return r.lines.Add(l.URL, entry{
		Generation: generation, Time: l.Time, Outcome: l.Outcome, Change: l.Change, Status: l.Status, Type: l.Type,
		Payload: l.Payload, Record: l.Record, Truncated: l.Truncated, Why: why,
	})
}

// isConclusive reports whether an outcome reveals the content of the URL.
func isConclusive(o storage.Outcome) bool {
	return o == storage.OutcomeFetched || o == storage.OutcomeRedirected || o == storage.OutcomeGone
}

// state describes a URL after a generation.
type state struct {
	entry
	there bool // it was fetched, or it redirects
}

// take adds a line. A confirmed state keeps the record with the body.
func (s *state) take(t *entry) {
	if s.there && (t.Change == storage.ChangeUnchanged || t.Change == storage.ChangeFresh) {
		s.Generation = t.Generation
		return
	}
	*s = state{entry: *t, there: t.Outcome != storage.OutcomeGone}
}

// page reports whether the server declares a page or a text.
func (s *state) page() bool {
	t := mediatype.Parse(s.Type)
	return s.Outcome == storage.OutcomeFetched && (t.Name == "" || t.IsHTML() || t.IsXHTML() || t.Name == "text/plain")
}

func (s *state) answer() *Answer {
	return &Answer{Time: s.Time, Status: s.Status, Type: s.Type, Record: s.Record}
}

// history is a URL's state after each of the two generations.
type history struct {
	url        string
	was, is    state
	had        bool  // was is known
	before     int64 // the last generation up to the first compared one with a line
	asked, now bool  // later generations have a line; one that reveals the content
	lost       entry // the last inconclusive line
}

func (h *history) take(t *entry, from, to int64) {
	switch {
	case t.Generation > to:
	case t.Generation <= from:
		h.before = t.Generation
		if isConclusive(t.Outcome) {
			h.had = true
			h.was.take(t)
			h.is = h.was
		}
	default:
		h.asked = true
		if isConclusive(t.Outcome) {
			h.now = true
			h.is.take(t)
		} else {
			h.lost = *t
		}
	}
}

// Changes of a URL.
const (
	New       = "new"       // it did not exist
	Changed   = "changed"   // another payload or redirect target; see Kind
	Unchanged = "unchanged" // the same payload, or not requested because it is still fresh
	Gone      = "gone"      // 404 or 410, after it existed
	Unknown   = "unknown"   // no response shows whether it is still there
	Unlinked  = "unlinked"  // a complete generation has no link to it
	OptedOut  = "opted-out" // an opt-out list names it or its address now
	Unasked   = "unasked"   // not requested; it is unknown whether a page links to it
)

// Words returns all changes in the order of reports.
func Words() []string {
	return []string{New, Changed, Gone, Unknown, OptedOut, Unlinked, Unasked, Unchanged}
}

// Kinds of Changed.
const (
	Text     = "text"     // the main text differs; the whole text if a page has no main text, or an incomplete one
	Around   = "around"   // only the text around the main text differs
	Markup   = "markup"   // the text is the same
	Coding   = "coding"   // the bytes are the same, in another content coding
	File     = "file"     // not a text, and its bytes differ
	Redirect = "redirect" // a redirect before or after
	Unread   = "unread"   // the texts cannot be compared; see Missing
)

// Kinds returns all kinds in the order of reports.
func Kinds() []string { return []string{Text, Redirect, File, Unread, Around, Markup, Coding} }

// Reasons why texts cannot be compared.
const (
	NoRecord   = "not in the archive"        // forgotten, lost, or never archived
	NoOriginal = "another archive has it"    // the original of a revisit
	Redacted   = "the body was redacted"     // or that of its original
	Cut        = "the body was cut"          // by a limit of the crawl, or the connection
	NoBody     = "the body cannot be read"   // damaged
	NoText     = "no text"                   // for example only pictures
	TooMany    = "too many to read them all" // new and gone pages beyond MaxExcerpts
	Differs    = "only one is a page"        // a file replaces a page, or the reverse
)

// Reasons returns all reasons in the order of reports.
func Reasons() []string {
	return []string{NoRecord, NoOriginal, Redacted, Cut, NoBody, NoText, TooMany, Differs}
}

const (
	MaxListed   = 20_000  // listed changes; all are counted
	MaxExcerpts = 1_000   // new and gone pages whose text is read
	MaxDiffs    = 8 << 20 // bytes of all diffs
	MaxLines    = 200     // lines of a diff
	MaxExcerpt  = 20      // lines of a new or gone page
	MaxLine     = 600     // bytes of a line
)

// Version is the version of the JSON form.
const Version = 1

// A Result is the difference between two generations of a crawl.
type Result struct {
	Version  int        `json:"version"`
	Dir      string     `json:"dir"`
	From     Generation `json:"from"`
	To       Generation `json:"to"`
	Latest   int64      `json:"latest"`   // generation
	Running  bool       `json:"running"`  // the crawl was running, so To may be incomplete
	Complete bool       `json:"complete"` // To had no pending URLs, as far as known
	Round    bool       `json:"round,omitempty"`

	Counts  map[string]Count `json:"counts"`  // by change
	Kinds   map[string]int64 `json:"kinds"`   // of Changed
	Missing map[string]int64 `json:"missing"` // missing texts by reason
	Moved   int64            `json:"moved"`

	Changes  []Change `json:"changes"`   // by URL, without Unchanged
	LeftOut  int64    `json:"left_out"`  // changes beyond MaxListed
	NoDiffs  int64    `json:"no_diffs"`  // diffs beyond MaxDiffs
	BadLines int64    `json:"bad_lines"` // ledger lines with invalid URLs
}

// A Generation is a generation in the ledger.
type Generation struct {
	Number int64     `json:"generation"`
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended"` // at its last decision
}

// Count counts pages and all other URLs: pictures, style sheets, redirects.
type Count struct {
	Pages int64 `json:"pages"`
	Other int64 `json:"other"`
}

func (c Count) All() int64 { return c.Pages + c.Other }

// A Change is the change of one URL.
type Change struct {
	URL    string  `json:"url"`
	Change string  `json:"change"`
	Kind   string  `json:"kind,omitempty"`   // of Changed
	Why    string  `json:"why,omitempty"`    // of Unknown, from the ledger
	Page   bool    `json:"page"`             // a page or a text
	Title  string  `json:"title,omitempty"`  // first line of its text
	Before *Answer `json:"before,omitempty"` // nil for New
	After  *Answer `json:"after,omitempty"`  // nil without one

	MovedTo   string `json:"moved_to,omitempty"`   // new place of the payload
	MovedFrom string `json:"moved_from,omitempty"` // of New: old place of the payload

	Missing string `json:"missing,omitempty"` // why there is no text to compare
	Diff    *Diff  `json:"diff,omitempty"`    // without lines if SameAs has them
	SameAs  string `json:"same_as,omitempty"` // the first page with the same changed lines, as by a new footer
}

// An Answer is an archived response.
type Answer struct {
	Time     time.Time `json:"time"`
	Status   int       `json:"status"`
	Type     string    `json:"type,omitempty"`
	Record   string    `json:"record,omitempty"`
	Location string    `json:"location,omitempty"` // of a redirect, as written
}

// A Diff is the difference of two texts. A new page has an empty first text, a gone page an empty second one.
type Diff struct {
	Of      string `json:"of"`      // "main" or "whole"
	Added   int    `json:"added"`   // lines
	Removed int    `json:"removed"` // lines
	Lines   []Line `json:"lines"`   // in order, up to MaxLines; a line "@" begins a part
	LeftOut int    `json:"left_out,omitempty"`
}

// A Line is a line of a diff. In JSON it is its mark followed by its text.
type Line struct {
	Mark byte // '@', ' ', '-' or '+'
	Text string
}

// MarshalText implements encoding.TextMarshaler.
func (l Line) MarshalText() ([]byte, error) { return append([]byte{l.Mark}, l.Text...), nil }

// Says reports whether the content of the site changed: pages that are new, gone or unknown, other texts or redirects.
func (r *Result) Says() bool {
	for _, word := range []string{New, Gone, Unknown, OptedOut, Unlinked} {
		if r.Counts[word].All() > 0 {
			return true
		}
	}
	return r.LeftOut > 0 || r.Kinds[Text]+r.Kinds[Redirect]+r.Kinds[File]+r.Kinds[Unread] > 0
}
