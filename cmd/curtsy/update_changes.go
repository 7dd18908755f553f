package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/sorted"
)

// changesName is the file in a crawl directory that has what changed in its last generation.
const changesName = "changes.json"

// What the ledger has no word for, because it is known by comparing alone.
const (
	changeUnlinked = "unlinked" // the generation before had it, and nothing led to it in this one
	changeUnknown  = "unknown"  // the generation before had it, and this one got no answer that says what is there
)

// changes is what changed in a generation, in numbers.
type changes struct {
	Version    int              `json:"version"`
	Generation int64            `json:"generation"`
	Began      time.Time        `json:"began"`
	Complete   bool             `json:"complete"` // nothing of the generation is left to do
	Counts     map[string]int64 `json:"counts"`
	File       string           `json:"file,omitempty"`
}

// change is what became of one URL.
type change struct {
	URL    string   `json:"url"`
	Change string   `json:"change"`
	Status int      `json:"status,omitempty"`
	Record string   `json:"record,omitempty"`
	Before *earlier `json:"before,omitempty"`
}

// earlier is what the archive had before.
type earlier struct {
	Time   time.Time `json:"time"`
	Status int       `json:"status,omitempty"`
	Record string    `json:"record,omitempty"`
}

// changes compares the ledger's lines of a generation with those of the one before, and writes the file. The lines are
// sorted by URL on disk: memory does not depend on their number. What no longer is linked is known when nothing of the
// generation is left to do.
func (d *crawlDir) changes(ctx context.Context, p *past, complete bool) (_ *changes, err error) {
	lines := sorted.New(inDir(d.path, crawldir.SpoolName), sortedMemory)
	defer func() { err = errors.Join(err, lines.Close()) }()
	n := int64(0)
	for l, err := range decisions(inDir(d.path, crawldir.LedgerName)) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if at := n; at >= d.generation.Before && l.Outcome != "" {
			if err := addOutcome(lines, &l, at >= d.generation.Lines, at); err != nil {
				return nil, err
			}
		}
		n++
	}
	c := &changes{
		Version: 1, Generation: d.generation.Number, Began: d.generation.Began, Complete: complete,
		Counts: map[string]int64{}, File: inDir(d.path, changesName),
	}
	for _, word := range []string{string(storage.ChangeNew), string(storage.ChangeChanged), string(storage.ChangeUnchanged), string(storage.ChangeFresh), string(storage.ChangeGone), changeUnknown} {
		c.Counts[word] = 0
	}
	if complete {
		c.Counts[changeUnlinked] = 0
	}
	return c, d.writeChanges(ctx, c, p, lines)
}

// writeChanges writes the file whole, or leaves that which was there.
func (d *crawlDir) writeChanges(ctx context.Context, c *changes, p *past, from *sorted.Sorter) error {
	path := inDir(d.path, changesName)
	err := durable.File(path, func(out io.Writer) error {
		w := &changeWriter{ctx: ctx, c: c, past: p, out: bufio.NewWriter(out)}
		fmt.Fprintf(w.out, "{\"version\":%d,\"generation\":%d,\"began\":%q,\"complete\":%t,\"changes\":[", c.Version, c.Generation, c.Began.Format(time.RFC3339Nano), c.Complete)
		for line, err := range from.All() {
			if err != nil {
				return err
			}
			if _, err := w.Write(line); err != nil {
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

// outcome is the outcome of a URL in one of two generations, as it is sorted.
type outcome struct {
	url, change, outcome, record string
	status                       int
	time                         time.Time
	now                          bool // of this generation, and not of the one before
}

// sortedMemory is how many bytes of outcomes are sorted in memory at once.
const sortedMemory = 16 << 20

// addOutcome adds a line that appendOutcome makes, if it makes one.
func addOutcome(to *sorted.Sorter, l *storage.Line, now bool, at int64) error {
	line := appendOutcome(nil, l, now, at)
	if len(line) == 0 {
		return nil
	}
	return to.Add(line)
}

// appendOutcome appends a line for sorting: by URL, then in the order of the ledger. Of a URL that no crawl of ours can
// have there is none.
func appendOutcome(b []byte, l *storage.Line, now bool, at int64) []byte {
	for _, s := range []string{l.URL, string(l.Change), string(l.Outcome), l.Record} {
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' }) {
			return nil
		}
	}
	generation := "0"
	if now {
		generation = "1"
	}
	return fmt.Appendf(b, "%s\t%s\t%016x\t%s\t%s\t%s\t%d\t%d\n", l.URL, generation, at, string(l.Change), l.Outcome, l.Record, l.Status, l.Time.UnixMicro())
}

func parseOutcome(line []byte) (o outcome, err error) {
	f := strings.Split(strings.TrimSuffix(string(line), "\n"), "\t")
	if len(f) != 8 {
		return o, fmt.Errorf("a sorted line has %d fields", len(f))
	}
	o = outcome{url: f[0], now: f[1] == "1", change: f[3], outcome: f[4], record: f[5]}
	if o.status, err = strconv.Atoi(f[6]); err != nil {
		return o, err
	}
	at, err := strconv.ParseInt(f[7], 10, 64)
	o.time = time.UnixMicro(at).UTC()
	return o, err
}

// changeWriter makes changes of sorted lines. What is written to it need not end with a line.
type changeWriter struct {
	ctx  context.Context // of the one call that writes
	c    *changes
	past *past
	out  *bufio.Writer

	part []byte // of a line
	n    int64

	url      string
	was, now outcome
	met      bool
}

func (w *changeWriter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			w.part = append(w.part, rest...)
			break
		}
		w.part = append(w.part, rest[:i]...)
		o, err := parseOutcome(w.part)
		if err == nil {
			err = w.take(o)
		}
		if err != nil {
			return 0, err
		}
		w.part, rest = w.part[:0], rest[i+1:]
	}
	return len(b), nil
}

func (w *changeWriter) take(o outcome) error {
	if o.url != w.url {
		if err := w.flush(); err != nil {
			return err
		}
		w.url, w.was, w.now, w.met = o.url, outcome{}, outcome{}, false
	}
	switch {
	case !o.now && o.outcome != "deferred":
		w.was = o
	case o.now:
		w.met = true
		if o.outcome != "deferred" {
			w.now = o
		}
	}
	return nil
}

// flush writes what became of a URL.
func (w *changeWriter) flush() error {
	had := w.was.outcome == frontier.Fetched.String() || w.was.outcome == frontier.Redirected.String()
	e := change{URL: w.url, Change: w.now.change, Status: w.now.status, Record: w.now.record}
	switch {
	case e.Change != "" || !had:
	case w.now.outcome != "":
		e.Change = changeUnknown
	case !w.met && w.c.Complete:
		e.Change = changeUnlinked
	}
	if e.Change == "" {
		return w.ctx.Err()
	}
	if had {
		e.Before = &earlier{Time: w.was.time, Status: w.was.status, Record: w.was.record}
	}
	if (!had || w.was.record == "") && e.Change != string(storage.ChangeNew) {
		if u, err := canon.Parse(w.url); err == nil {
			last, err := w.past.Last(w.ctx, u)
			if err != nil {
				return err
			}
			if last != nil {
				e.Before = &earlier{Time: last.Date, Status: last.Status, Record: last.Record}
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

// changesText is the table for people.
func changesText(c *changes) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nsince the generation before\n")
	for _, r := range []struct{ word, name string }{
		{string(storage.ChangeNew), "new"}, {string(storage.ChangeChanged), "changed"}, {string(storage.ChangeUnchanged), "unchanged"},
		{string(storage.ChangeFresh), "fresh, not asked"}, {string(storage.ChangeGone), "gone (404, 410)"}, {changeUnknown, "not known now"}, {changeUnlinked, "no longer linked"},
	} {
		if n, known := c.Counts[r.word]; known {
			fmt.Fprintf(&b, "  %-18s %d\n", r.name, n)
		} else {
			fmt.Fprintf(&b, "  %-18s not known before the update is finished\n", r.name)
		}
	}
	fmt.Fprintf(&b, "changes  %s\n", oneLine(filepath.Clean(c.File)))
	return b.String()
}

// changesDone reports whether the file has all of a generation.
func changesDone(dir string, generation int64) bool {
	f, err := durable.Open(inDir(dir, changesName))
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 200)
	n, _ := io.ReadFull(f, head)
	return strings.HasPrefix(string(head[:n]), fmt.Sprintf(`{"version":1,"generation":%d,`, generation)) &&
		strings.Contains(string(head[:n]), `"complete":true,`)
}
