package crawldir

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"

	"curtsy/crawler/budget"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/sorted"
)

// What the ledger has no word for, because it is known by comparing alone.
const (
	Unlinked = "unlinked"  // the generation before had it, and nothing led to it in this one
	Unknown  = "unknown"   // the generation before had it, and this one got no answer that says what is there
	OptedOut = "opted-out" // the generation before had it, and an opt-out list names it or its address now
)

// Changes is what changed in a generation, in numbers.
type Changes struct {
	Version    int              `json:"version"`
	Generation int64            `json:"generation"`
	Began      time.Time        `json:"began"`
	Complete   bool             `json:"complete"`        // nothing of the generation is left to do
	Round      bool             `json:"round,omitempty"` // it asked for some pages alone: it says nothing of others
	Counts     map[string]int64 `json:"counts"`
	File       string           `json:"file,omitempty"`
}

// Change is what became of one URL.
type Change struct {
	URL    string   `json:"url"`
	Change string   `json:"change"`
	Status int      `json:"status,omitempty"`
	Record string   `json:"record,omitempty"`
	Before *Earlier `json:"before,omitempty"`
}

// Earlier is what the archive had before.
type Earlier struct {
	Time   time.Time `json:"time"`
	Status int       `json:"status,omitempty"`
	Record string    `json:"record,omitempty"`
}

// A Comparison is of a generation with the one before, as the ledger tells of both.
type Comparison struct {
	Generation budget.Generation
	Complete   bool   // nothing of the generation is left to do
	Ledger     string // its folder
	Spool      string // a folder to sort in
	File       string // what changed is written there
	Past       *Past

	// OptedOut reports whether an opt-out list in force names the URL. Nil means that there is no list.
	OptedOut func(canon.URL) bool
}

// Write compares, and writes the file whole or leaves that which was there. Lines are sorted by URL on disk: memory does
// not depend on their number. What no longer is linked is known when nothing of the generation is left to do.
func (c Comparison) Write(ctx context.Context) (_ *Changes, err error) {
	lines := sorted.NewRows[outcome](c.Spool, SortedMemory)
	defer func() { err = errors.Join(err, lines.Close()) }()
	n, from := int64(0), c.Generation.Before
	if c.Generation.Round { // what was before is looked up in the archive, for those alone that were asked for
		from = c.Generation.Lines
	}
	for l, err := range Decisions(c.Ledger) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if at := n; at >= from && l.Outcome != "" {
			if err := addOutcome(lines, &l, at >= c.Generation.Lines); err != nil {
				return nil, err
			}
		}
		n++
	}
	all := &Changes{
		Version: 1, Generation: c.Generation.Number, Began: c.Generation.Began, Complete: c.Complete,
		Round: c.Generation.Round, Counts: map[string]int64{}, File: c.File,
	}
	for _, word := range []string{string(storage.ChangeNew), string(storage.ChangeChanged), string(storage.ChangeUnchanged), string(storage.ChangeFresh), string(storage.ChangeGone), Unknown, OptedOut} {
		all.Counts[word] = 0
	}
	if c.Complete && !c.Generation.Round {
		all.Counts[Unlinked] = 0
	}
	return all, c.write(ctx, all, lines)
}

func (c Comparison) write(ctx context.Context, all *Changes, from *sorted.Rows[outcome]) error {
	err := durable.File(c.File, func(out io.Writer) error {
		w := &changeWriter{ctx: ctx, c: all, past: c.Past, listed: c.OptedOut, out: bufio.NewWriter(out)}
		fmt.Fprintf(w.out, "{\"version\":%d,\"generation\":%d,\"began\":%q,\"complete\":%t,%s\"changes\":[", all.Version, all.Generation, all.Began.Format(time.RFC3339Nano), all.Complete, map[bool]string{true: `"round":true,`}[all.Round])
		for row, err := range from.All() {
			if err == nil {
				err = w.take(row.Key, row.Value)
			}
			if err != nil {
				return err
			}
		}
		return errors.Join(w.end(), w.out.Flush())
	})
	if err != nil {
		return fmt.Errorf("changes: %w", err)
	}
	return nil
}

// outcome is the outcome of a URL in one of two generations.
type outcome struct {
	Now     bool            // of this generation, and not of the one before
	Change  storage.Change  `json:",omitempty"`
	Outcome storage.Outcome // "" for none
	Record  string          `json:",omitempty"`
	Status  int             `json:",omitempty"`
	Time    time.Time
	OptOut  bool `json:",omitempty"` // an opt-out list forbade it
}

// SortedMemory is how many bytes of outcomes are sorted in memory at once.
const SortedMemory = 16 << 20

// addOutcome adds a line under its URL. It omits URLs that no curtsy crawl can request.
func addOutcome(to *sorted.Rows[outcome], l *storage.Line, now bool) error {
	for _, s := range []string{l.URL, string(l.Change), string(l.Outcome), l.Record} {
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' }) {
			return nil
		}
	}
	return to.Add(l.URL, outcome{
		Now: now, Change: l.Change, Outcome: l.Outcome, Record: l.Record, Status: l.Status, Time: l.Time,
		OptOut: l.Reason == storage.ReasonOptOut,
	})
}

// changeWriter makes changes of sorted outcomes.
type changeWriter struct {
	ctx    context.Context // of the one call that writes
	c      *Changes
	past   *Past
	listed func(canon.URL) bool
	out    *bufio.Writer

	n int64

	url      string
	was, now outcome
	met      bool
}

func (w *changeWriter) take(url string, o outcome) error {
	if url != w.url {
		if err := w.flush(); err != nil {
			return err
		}
		w.url, w.was, w.now, w.met = url, outcome{}, outcome{}, false
	}
	switch {
	case !o.Now && o.Outcome != storage.OutcomeDeferred:
		w.was = o
	case o.Now:
		w.met = true
		if o.Outcome != storage.OutcomeDeferred {
			w.now = o
		}
	}
	return nil
}

// flush writes what became of a URL.
func (w *changeWriter) flush() error {
	had := w.was.Outcome == storage.OutcomeFetched || w.was.Outcome == storage.OutcomeRedirected
	if w.c.Round && w.now.Change == "" && w.now.Outcome != "" {
		if err := w.lookUp(); err != nil {
			return err
		}
		had = w.was.Outcome != ""
	}
	e := Change{URL: w.url, Change: string(w.now.Change), Status: w.now.Status, Record: w.now.Record}
	switch {
	case e.Change != "" || !had:
	case w.now.Outcome != "":
		e.Change = Unknown
	case !w.met && w.c.Complete:
		e.Change = Unlinked
	}
	if e.Change == "" {
		return w.ctx.Err()
	}
	if (e.Change == Unknown || e.Change == Unlinked) && w.optedOut() {
		e.Change = OptedOut
	}
	if had {
		e.Before = &Earlier{Time: w.was.Time, Status: w.was.Status, Record: w.was.Record}
	}
	if (!had || w.was.Record == "") && e.Change != string(storage.ChangeNew) {
		if u, err := canon.Parse(w.url); err == nil {
			last, err := w.past.Last(w.ctx, u)
			if err != nil {
				return err
			}
			if last != nil {
				e.Before = &Earlier{Time: last.Date, Status: last.Status, Record: last.Record}
			}
		}
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	sep := ",\n"
	if w.n == 0 {
		sep = "\n"
	}
	w.n++
	w.c.Counts[e.Change]++
	_, err = fmt.Fprintf(w.out, "%s%s", sep, b)
	return err
}

// optedOut reports whether an opt-out list is why the URL was not fetched, or no page that links to it.
func (w *changeWriter) optedOut() bool {
	u, err := canon.Parse(w.url)
	return w.now.OptOut || err == nil && w.listed != nil && w.listed(u)
}

// lookUp finds out in the archive what a URL was before that got no answer which says what is there.
func (w *changeWriter) lookUp() error {
	u, err := canon.Parse(w.url)
	if err != nil {
		return nil // no crawl of ours can have it
	}
	last, err := w.past.Last(w.ctx, u)
	if last.There() {
		w.was = outcome{Outcome: storage.OutcomeFetched, Status: last.Status, Time: last.Date, Record: last.Record}
	}
	return err
}

// end writes the last URL and the counts.
func (w *changeWriter) end() error {
	if err := w.flush(); err != nil {
		return err
	}
	b, err := json.Marshal(w.c.Counts)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.out, "\n],\"counts\":%s}\n", b)
	return err
}

// ReadChangesHeader reads what a file of changes says of its generation, without the changes; ok is false where it cannot be read.
func ReadChangesHeader(path string) (c Changes, ok bool) {
	f, err := durable.Open(path)
	if err != nil {
		return c, false
	}
	defer f.Close()
	head := make([]byte, 200)
	n, _ := io.ReadFull(f, head)
	fields, _, ok := strings.Cut(string(head[:n]), `,"changes":[`)
	if !ok || json.Unmarshal([]byte(fields+"}"), &c) != nil {
		return Changes{}, false
	}
	return c, c.Version == 1
}

// Done reports whether a file of changes has all of a generation.
func Done(path string, generation int64) bool {
	c, ok := ReadChangesHeader(path)
	return ok && c.Generation == generation && c.Complete
}

// Decisions yields the lines of a ledger that can be read; an error is one of the file system, and the last.
func Decisions(dir string) iter.Seq2[storage.Line, error] {
	return func(yield func(storage.Line, error) bool) {
		for l, err := range ledger.Read(dir) {
			var system *fs.PathError
			switch {
			case errors.As(err, &system):
				yield(l, err)
				return
			case err != nil: // a damaged line; curtsy audit is for these
			case !yield(l, nil):
				return
			}
		}
	}
}
