package progress

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/frontier/durable/meter"
	"curtsy/storage/mirror"
	"curtsy/storage/plainly"
)

// Work is how far a long work is, as whoever does it tells. Its methods may be called concurrently.
type Work struct {
	name  string // "audit"
	thing string // that is counted; empty for bytes
	done  atomic.Int64
	total atomic.Int64 // zero: nobody knows
	part  atomic.Pointer[part]
}

// NewWork is a work of that name, on things; no thing for bytes.
func NewWork(name, thing string) *Work { return &Work{name: name, thing: thing} }

// At says how much is done, of what part of the work.
func (w *Work) At(name string, done int64) {
	if p := w.part.Load(); p == nil || p.name != name {
		w.part.Store(&part{name, time.Now()})
	}
	w.done.Store(done)
}

// part is one of several that are done one after the other.
type part struct {
	name  string
	began time.Time
}

// Reads says that files, or those in folders, are read so many times from one end to the other.
func (w *Work) Reads(times int64, paths ...string) *Work {
	for _, path := range paths {
		_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil // what is not there, the work itself says
			}
			if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() {
				w.total.Add(times * fi.Size())
			}
			return nil
		})
	}
	return w
}

// hears has a work tell w how far it is.
func (w *Work) hears(ctx context.Context) context.Context {
	return meter.With(ctx, meter.Listener{Of: func(n int64) { w.total.Add(n) }, Add: func(n int64) { w.done.Add(n) }})
}

// shownAfter is how long a work takes until it is shown at all on a terminal.
const shownAfter = 500 * time.Millisecond

// While shows how far a work is until do returns, as Display does.
// What do calls may tell by its context: package meter.
func While(ctx context.Context, to io.Writer, quiet bool, w *Work, do func(ctx context.Context) error) error {
	return New(to, quiet, false).While(ctx, w, do)
}

// While is the function While, where sentences are said meanwhile.
func (v *Display) While(ctx context.Context, w *Work, do func(ctx context.Context) error) error {
	return v.while(ctx, w.now, func() error { return do(w.hears(ctx)) })
}

func (v *Display) while(ctx context.Context, now func() work, do func() error) error {
	if v.Quiet {
		return do()
	}
	over, end := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { v.follow(over, now) })
	defer func() {
		end()
		beside.Wait()
		v.Finish()
	}()
	return do()
}

// now is the work as it is.
func (w *Work) now() work {
	x := work{Name: w.name, Thing: w.thing, Done: w.done.Load(), Total: w.total.Load()}
	if p := w.part.Load(); p != nil {
		x.Part, x.Took = p.name, time.Since(p.began)
	}
	return x
}

// follow shows a work until ctx ends.
func (v *Display) follow(ctx context.Context, now func() work) {
	wait := plainEvery
	if v.Live() {
		wait = shownAfter
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for began := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			timer.Reset(v.Every())
		}
		x := now()
		x.Took = cmp.Or(x.Took, time.Since(began))
		v.Show(x.line())
	}
}

// WhileMirrored shows how far a mirror is, until do returns.
func (v *Display) WhileMirrored(ctx context.Context, p *mirror.Progress, do func() error) error {
	return v.while(ctx, func() work { return mirrored(p) }, do)
}

// mirrored is how far a mirror is: the archive is read first.
func mirrored(p *mirror.Progress) work {
	if total := p.Total.Load(); total > 0 {
		return work{Name: "mirror", Part: "writing", Thing: "URL", Done: p.Written.Load(), Total: total}
	}
	return work{Name: "mirror", Part: "reading the archive", Thing: "URL", Done: p.Read.Load()}
}

// Line returns the state of a crawl in one line, the most important first. Rates are those of the last seconds.
func Line(l status.Look, rates status.Rates) string {
	s, e := &l.Status, &l.Estimate
	line := fmt.Sprintf("%s %s  %d fetched, %d pending", text.Clock(text.Seconds(s.Elapsed)), text.StateWord(s.State), s.Fetched, s.Queued+s.InFlight+s.Deferred)
	if s.Opens != nil {
		line += ", outside its window; continues at " + s.Opens.Format("Mon 2 Jan 15:04 MST")
	}
	if s.State == "running" && rates.Exchanges > 0 {
		line += ", " + perSecond(rates.Pages) + " pages/s"
		if rates.Permitted > 0 { // hosts come and go meanwhile, so the rate may seem higher than permitted
			line += fmt.Sprintf(" (%.0f %% of permitted)", 100*min(rates.Exchanges/rates.Permitted, 1))
		}
		if e.Likely > 0 {
			left, more := e.RestText()
			line += ", " + left + more
		}
	}
	if s.Failed > 0 {
		line += fmt.Sprintf(", %d failed", s.Failed)
	}
	line += ", " + plainly.Count(s.Hosts, "host")
	if n := s.Parked + s.Retired + s.Refused; n > 0 {
		line += fmt.Sprintf(" (%d waiting or closed)", n)
	}
	return plainly.OneLine(line + ", " + plainly.RoughSize(s.Bytes))
}

// perSecond writes a rate in as many digits as are significant.
func perSecond(r float64) string {
	switch {
	case r >= 100:
		return fmt.Sprintf("%.0f", r)
	case r >= 10 || r == 0:
		return fmt.Sprintf("%.1f", r)
	}
	return fmt.Sprintf("%.2f", r)
}

// work is how far a long work is at one instant.
type work struct {
	Name  string
	Part  string // of it, that is under way; empty for none
	Thing string // that is counted; empty for bytes
	Done  int64
	Total int64 // zero: not known
	Took  time.Duration
}

// count writes a number of things, or bytes.
func (w work) count(n int64) string {
	if w.Thing == "" {
		return plainly.RoughSize(n)
	}
	return plainly.Count(n, w.Thing)
}

// far is how far it is, in words.
func (w work) far() string {
	if w.Total == 0 {
		return w.count(w.Done)
	}
	done := plainly.RoughSize(w.Done)
	if w.Thing != "" {
		done = fmt.Sprint(w.Done)
	}
	return done + " of " + w.count(w.Total)
}

// rate is how much is done in a second; empty where that is not known yet.
func (w work) rate() string {
	if w.Took < time.Second || w.Done == 0 {
		return ""
	}
	n := float64(w.Done) / w.Took.Seconds()
	if w.Thing == "" {
		return plainly.RoughSize(int64(n)) + "/s"
	}
	return perSecond(n) + "/s"
}

// left is how long it still takes at that rate; empty where that is not known.
func (w work) left() string {
	if w.Took < 2*time.Second || w.Done == 0 || w.Total == 0 || w.Done >= w.Total {
		return ""
	}
	left := time.Duration(float64(w.Took) / float64(w.Done) * float64(w.Total-w.Done))
	return status.Roughly(max(left, time.Second)) + " left"
}

// line is a work in one line.
func (w work) line() string {
	name := w.Name
	if w.Part != "" {
		name += ": " + w.Part
	}
	line := text.Clock(w.Took) + " " + name + "  " + w.far()
	if w.Total > 0 {
		line += fmt.Sprintf(", %.0f %%", 100*min(float64(w.Done)/float64(w.Total), 1))
	}
	for _, s := range []string{w.rate(), w.left()} {
		if s != "" {
			line += ", " + s
		}
	}
	return plainly.OneLine(line)
}
