package report

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
	"curtsy/storage/warc"
)

// maxCounted bounds the hosts counted to find the busiest.
const maxCounted = 4 << 20

// ErrNoHost is the error for a host without lines in the ledger.
var ErrNoHost = errors.New("report: the ledger has no decision about this host")

// ErrHost is the error for an invalid Options.Host.
var ErrHost = errors.New("report: not a host")

// Make makes a report of ledger and archive.
func Make(ctx context.Context, o Options) (*Report, error) {
	var want func(canon.Authority) bool
	var spelt string
	if o.Host != "" {
		var err error
		if want, spelt, err = hosts(o.Host); err != nil {
			return nil, err
		}
	}
	entries := ledger.Skim(o.Ledger)
	g := newGathering(o.maxHosts(), want, nil)
	if err := g.read(ctx, entries); err != nil {
		return nil, fmt.Errorf("report: read the ledger: %w", err)
	}
	var all crowd
	if g.overflow {
		var err error
		if all, err = busiest(ctx, ledger.Read(o.Ledger), want, o.maxHosts()); err != nil {
			return nil, fmt.Errorf("report: read the ledger: %w", err)
		}
		g = newGathering(o.maxHosts(), want, all.isBest)
		if err := g.read(ctx, entries); err != nil {
			return nil, fmt.Errorf("report: read the ledger: %w", err)
		}
	}
	if o.Host != "" && g.total.Lines == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoHost, clean(o.Host))
	}
	r := g.result()
	if all.isBest != nil {
		r.Known, r.Reached, r.More = all.known, all.requested, all.more
	}
	r.Made, r.Software, r.Host = o.Now.UTC(), clean(o.Software), clean(o.Host)
	r.HostPort = spelt
	r.Crawl.Name, r.Crawl.Settings, r.Remarks = clean(filepath.Base(filepath.Clean(o.Dir))), []Setting{},
		cleaned(o.Remarks)
	for _, s := range o.Settings {
		r.Crawl.Settings = append(r.Crawl.Settings, Setting{clean(s.Name), clean(s.Value), clean(s.Default)})
	}
	if err := r.readInfos(ctx, o.WARC); err != nil {
		return nil, err
	}
	if err := r.duplicated(ctx, o.Duplicates); err != nil {
		return nil, err
	}
	g.ending.set(&r.Crawl)
	if o.Host != "" { // acts name other hosts, with reasons
		r.Crawl.Acts, r.Crawl.MoreActs = nil, 0
	}
	if n, err := ledger.Latest(o.Ledger); err == nil { // the audit verifies it
		r.Crawl.Head = fmt.Sprintf("%d:%x", n.Size, n.Root[:])
	}
	if err := r.connect(ctx, o); err != nil {
		return nil, err
	}
	return r, r.audited(ctx, o.Audit)
}

// audited adds the result of the audit, or its error.
func (r *Report) audited(ctx context.Context, audit func(context.Context) (Audit, error)) error {
	if audit == nil {
		return nil
	}
	a, err := audit(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		a = Audit{Failed: err.Error()}
	}
	a.Failed, a.Level = clean(a.Failed), clean(a.Level)
	for i := range a.Findings {
		f := &a.Findings[i]
		f.Code, f.Meaning = clean(f.Code), clean(f.Meaning)
		f.Samples = cleaned(f.Samples[:min(len(f.Samples), maxSamples)])
	}
	a.CannotShow = cleaned(a.CannotShow)
	r.Audit = &a
	return nil
}

// hosts returns a test for the host that a user named: a name with all ports and schemes, or HOST:PORT, or
// SCHEME://HOST[:PORT]. It also returns the name as HOST, or as HOST:PORT if the port is known.
func hosts(name string) (want func(canon.Authority) bool, spelt string, err error) {
	scheme := true
	spelt = strings.TrimSuffix(name, "/")
	if !strings.Contains(spelt, "://") {
		spelt, scheme = "http://"+spelt, false
	}
	u, err := canon.Parse(spelt)
	if err != nil || u.RequestURI() != "/" {
		return nil, "", fmt.Errorf("%w: %q; write it like www.example.org, www.example.org:8080 or https://www.example.org",
			ErrHost, name)
	}
	a := u.Authority()
	switch {
	case scheme:
		return func(b canon.Authority) bool { return a == b }, a.Host() + ":" + a.Port(), nil
	case strings.Contains(name[strings.LastIndexByte(name, ']')+1:], ":"):
		return func(b canon.Authority) bool { return a.Host() == b.Host() && a.Port() == b.Port() },
			a.Host() + ":" + a.Port(), nil
	}
	return func(b canon.Authority) bool { return a.Host() == b.Host() }, a.Host(), nil
}

// crowd describes hosts that are too many to list.
type crowd struct {
	isBest           func(name string) bool // whether it is one of the busiest
	known, requested int64
	more             bool // there are more, which were not counted
}

// busiest counts the lines of each host, and picks those with the most exchanges, then lines. It keeps 16 bytes a host:
// two with the same keyed 64-bit hash count as one.
func busiest(ctx context.Context, lines iter.Seq2[storage.Line, error],
	want func(canon.Authority) bool, limit int) (crowd, error) {
	seed := maphash.MakeSeed()
	c := crowd{}
	counts := map[uint64]int64{}
	namer := gathering{want: want}
	for l, err := range lines {
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		name, ok := namer.hostOf(&l)
		if err != nil || !ok {
			continue
		}
		h := maphash.String(seed, name)
		before, known := counts[h]
		if !known && len(counts) >= maxCounted {
			c.more = true
			continue
		}
		if !known && name != "" {
			c.known++
		}
		counts[h] = min(before+weight(&l), 1<<60)
	}
	all := make([]uint64, 0, len(counts))
	for h, n := range counts {
		all = append(all, h)
		if n >= weighty {
			c.requested++
		}
	}
	slices.SortFunc(all, func(a, b uint64) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	best := map[uint64]bool{}
	for _, h := range all[:min(limit, len(all))] {
		best[h] = true
	}
	c.isBest = func(name string) bool { return best[maphash.String(seed, name)] }
	return c, nil
}

const weighty = 1 << 20

// weight ranks exchanges before other lines, and own hosts first.
func weight(l *storage.Line) int64 {
	switch {
	case l.Own:
		return 1 << 40
	case Sent(l):
		return weighty
	}
	return 1
}

// Options configure a report.
type Options struct {
	Dir    string // the crawl directory, only for its name
	Ledger string // directory of the ledger
	WARC   string // directory of the archive; it may be missing
	Host   string // HOST, HOST:PORT or SCHEME://HOST:PORT. Empty means the whole crawl.

	MaxHosts int // hosts listed, the busiest; the others are summed. Zero means 1,000.

	Duplicates func(ctx context.Context) (Duplicates, error) // or nil
	Audit      func(ctx context.Context) (Audit, error)      // or nil

	// Graph reads the whole archive for the links between hosts, if several were requested.
	Graph bool

	Software string    // the reporting program, name/version
	Now      time.Time // date of the report

	Settings []Setting // of the crawl, those that differ from the default
	Remarks  []string  // further sentences beside them
}

// Setting is a setting of the crawl that differs from its default.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
}

type Audit struct {
	Level      string         `json:"level"` // in the audit's words
	Clean      bool           `json:"clean"` // without violations
	Violations int64          `json:"violations"`
	Unprovable int64          `json:"unprovable,omitempty"`  // checks without proof either way
	Findings   []AuditFinding `json:"findings,omitempty"`    // by code
	CannotShow []string       `json:"cannot_show,omitempty"` // limits of the evidence
	Failed     string         `json:"failed,omitempty"`      // why it has no result
}

// AuditFinding is the findings of one kind.
type AuditFinding struct {
	Code      string   `json:"code"`
	Meaning   string   `json:"meaning"`   // of the code, a sentence
	Violation bool     `json:"violation"` // or only a note
	Count     int64    `json:"count"`
	Samples   []string `json:"samples,omitempty"`
}

func (o *Options) maxHosts() int {
	if o.MaxHosts > 0 {
		return o.MaxHosts
	}
	return 1000
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("report: write the JSON form: %w", err)
	}
	return nil
}

// Version is that of the JSON form. It grows when a field changes its meaning or is removed, not with new fields.
const Version = 2

// Report is the result; docs/guides/report.md describes its JSON form.
type Report struct {
	Version  int       `json:"version"`
	Made     time.Time `json:"made"`
	Software string    `json:"software"`
	Host     string    `json:"host,omitempty"` // as in Options; empty for the whole crawl
	HostPort string    `json:"-"`              // HOST or HOST:PORT, for its file name

	Crawl  Crawl `json:"crawl"`
	Totals Host  `json:"totals"`

	Hosts   []Host `json:"hosts"`            // own ones first, then by exchanges
	Others  *Host  `json:"others,omitempty"` // the sum of all others
	Known   int64  `json:"hosts_known"`      // number of all
	Reached int64  `json:"hosts_asked"`      // of those: with requests
	More    bool   `json:"hosts_more"`       // there may be more than Known

	Tags []Tag `json:"tags,omitempty"` // by the tag of the seed; empty if no seed has one

	Robots     Robots    `json:"robots"`
	Statuses   []Count   `json:"statuses"`
	Types      []Count   `json:"media_types"`
	Throughput Timeline  `json:"throughput"`
	Gaps       []Pauses  `json:"gaps"`
	Errors     []Count   `json:"errors"`
	Traps      []Count   `json:"traps"`
	Truncated  []Count   `json:"truncated"`
	Empty      []Count   `json:"empty"`            // pages without content unless JavaScript runs
	Scripts    []Count   `json:"named_by_scripts"` // files that only scripts name, by outcome
	NotCrawled []Count   `json:"not_crawled"`
	Directives []Count   `json:"directives"`
	Prefs      []Count   `json:"preferences"`
	Asked      []Request `json:"asked,omitempty"`   // with Host: the first exchanges
	Refused    []Refusal `json:"refused,omitempty"` // with Host: URLs not requested because of robots.txt
	Audit      *Audit    `json:"audit,omitempty"`

	Duplicates *Duplicates `json:"duplicates,omitempty"` // with Options.Duplicates
	Graph      *HostGraph  `json:"host_graph,omitempty"` // with Options.Graph

	Unread  int64    `json:"unreadable_lines"` // of the ledger
	Damage  []string `json:"damage,omitempty"` // the first unreadable places
	Remarks []string `json:"remarks,omitempty"`
}

type Crawl struct {
	Name     string     `json:"name"`
	First    *time.Time `json:"first,omitempty"` // the first decision or exchange
	Last     *time.Time `json:"last,omitempty"`  // the end of the last
	Seeds    []Count    `json:"seeds,omitempty"`
	By       []Identity `json:"by"` // the crawler by the archive; several if it changed
	Settings []Setting  `json:"settings"`
	Runs     []Run      `json:"runs,omitempty"`
	// Generations is the number of updates, by the archive, and the crawl itself. Zero: unknown.
	Generations int64  `json:"generations,omitempty"`
	MoreRuns    int64  `json:"runs_more,omitempty"`
	Acts        []Act  `json:"acts,omitempty"` // of operators, in the order of the ledger
	MoreActs    int64  `json:"acts_more,omitempty"`
	Ended       string `json:"ended"` // a sentence
	Clean       bool   `json:"ended_cleanly"`
	Head        string `json:"ledger_head,omitempty"` // the ledger's latest checkpoint, SIZE:ROOT
	Key         string `json:"ledger_key,omitempty"`  // verifier key of the last run; empty for none
}

// Run is a run of the crawl, which begins when its ledger is opened.
type Run struct {
	Began time.Time `json:"began"`
	Ended string    `json:"ended,omitempty"` // empty if the ledger was not closed
	Cut   int64     `json:"cut,omitempty"`   // bytes of an unfinished line of the previous run
}

// Act is an act of an operator.
type Act struct {
	Time  time.Time `json:"time"`
	Act   string    `json:"act"`
	About string    `json:"about,omitempty"`
	URLs  int64     `json:"urls,omitempty"` // number of URLs concerned
	Note  string    `json:"note,omitempty"`
}

// Identity is the content of a warcinfo record.
type Identity struct {
	Since       string    `json:"since"` // its WARC-Date
	Software    string    `json:"software"`
	Operator    string    `json:"operator,omitempty"`
	Contact     string    `json:"contact,omitempty"`
	Agent       string    `json:"user_agent,omitempty"`
	Robots      string    `json:"robots,omitempty"`
	Purpose     string    `json:"purpose,omitempty"`
	Key         string    `json:"verifier_key,omitempty"` // of the ledger, by the archive
	Fields      []Setting `json:"-"`
	Generation  int64     `json:"-"` // of the crawl; zero if unknown
	SHA256      [32]byte  `json:"-"` // of the block
	ContactLink string    `json:"-"`
}

// Host counts the work on an authority, or on several.
type Host struct {
	Name        string `json:"host,omitempty"`
	Own         bool   `json:"own,omitempty"`
	Lines       int64  `json:"decisions"` // counting lines with all their URLs
	Exchanges   int64  `json:"exchanges"` // also for robots.txt
	RobotsAsked int64  `json:"robots_exchanges"`
	Unreached   int64  `json:"unreached"` // attempts without an exchange
	Octets      int64  `json:"octets"`
	Pages       int64  `json:"pages"` // fetched HTML
	Fetched     int64  `json:"fetched"`
	Redirected  int64  `json:"redirected"`
	Gone        int64  `json:"gone"`
	Failed      int64  `json:"failed"`
	Dropped     int64  `json:"dropped"` // after an exchange, or by a cap
	Deferred    int64  `json:"deferred"`
	Disallowed  int64  `json:"disallowed"`
	Refused     int64  `json:"refused"` // by scope, trap or budget
	Held        int64  `json:"held"`
	OptedOut    int64  `json:"opted_out"`
	Errors      int64  `json:"errors"` // failed exchanges and attempts, also for robots.txt

	Robots  string  `json:"robots,omitempty"` // outcome of robots.txt, in words
	PaceMs  float64 `json:"pace_ms"`          // the longest delay due
	PaceBy  string  `json:"pace_by,omitempty"`
	Gaps    int64   `json:"gaps"`
	Short   int64   `json:"gaps_short"` // below the delay due
	LeastMs float64 `json:"gap_least_ms"`
	MidMs   float64 `json:"gap_median_ms"`
	State   string  `json:"state,omitempty"` // by the last lines, in words
}

// Tag counts the work from the seeds with one tag.
type Tag struct {
	Tag string `json:"tag"`
	Host
}

type Count struct {
	Name    string   `json:"name"`
	Count   int64    `json:"count"`
	Octets  int64    `json:"octets,omitempty"`
	Samples []string `json:"samples,omitempty"`
}

type Robots struct {
	Allowed     int64        `json:"allowed"`
	Disallowed  int64        `json:"disallowed"`
	Unreachable int64        `json:"unreachable"` // of those: because robots.txt was unavailable
	Asked       int64        `json:"exchanges"`
	Rules       []Rule       `json:"rules"`
	MoreRules   int64        `json:"decisions_of_other_rules"` // not in Rules
	Files       []RobotsFile `json:"files,omitempty"`          // with Host: results of robots.txt
	Standards   []Count      `json:"standards"`
}

// Rule counts the decisions of a rule, or of its absence, for a host.
type Rule struct {
	Host    string `json:"host"`
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason"`
	Line    int    `json:"line,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Group   string `json:"group,omitempty"`
	Count   int64  `json:"count"`
	Sample  string `json:"sample"`
}

type RobotsFile struct {
	Time   time.Time `json:"time"`
	URL    string    `json:"url"`
	Status int       `json:"status,omitempty"`
	Reason string    `json:"reason,omitempty"`
	SHA256 string    `json:"sha256,omitempty"`
	Times  int64     `json:"times"` // requests in a row with this result
}

type Request struct {
	Time   time.Time `json:"time"`
	URL    string    `json:"url"`
	Status int       `json:"status,omitempty"`
	Type   string    `json:"type,omitempty"`
	Octets int64     `json:"octets,omitempty"`
	GapMs  float64   `json:"gap_ms,omitempty"`
	PaceMs float64   `json:"pace_ms,omitempty"`
}

// Refusal is a URL that was not requested.
type Refusal struct {
	Time   time.Time `json:"time"`
	URL    string    `json:"url"`
	Reason string    `json:"reason"`
	Line   int       `json:"line,omitempty"`
	Rule   string    `json:"rule,omitempty"`
	Count  int64     `json:"count"` // number of URLs
}

const maxRuns = 200

// ending is the runs of a crawl by the marks of its ledger.
type ending struct {
	runs  []Run
	more  int64     // runs beyond maxRuns
	stop  time.Time // of the last stop
	key   string    // of the last run
	any   bool      // there is a mark of a run
	ended bool      // the last run was closed
	torn  int64     // runs that were not closed, except the last

	acts     []Act
	moreActs int64 // beyond maxActs
}

const maxActs = 500

func (e *ending) mark(m *ledger.Mark) {
	switch m.Kind {
	case ledger.KindRun:
		if e.any && !e.ended {
			e.torn++
		}
		e.any, e.ended, e.key = true, false, m.Key
		if len(e.runs) >= maxRuns {
			e.more++
			return
		}
		e.runs = append(e.runs, Run{Began: m.Time.UTC(), Cut: m.Cut})
	case ledger.KindOperator:
		if len(e.acts) >= maxActs {
			e.moreActs++
			return
		}
		o := m.Operator
		e.acts = append(e.acts, Act{m.Time.UTC(), clean(o.Act), clean(o.About), o.URLs, clean(o.Note)})
	case ledger.KindStop:
		e.ended, e.stop = true, m.Time
		if n := len(e.runs); n > 0 && e.more == 0 {
			e.runs[n-1].Ended = m.Time.UTC().Format(time.RFC3339)
		}
	}
}

// set records how the crawl ended.
func (e *ending) set(c *Crawl) {
	c.Acts, c.MoreActs = e.acts, e.moreActs
	c.Runs, c.MoreRuns, c.Clean = e.runs, e.more, e.any && e.ended
	switch {
	case !e.any:
		c.Ended = "Not known: the ledger has no marks of its runs."
	case e.ended:
		c.Ended = "Ended normally, " + instant(e.stop) + "."
	default:
		c.Ended = "Has no end in the ledger: it still runs, or it was killed, or its disk was full."
	}
	if e.torn > 0 {
		c.Ended += fmt.Sprintf(" Of the runs before, %s ended otherwise: by a kill or a crash.", plainly.Grouped(e.torn))
	}
	c.Key = clean(e.key)
}

const (
	maxInfo       = 64 << 10 // bytes read of a warcinfo record
	maxIdentities = 8
)

// readInfos reads the warcinfo record of each segment in dir, and keeps distinct ones.
func (r *Report) readInfos(ctx context.Context, dir string) error {
	r.Crawl.By = []Identity{}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		r.Remarks = append(r.Remarks, "The ledger has no archive with it, so the operator is unknown.")
		return nil
	}
	if err != nil {
		return fmt.Errorf("report: read the archive: %w", err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if name := strings.TrimSuffix(e.Name(), ".open"); !strings.HasSuffix(name, ".warc.gz") || e.IsDir() {
			continue
		}
		id, err := ReadIdentity(filepath.Join(dir, e.Name()))
		if err != nil {
			if len(r.Damage) < maxDamage {
				r.Damage = append(r.Damage, clean(err.Error()))
			}
			continue
		}
		if id != nil {
			r.Crawl.Generations = max(r.Crawl.Generations, id.Generation)
		}
		r.identity(id)
	}
	return nil
}

// identity adds id if it differs from the previous one.
func (r *Report) identity(id *Identity) {
	by := r.Crawl.By
	if id == nil || len(by) >= maxIdentities {
		return
	}
	if len(by) > 0 {
		before := by[len(by)-1]
		before.Since = id.Since
		if before.Software == id.Software && before.Operator == id.Operator && before.Contact == id.Contact &&
			before.Agent == id.Agent && before.Key == id.Key &&
			before.Robots == id.Robots && before.Purpose == id.Purpose && slices.Equal(before.Fields, id.Fields) {
			return
		}
	}
	r.Crawl.By = append(by, *id)
}

// ReadIdentity reads the first record of a segment; nil if it has none or another.
func ReadIdentity(path string) (*Identity, error) {
	f, err := warc.OpenListed(path, durable.Open)
	if err != nil {
		return nil, fmt.Errorf("report: read the archive: %w", err)
	}
	defer f.Close()
	rec, err := warc.NewReader(f).Next()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || err == nil && rec.Type != "warcinfo" {
		return nil, nil // a segment just begun may hold a part of it
	}
	if err != nil {
		return nil, fmt.Errorf("report: read the archive: %s: %w", filepath.Base(path), err)
	}
	b, err := io.ReadAll(io.LimitReader(rec.Block, maxInfo))
	if err != nil {
		return nil, fmt.Errorf("report: read the archive: %s: %w", filepath.Base(path), err)
	}
	id := infoOf(b)
	id.Since, id.SHA256 = clean(rec.Fields.Get("WARC-Date")), sha256.Sum256(b)
	return id, nil
}

// infoOf parses the block of a warcinfo record (application/warc-fields).
func infoOf(block []byte) *Identity {
	id := &Identity{}
	for line := range bytes.SplitSeq(block, []byte("\n")) {
		name, value, ok := strings.Cut(strings.TrimRight(string(line), "\r"), ":")
		if !ok {
			continue
		}
		value = clean(strings.TrimSpace(value))
		switch strings.ToLower(name) {
		case "software":
			id.Software = value
		case "operator":
			id.Operator = value
		case "contact":
			id.Contact = value
		case "http-header-user-agent":
			id.Agent = value
		case "robots":
			id.Robots = value
		case "description":
			id.Purpose = value
		case "ledger-key":
			id.Key = value
		case "generation":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > 0 {
				id.Generation = n
			}
		case "format", "conformsto", "ispartof", "run-began": // of the file, or of its run
		default:
			if len(id.Fields) < 50 {
				id.Fields = append(id.Fields, Setting{Name: clean(name), Value: value})
			}
		}
	}
	if id.Contact == "" { // the User-Agent also has it
		if _, rest, ok := strings.Cut(id.Agent, "(+"); ok {
			id.Contact, _, _ = strings.Cut(rest, ")")
		}
	}
	if id.Operator == id.Contact {
		id.Operator = ""
	}
	id.Operator = strings.TrimSuffix(id.Operator, " ("+id.Contact+")")
	id.ContactLink = linkTo(id.Contact)
	return id
}

// linkTo returns a link for a contact that is a web address or a mailbox.
func linkTo(contact string) string {
	u, err := url.Parse(contact)
	switch {
	case err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return u.String()
	case err == nil && u.Scheme == "" && strings.Count(contact, "@") == 1 &&
		!strings.ContainsAny(contact, " \"'<>?&,;:/\\%"):
		return "mailto:" + contact
	}
	return ""
}
