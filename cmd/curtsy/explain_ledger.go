package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/explain"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// How many lines of the ledger are kept.
const (
	maxHistory = 200 // of the URL
	maxRobots  = 20  // of exchanges for robots.txt
)

// tail keeps the last lines.
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

// ledgerView is one pass over a ledger with a URL in mind. It remembers a bounded number of lines, however many there are.
type ledgerView struct {
	history
	dir    string
	url    canon.URL
	origin string // of the host, with a slash behind it
	robots string // the URL of its robots.txt
	via    string // the page that led to the URL, if that is known already
	until  time.Time
	policy *replay // nil unless the past is asked about

	how       storage.Line // the last line that says how the URL was found
	last      storage.Line // the last line that says what became of it
	responses []time.Duration
	ended     time.Time // of the host's last exchange
	notes     []string
	bad       int
}

func ledgerOf(x *explaining, via string) *ledgerView {
	a := x.url.Authority()
	origin := a.Origin()
	l := &ledgerView{dir: x.dir, url: x.url, origin: origin + "/", robots: origin + "/robots.txt", via: via, until: x.at}
	l.history.lines.most, l.history.robots.most = maxHistory, maxRobots
	if !x.at.IsZero() {
		l.policy = newReplay(x, origin)
	}
	return l
}

// read goes through the ledger. One that is missing has no lines; lines that cannot be read are counted.
func (l *ledgerView) read(ctx context.Context) error {
	var after time.Time // the first line behind the instant
	for line, err := range ledger.Read(filepath.Join(l.dir, crawldir.LedgerName)) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
			l.notes = append(l.notes, "there is no ledger")
			return nil
		case err != nil:
			if l.bad++; l.bad == 1 {
				l.notes = append(l.notes, fmt.Sprintf("the ledger is damaged: %v", err))
			}
		case l.until.IsZero() || !line.Time.After(l.until):
			l.take(line)
		case l.Began == nil && after.IsZero():
			after = line.Time
		}
	}
	if l.Began == nil && !after.IsZero() {
		l.notes = append(l.notes, "the crawl had not begun: its first decision is of "+stamp(after))
	}
	if l.bad > 1 {
		l.notes = append(l.notes, fmt.Sprintf("%d lines of the ledger cannot be read", l.bad))
	}
	if l.policy != nil {
		l.notes = append(l.notes, l.policy.notes...)
	}
	return nil
}

func (l *ledgerView) take(line storage.Line) {
	if l.Began == nil {
		began := line.Time
		l.Began = &began
	}
	if l.Found == nil && l.via != "" && line.URL == l.via && line.Outcome != "" && line.Outcome != storage.OutcomeDeferred {
		found := line.Time
		l.Found = &found
	}
	if isRobotsOf(line, l.robots) {
		l.history.robots.add(line)
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
	if line.URL == l.url.String() || l.same(line.URL) {
		l.met(line)
	}
}

// same reports whether a URL of the host is another spelling of ours.
func (l *ledgerView) same(url string) bool {
	u, err := canon.Parse(url)
	return err == nil && u.Key() == l.url.Key()
}

// met takes in a line of the URL itself.
func (l *ledgerView) met(line storage.Line) {
	l.Total++
	l.history.lines.add(line)
	if l.First == nil {
		first := line.Time
		l.First = &first
	}
	if l.Found == nil && line.Kind == storage.KindSeed {
		l.Found = l.Began
	}
	if line.Kind != "" {
		l.how = line
	}
	if line.Outcome != "" || line.Decision == storage.DecisionRefuse {
		l.last = line
	}
}

// isRobotsOf reports whether a line is of an exchange for that robots.txt, or of a hop of its redirects.
func isRobotsOf(l storage.Line, url string) bool {
	return l.Decision == storage.DecisionRobots && (l.URL == url && l.Via == "" || l.Via == url)
}

// past makes an explanation one of the past.
func (l *ledgerView) past(e *explain.Explanation) {
	e.AsOf(l.until)
	if l.last.Decision != "" {
		e.TakeLine(l.last)
	}
	p := l.policy
	e.TakePolicy(p.config.Gate(), explain.PolicyArchive, l.url, p.state, p.body, p.record, l.until)
	e.TakeResponses(l.responses, l.ended)
}

// replay tells a host's robots policy anew, exchange by exchange, as the gate learned it.
type replay struct {
	config  crawler.Config
	dir     string
	origin  string
	terms   robots.Terms
	state   robots.State
	body    []byte // of the file that the state names
	record  string
	archive archive
	notes   []string
}

func newReplay(x *explaining, origin string) *replay {
	terms := robots.Terms{Standard: x.config.Standard, Strict: true}
	return &replay{config: x.config, dir: x.dir, origin: origin, terms: terms, archive: archive{dir: x.dir}}
}

// maxReplayNotes bounds what is said of records that are not to be had.
const maxReplayNotes = 5

// take learns what the exchange of a line brought.
func (r *replay) take(l storage.Line) {
	ex, err := r.archive.exchange(l)
	if err != nil {
		if len(r.notes) < maxReplayNotes {
			r.notes = append(r.notes, fmt.Sprintf("what robots.txt said at %s is not to be had: %v", l.Time.Format(time.RFC3339), err))
		}
		return
	}
	before := r.state.Fetched()
	r.state, _ = r.terms.Next(r.state, r.origin, ex, l.Time)
	if !r.state.Fetched().Equal(before) {
		r.record = l.Record
	}
	if digest, ok := r.state.Body(); ok && digest == digestOf(ex.Body) {
		r.body = ex.Body
	}
}
