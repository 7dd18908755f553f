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

// A Comparison is of a generation with the one before, as the ledger tells of both. It is written once.
type Comparison struct {
	Generation budget.Generation
	Complete   bool   // nothing of the generation is left to do
	Ledger     string // its folder
	Spool      string // a folder to sort in
	File       string // what changed is written there
	Past       *Past

	// OptedOut reports whether an opt-out list in force names the URL. Nil means that there is no list.
	OptedOut func(canon.URL) bool

	counts  map[string]int64
	out     *bufio.Writer
	between string // changes
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
	c.counts = map[string]int64{}
	for _, word := range []string{string(storage.ChangeNew), string(storage.ChangeChanged), string(storage.ChangeUnchanged), string(storage.ChangeFresh), string(storage.ChangeGone), Unknown, OptedOut} {
		c.counts[word] = 0
	}
	if c.Complete && !c.Generation.Round {
		c.counts[Unlinked] = 0
	}
	all := &Changes{
		Version: 1, Generation: c.Generation.Number, Began: c.Generation.Began, Complete: c.Complete,
		Round: c.Generation.Round, Counts: c.counts, File: c.File,
	}
	err = durable.File(c.File, func(out io.Writer) error {
		c.out = bufio.NewWriter(out)
		fmt.Fprintf(c.out, "{\"version\":%d,\"generation\":%d,\"began\":%q,\"complete\":%t,%s\"changes\":[", all.Version, all.Generation, all.Began.Format(time.RFC3339Nano), all.Complete, map[bool]string{true: `"round":true,`}[all.Round])
		if err := c.write(ctx, lines); err != nil {
			return err
		}
		b, err := json.Marshal(c.counts)
		if err == nil {
			_, err = fmt.Fprintf(c.out, "\n],\"counts\":%s}\n", b)
		}
		return errors.Join(err, c.out.Flush())
	})
	if err != nil {
		return nil, fmt.Errorf("changes: %w", err)
	}
	return all, nil
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

// write writes what became of each URL.
func (c *Comparison) write(ctx context.Context, rows *sorted.Rows[outcome]) error {
	var url string
	var was, now outcome
	met := false
	for row, err := range rows.All() {
		if err != nil {
			return err
		}
		if row.Key != url {
			if err := c.became(ctx, url, was, now, met); err != nil {
				return err
			}
			url, was, now, met = row.Key, outcome{}, outcome{}, false
		}
		o := row.Value
		met = met || o.Now
		switch {
		case o.Outcome == storage.OutcomeDeferred:
		case o.Now:
			now = o
		default:
			was = o
		}
	}
	return c.became(ctx, url, was, now, met)
}

// became writes what became of a URL: what it was, and is. met says that this generation has a line of it.
func (c *Comparison) became(ctx context.Context, url string, was, now outcome, met bool) error {
	u, invalid := canon.Parse(url) // no crawl can have one that is invalid
	had := was.Outcome == storage.OutcomeFetched || was.Outcome == storage.OutcomeRedirected
	if c.Generation.Round && now.Change == "" && now.Outcome != "" { // no answer says what is there
		if invalid == nil {
			last, err := c.Past.Last(ctx, u)
			if err != nil {
				return err
			}
			if last.There() {
				was = outcome{Outcome: storage.OutcomeFetched, Status: last.Status, Time: last.Date, Record: last.Record}
			}
		}
		had = was.Outcome != ""
	}
	e := Change{URL: url, Change: string(now.Change), Status: now.Status, Record: now.Record}
	switch {
	case e.Change != "" || !had:
	case now.Outcome != "":
		e.Change = Unknown
	case !met && c.Complete:
		e.Change = Unlinked
	}
	if e.Change == "" {
		return ctx.Err()
	}
	// An opt-out list may be why the URL was not fetched, or no page that links to it.
	if (e.Change == Unknown || e.Change == Unlinked) && (now.OptOut || invalid == nil && c.OptedOut != nil && c.OptedOut(u)) {
		e.Change = OptedOut
	}
	if had {
		e.Before = &Earlier{Time: was.Time, Status: was.Status, Record: was.Record}
	}
	if (!had || was.Record == "") && e.Change != string(storage.ChangeNew) && invalid == nil {
		last, err := c.Past.Last(ctx, u)
		if err != nil {
			return err
		}
		if last != nil {
			e.Before = &Earlier{Time: last.Date, Status: last.Status, Record: last.Record}
		}
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	c.counts[e.Change]++
	_, err = fmt.Fprintf(c.out, "%s\n%s", c.between, b)
	c.between = ","
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
