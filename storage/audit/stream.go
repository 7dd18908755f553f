package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// stream is a file while it is read: it gives what is to be judged, in the order of the file.
type stream struct {
	f      *os.File
	size   *counted
	rd     *warc.Lenient
	told   File
	info   *Info
	window []*half
	queue  []event
	done   bool
	opened bool // something was read
}

// event is something to be judged: an exchange, a warcinfo record, or lines of URLs that were not asked for.
type event struct {
	info  *Info // what the file said last
	h     *half
	lines []storage.Line
	at    finding.Place // of lines
}

// due is when an event's place among those of other files is: when its exchange ended, for then it was written.
func (ev event) due() time.Time {
	if ev.h == nil {
		return time.Time{}
	}
	return ev.h.e.End()
}

func (a *audit) open(path string) (*stream, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	s := &stream{f: f, size: &counted{r: f}, told: File{Name: path}}
	s.rd = warc.NewLenient(s.size, func(f warc.Finding) { a.oddity(&s.told, f) })
	return s, nil
}

// fill reads until something is to be judged, or the file ends.
func (a *audit) fill(ctx context.Context, s *stream) error {
	if s.info == nil && a.o.Ours { // until its warcinfo is met
		s.info = &Info{Ours: true}
	}
	a.cur, a.info = s, s.info
	for len(s.queue) == 0 && !s.done {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("audit: read %s: %w", s.told.Name, err)
		}
		rec, err := s.rd.Next()
		if errors.Is(err, io.EOF) {
			if n := len(s.window); n > 0 {
				s.window[n-1].last = true
			}
			a.flush(0)
			s.done, s.told.Octets = true, s.size.n
			a.r.Files = append(a.r.Files, s.told)
			a.r.Totals.Records += s.told.Records
			return nil
		}
		if err != nil {
			return fmt.Errorf("audit: read %s: %w", s.told.Name, err)
		}
		s.told.Records++
		if err := a.record(s.told.Name, rec); err != nil {
			return err
		}
	}
	return nil
}

// next judges what is first in s.
func (a *audit) next(ctx context.Context, s *stream) error {
	ev := s.queue[0]
	s.queue = slices.Delete(s.queue, 0, 1)
	a.info = ev.info
	switch {
	case ev.h != nil:
		return a.exchange(ctx, ev.h)
	case ev.lines != nil:
		for i := range ev.lines {
			if err := a.refused(ctx, &ev.lines[i], ev.at); err != nil {
				return err
			}
		}
		return nil
	}
	a.boundary(ev.info)
	for _, w := range a.o.Witnesses {
		if err := w.Info(ctx, ev.info, a.report); err != nil {
			return err
		}
	}
	return nil
}

// all reads the files, each to its end before the next: our crawls write one at a time. Others may write several at
// once, whose exchanges are put in the order of time.
func (a *audit) all(ctx context.Context, paths []string) error {
	width := 1
	if len(paths) > 1 {
		firsts := make(map[string]time.Time, len(paths))
		for _, p := range paths {
			at, ours, err := first(p)
			if err != nil {
				return err
			}
			if firsts[p] = at; !ours && !a.o.Ours {
				width = maxStreams
			}
		}
		if width > 1 {
			paths = slices.Clone(paths)
			slices.SortStableFunc(paths, func(p, q string) int { return firsts[p].Compare(firsts[q]) })
		}
	}
	return a.merge(ctx, paths, width)
}

// maxStreams is how many files are read at one time.
const maxStreams = 16

// merge judges what the files hold, always what is due first of the next width of them.
func (a *audit) merge(ctx context.Context, paths []string, width int) error {
	var reading []*stream
	defer func() {
		for _, s := range reading {
			s.f.Close() // it was only read
		}
	}()
	for len(paths) > 0 || len(reading) > 0 {
		for len(reading) < width && len(paths) > 0 {
			s, err := a.open(paths[0])
			if err != nil {
				return err
			}
			reading, paths = append(reading, s), paths[1:]
		}
		best := -1
		for i := 0; i < len(reading); i++ {
			s := reading[i]
			if err := a.fill(ctx, s); err != nil {
				return err
			}
			switch {
			case len(s.queue) == 0:
				s.f.Close() // it was only read
				reading = slices.Delete(reading, i, i+1)
				i--
			case best < 0 || s.queue[0].due().Before(reading[best].queue[0].due()):
				best = i
			}
		}
		if best < 0 || len(reading) < width && len(paths) > 0 {
			continue
		}
		if err := a.next(ctx, reading[best]); err != nil {
			return err
		}
	}
	return nil
}

// first returns the first date in a file, and whether the file says that this crawler wrote it.
func first(path string) (at time.Time, ours bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return at, false, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	rd := warc.NewLenient(f, nil)
	for range 4 {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return at, false, fmt.Errorf("audit: read %s: %w", path, err)
		}
		if rec.Type == "warcinfo" {
			in := &Info{}
			var r reader
			r.init()
			r.begin(rec, false)
			if told(&r, in.add) == nil {
				in.read()
				ours = in.Ours
			}
		}
		if t, _, ok := instant(rec.Fields.Get("WARC-Date")); ok && at.IsZero() {
			at = t
		}
	}
	return at, ours, nil
}

// counted counts what is read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
