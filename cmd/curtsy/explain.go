package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/budget"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/explain"
	"curtsy/crawler/found"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/redact"
	"curtsy/storage/warc"
)

type explaining struct {
	dir     string
	written string
	url     canon.URL
	at      time.Time // zero: now
	json    bool

	settings *crawldir.Settings
	config   crawler.Config
}

func explainCommand(std cli.Streams) *cobra.Command {
	var x explaining
	var at string
	cmd := cli.Command("explain", cli.Flags{"at": &at, "json": &x.json})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 {
			return nil
		}
		return fmt.Errorf("explain takes a crawl directory and one URL: write %s", cmd.UseLine())
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		x.dir, x.written = args[0], args[1]
		if err := x.check(at, time.Now()); err != nil {
			return err
		}
		return x.run(cmd.Context(), std)
	}
	return cmd
}

func (x *explaining) check(at string, now time.Time) (err error) {
	if x.url, err = cli.URL(x.written); err != nil {
		return err
	}
	if at != "" {
		if x.at, err = parseAt(at, now); err != nil {
			return err
		}
	}
	return crawldir.Require(x.dir)
}

// parseAt parses a time in the past.
func parseAt(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		if d > 0 {
			return time.Time{}, cli.Usagef("--at %s lies ahead; write -%s for that long ago", text, text)
		}
		return now.Add(d), nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		t, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		if t.After(now) {
			return time.Time{}, cli.Usagef("--at %s is in the future", text)
		}
		return t, nil
	}
	return time.Time{}, cli.Usagef("--at %q is not a time; write it like 2026-11-21T10:00:00Z, '2026-11-21 10:00' (UTC) or -2h", text)
}

type explanation struct {
	explain.Explanation
	History history `json:"history"`
}

func (x *explaining) run(ctx context.Context, std cli.Streams) error {
	if err := x.configure(); err != nil {
		return err
	}
	e, err := x.answer(ctx)
	if err != nil {
		return err
	}
	if x.json {
		e.History.Pack()
		return cli.WriteJSON(std.Out, e)
	}
	_, err = fmt.Fprint(std.Out, text.Render("explain", explainText{e}))
	return err
}

func (x *explaining) configure() error {
	s, err := config.Of(x.dir)
	if err != nil {
		return err
	}
	if err := s.OpenLists(x.dir, nil); err != nil {
		return err
	}
	x.settings = s
	x.config, err = x.settings.CrawlerConfig(nil, nil)
	return err
}

// answer reads the crawl, then the ledger, and for a past time the archive.
func (x *explaining) answer(ctx context.Context) (explanation, error) {
	q := explain.Question{URL: x.url, Written: x.written}
	e, err := x.explain(ctx, q)
	if err != nil {
		return explanation{}, err
	}
	l := of(explainSubject{Dir: x.dir, URL: x.url, Via: e.State.Via, At: x.at, Config: x.config})
	if err := l.Read(ctx); err != nil {
		return explanation{}, err
	}
	if how := found.As(x.url, l.How); e.State.Assumed && how.Kind != 0 {
		q.Found = how
		if e, err = x.explain(ctx, q); err != nil {
			return explanation{}, err
		}
	}
	out := explanation{e, l.history}
	out.Notes = append(out.Notes, l.Notes...)
	switch {
	case !x.at.IsZero():
		l.Past(&out.Explanation)
	case l.Last.Outcome != "" && out.State.State == "seen":
		out.TakeLine(l.Last)
	case l.Last.Reason == storage.RuleNoFollow || l.Last.Reason == storage.RuleDepth:
		out.LeftOut(l.Last.Reason)
	}
	return out, nil
}

// explain queries the running crawl, or reads the frontier if none answers.
func (x *explaining) explain(ctx context.Context, q explain.Question) (explain.Explanation, error) {
	remote, asked := control.Connect(ctx, x.dir)
	if asked == nil {
		e, err := remote.Explain(ctx, q)
		if errors.Is(err, control.ErrNotRunning) {
			err = fmt.Errorf("the crawl ended before it answered (%w); run the command again", err)
		}
		return e, cli.Ordered(err)
	}
	f, err := engine.OpenReadOnly(x.dir)
	if errors.Is(err, frontier.ErrInUse) {
		return explain.Explanation{}, fmt.Errorf("%s is in use (%w), by a crawl that is starting or ending, or by another command; try again later", x.dir, asked)
	}
	if err != nil {
		return explain.Explanation{}, cli.Damaged(err, x.dir)
	}
	e, err := crawler.ExplainStopped(ctx, x.config, f, q)
	return e, cli.Damaged(errors.Join(err, f.Close()), x.dir)
}

type explainText struct{ explanation }

// Decider is the scope rule that decides; nil if none did.
func (e explainText) Decider() *explain.Rule {
	if n := len(e.Scope.Asked); n > 0 {
		return &e.Scope.Asked[n-1]
	}
	return nil
}

// Passed are the scope rules before Decider.
func (e explainText) Passed() string {
	var names []string
	for _, r := range e.Scope.Asked[:max(len(e.Scope.Asked)-1, 0)] {
		names = append(names, r.Rule)
	}
	return strings.Join(names, ", ")
}

// AddressDelay is the delay between two starts at one address, in seconds; 0 if the last term has it.
func (e explainText) AddressDelay() float64 {
	if n := len(e.Pace.Terms); n > 0 && e.Pace.Terms[n-1].By == storage.ByAddress {
		return 0
	}
	return e.Pace.Address
}

func (explainText) Unit(b explain.Budget) string {
	return map[string]string{budget.MaxTime: " s", budget.MaxBytes: " B"}[b.Name]
}

// maxAsked bounds the exchanges for robots.txt in the text. The JSON form has more.
const maxAsked = 5

// LastAsked are the last exchanges for robots.txt, redirects included.
func (e explainText) LastAsked() []storage.Line {
	all := e.History.Asked()
	return all[max(len(all)-maxAsked, 0):]
}

// Ledger lines that a view keeps.
const (
	maxHistory = 200 // of the URL
	maxRobots  = 20  // of exchanges for robots.txt
)

// tail keeps the last most lines.
type tail struct {
	most  int
	lines []storage.Line
}

func (t *tail) add(l storage.Line) {
	if t.lines = append(t.lines, l); len(t.lines) > t.most {
		t.lines = t.lines[1:]
	}
}

func (t *tail) raw() []json.RawMessage {
	all := make([]json.RawMessage, len(t.lines))
	for i := range t.lines {
		all[i] = t.lines[i].AppendJSON(nil)
	}
	return all
}

// view is one pass over a ledger for a URL. It keeps a bounded number of lines.
type view struct {
	history
	dir    string
	url    canon.URL
	origin string // of the host, with a final slash
	robots string // the URL of its robots.txt
	via    string // the page that led to the URL; "" if unknown
	until  time.Time
	policy *replay // nil unless --at is set

	How       storage.Line // the last line with the URL's discovery
	Last      storage.Line // the last line with the URL's result
	responses []time.Duration
	ended     time.Time // of the host's last exchange
	Notes     []string
	bad       int
}

// explainSubject is the URL of a view.
type explainSubject struct {
	Dir    string // of the crawl
	URL    canon.URL
	Via    string    // the page that led to the URL; "" if unknown
	At     time.Time // zero for now
	Config crawler.Config
}

func of(x explainSubject) *view {
	a := x.URL.Authority()
	origin := a.Origin()
	l := &view{dir: x.Dir, url: x.URL, origin: origin + "/", robots: origin + "/robots.txt", via: x.Via, until: x.At}
	l.history.decisions.most, l.history.asked.most = maxHistory, maxRobots
	if !x.At.IsZero() {
		terms := robots.Terms{Standard: x.Config.Standard, Strict: true}
		l.policy = &replay{config: x.Config, dir: x.Dir, origin: origin, terms: terms}
	}
	return l
}

// Read reads the ledger. A missing one has no lines; Read counts damaged lines.
func (l *view) Read(ctx context.Context) error {
	var after time.Time // the first line after the instant
	for line, err := range ledger.Read(filepath.Join(l.dir, crawldir.LedgerName)) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
			l.Notes = append(l.Notes, "no ledger")
			return nil
		case err != nil:
			if l.bad++; l.bad == 1 {
				l.Notes = append(l.Notes, fmt.Sprintf("the ledger is damaged: %v", err))
			}
		case l.until.IsZero() || !line.Time.After(l.until):
			l.take(line)
		case l.Began == nil && after.IsZero():
			after = line.Time
		}
	}
	if l.Began == nil && !after.IsZero() {
		l.Notes = append(l.Notes, "the crawl had not started: its first decision is of "+after.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	if l.bad > 1 {
		l.Notes = append(l.Notes, fmt.Sprintf("%d lines of the ledger cannot be read", l.bad))
	}
	if l.policy != nil {
		l.Notes = append(l.Notes, l.policy.notes...)
	}
	if l.Total > 0 || l.bad > 0 {
		return nil
	}
	marks, err := redact.Marks(ctx, l.dir)
	if err == nil {
		l.Redacted = marks.Lines()
	}
	return err
}

func (l *view) take(line storage.Line) {
	if l.Began == nil {
		began := line.Time
		l.Began = &began
	}
	if l.Found == nil && l.via != "" && line.URL == l.via && line.Outcome != "" && line.Outcome != storage.OutcomeDeferred {
		found := line.Time
		l.Found = &found
	}
	if isRobotsOf(line, l.robots) {
		l.history.asked.add(line)
		if l.policy != nil {
			l.policy.take(line)
		}
	}
	if !strings.HasPrefix(line.URL, l.origin) {
		return
	}
	if line.Attempt > 0 {
		l.responses = append(l.responses, line.FirstByte)
		l.responses = l.responses[max(len(l.responses)-5, 0):]
		if end := line.Began.Add(line.Took); line.Began.IsZero() {
			l.ended = line.Time
		} else if end.After(l.ended) {
			l.ended = end
		}
	}
	if u, err := canon.Parse(line.URL); line.URL == l.url.String() || err == nil && u.Key() == l.url.Key() {
		l.takeOwn(line)
	}
}

// takeOwn takes a line of the URL itself, in any spelling.
func (l *view) takeOwn(line storage.Line) {
	l.Total++
	l.history.decisions.add(line)
	if l.First == nil {
		first := line.Time
		l.First = &first
	}
	if l.Found == nil && line.Kind == storage.KindSeed {
		l.Found = l.Began
	}
	if line.Kind != "" {
		l.How = line
	}
	if line.Outcome != "" || line.Decision == storage.DecisionRefuse {
		l.Last = line
	}
}

// isRobotsOf reports whether a line is of an exchange for the robots.txt at url, or of a hop of its redirects.
func isRobotsOf(l storage.Line, url string) bool {
	return l.Decision == storage.DecisionRobots && (l.URL == url && l.Via == "" || l.Via == url)
}

// Past turns e into an explanation of the past.
func (l *view) Past(e *explain.Explanation) {
	e.AsOf(l.until)
	if l.Last.Decision != "" {
		e.TakeLine(l.Last)
	}
	p := l.policy
	e.TakePolicy(p.config.Gate(), l.url, p.state, p.body, p.record, l.until)
	e.TakeResponses(l.responses, l.ended)
}

// replay rebuilds a host's robots policy, exchange by exchange, as the gate learned it.
type replay struct {
	config crawler.Config
	dir    string // of the crawl
	origin string
	terms  robots.Terms
	state  robots.State
	body   []byte // of the file that the state names
	record string
	notes  []string
}

// maxReplayNotes bounds the notes on missing records.
const maxReplayNotes = 5

func (r *replay) take(l storage.Line) {
	ex, err := r.exchange(l)
	if err != nil {
		if len(r.notes) < maxReplayNotes {
			r.notes = append(r.notes, fmt.Sprintf("robots.txt of %s is unavailable: %v", l.Time.Format(time.RFC3339), err))
		}
		return
	}
	before := r.state.Fetched()
	r.state, _ = r.terms.Next(r.state, r.origin, ex, l.Time)
	if !r.state.Fetched().Equal(before) {
		r.record = l.Record
	}
	if digest, ok := r.state.Body(); ok && digest == sha256.Sum256(ex.Body) {
		r.body = ex.Body
	}
}

// history has the ledger's lines on the URL, up to the time in question.
type history struct {
	Began  *time.Time        `json:"began,omitempty"` // of the crawl: its first line
	Found  *time.Time        `json:"found,omitempty"` // when the page that led here was done; of a seed, when the crawl began
	First  *time.Time        `json:"first,omitempty"` // the first line of the URL
	Total  int               `json:"decisions"`
	Lines  []json.RawMessage `json:"lines"`        // the last of them, as the ledger has them
	Robots []json.RawMessage `json:"robots_lines"` // the last exchanges for the host's robots.txt

	// Redacted counts the redacted lines of the ledger, which no longer show their URLs. It is set if Total is zero.
	Redacted int64 `json:"redacted_lines,omitempty"`

	decisions, asked tail
}

// Pack writes the lines as the ledger has them.
func (h *history) Pack() {
	h.Lines, h.Robots = h.decisions.raw(), h.asked.raw()
}

// Decisions are the last lines of the URL.
func (h history) Decisions() []storage.Line { return h.decisions.lines }

// Asked are the last exchanges for the robots.txt of its host.
func (h history) Asked() []storage.Line { return h.asked.lines }

// exchange reads the exchange of a robots.txt line from its record.
func (r *replay) exchange(l storage.Line) (robots.Exchange, error) {
	ex := robots.Exchange{URL: l.URL}
	if l.Reason != "" && !strings.HasPrefix(l.Reason, "status ") { // no response
		ex.Failure, ex.Status = l.Reason, l.Status
		return ex, nil
	}
	if l.Record == "" {
		return ex, errors.New("the ledger names no record")
	}
	rec, closer, err := r.find(l)
	if err != nil {
		return ex, err
	}
	defer closer.Close() // only read
	archived, err := answer.Read(rec, 0)
	if err != nil {
		return ex, err
	}
	ex.Status, ex.Header = archived.Status, archived.Header
	ex.Oversize = l.Truncated == "length"
	body, err := archived.Body(robots.MaxBody + 1)
	if err != nil {
		ex.Failure = storage.ReasonCoding
		return ex, nil //nolint:nilerr // the gate treats an undecodable body as a failure
	}
	ex.Body, err = io.ReadAll(body)
	switch {
	case errors.Is(err, warc.ErrTooLarge):
		ex.Oversize = true
	case err != nil && l.Truncated == "":
		ex.Failure = storage.ReasonCoding
	}
	return ex, nil
}

// find opens the record of a line, by the index or by a search of the archive.
func (r *replay) find(l storage.Line) (*warc.Record, io.Closer, error) {
	if files, err := cdxj.Files(filepath.Join(r.dir, crawldir.IndexName)); err == nil {
		for c, err := range cdxj.Lookup(files, l.URL) {
			if err != nil {
				break // search the archive
			}
			if c.Time.Sub(l.Began).Abs() > 2*time.Second {
				continue
			}
			if rec, closer, err := r.at(c.Filename, c.Offset, l.Record); err == nil {
				return rec, closer, nil
			}
		}
	}
	files, err := crawldir.Entries(filepath.Join(r.dir, crawldir.ArchiveName), "", ".warc.gz")
	if err != nil {
		return nil, nil, err
	}
	for _, path := range files {
		if offset, err := offsetOf(path, l.Record); err == nil {
			return r.at(filepath.Base(path), offset, l.Record)
		}
	}
	return nil, nil, fmt.Errorf("the archive has no record %s", l.Record)
}

// offsetOf searches a file for the record with an id.
func offsetOf(path, id string) (int64, error) {
	l, f, err := warc.LenientAt(path, 0, nil)
	if err != nil {
		return 0, err
	}
	defer f.Close() // only read
	for {
		r, err := l.Next()
		if err != nil {
			return 0, err
		}
		if r.ID() == id {
			return r.Offset, nil
		}
	}
}

// at opens the record with an id at an offset of a file, which the crawl may still write.
func (r *replay) at(name string, offset int64, id string) (*warc.Record, io.Closer, error) {
	if name != filepath.Base(name) {
		return nil, nil, fmt.Errorf("%q is not a file name", name)
	}
	path := filepath.Join(r.dir, crawldir.ArchiveName, name)
	rec, closer, err := warc.ReadAt(path, offset)
	if err != nil {
		return nil, nil, err
	}
	if rec.ID() != id {
		closer.Close() // only read
		return nil, nil, fmt.Errorf("%s has another record at offset %d", path, offset)
	}
	return rec, closer, nil
}
