package progress

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"curtsy/crawler/status"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// Display reports on a running crawl on standard error: a live line on a terminal, a plain line every ten seconds elsewhere,
// and sentences between them.
type Display struct {
	Quiet bool
	dry   bool          // there is nothing to estimate
	Deaf  chan struct{} // closed when standard error takes no more

	mu       sync.Mutex
	w        io.Writer
	lost     bool
	terminal *Terminal // nil without one
	line     string    // that is on it
}

// Times between two looks at the crawl.
const (
	liveEvery  = 250 * time.Millisecond
	plainEvery = 10 * time.Second
)

// New returns a display on w.
func New(w io.Writer, quiet, dry bool) *Display {
	return &Display{w: w, Quiet: quiet, dry: dry, Deaf: make(chan struct{}), terminal: TerminalOf(w)}
}

// Live reports whether there is a terminal.
func (v *Display) Live() bool { return v.terminal != nil }

// Every is the time between two lines.
func (v *Display) Every() time.Duration {
	if v.Live() {
		return liveEvery
	}
	return plainEvery
}

// heard takes in whether somebody could be told something; called with mu held.
func (v *Display) heard(err error) {
	if err != nil && !v.lost {
		v.lost = true
		close(v.Deaf)
	}
}

// print writes to standard error; called with mu held.
func (v *Display) print(text string) {
	_, err := io.WriteString(v.w, text)
	v.heard(err)
}

// Say prints a sentence, above the live line if there is one.
func (v *Display) Say(format string, args ...any) {
	if !v.Quiet {
		v.Tell(format, args...)
	}
}

// Tell is Say even if the display is quiet.
func (v *Display) Tell(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	line := v.line
	v.clear()
	v.print(plainly.Lines(fmt.Sprintf(format, args...)) + "\n")
	if line != "" {
		v.line = line
		v.heard(v.terminal.Draw(line))
	}
}

// clear removes the live line; called with mu held.
func (v *Display) clear() {
	if v.terminal != nil {
		v.heard(v.terminal.Clear())
	}
	v.line = ""
}

// Finish leaves the terminal clean.
func (v *Display) Finish() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
}

// Show replaces the live line, or prints a plain one.
func (v *Display) Show(line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.terminal == nil {
		v.print(line + "\n")
		return
	}
	v.heard(v.terminal.Draw(line))
	v.line = line
}

// Crawl is a running crawl, as far as its progress goes.
type Crawl interface {
	Status(ctx context.Context) (status.Status, error)
	Estimate(ctx context.Context) (status.Estimate, error)
}

// Follow shows the progress of c until ctx ends, and an estimate at the start and whenever it doubles. Estimates cost
// a look at every host, so that they are made at 0, 1, 3, 7 and 15 seconds, and then every ten.
func (v *Display) Follow(ctx context.Context, c Crawl) {
	if v.Quiet {
		return
	}
	lines, looks := time.NewTicker(v.Every()), time.NewTimer(0)
	defer lines.Stop()
	defer looks.Stop()
	var said time.Duration
	var waits waiting
	var troubles troubles
	if s, err := c.Status(ctx); err == nil {
		troubles.look(s) // of an earlier run
	}
	rates := status.Keep(ratesOver, liveEvery)
	for pause := time.Second; ; {
		select {
		case <-ctx.Done():
			return
		case <-lines.C:
			if look, err := lookAt(ctx, c); err == nil {
				for _, text := range troubles.look(look.Status) {
					v.Say("%s", plainly.OneLine(text))
				}
				v.Show(Line(look, rated(&rates, look)))
			}
		case <-looks.C:
			said = v.estimate(ctx, c, said)
			if s, err := c.Status(ctx); err == nil && !v.dry {
				for _, text := range append(troubles.look(s), waits.look(s)) {
					if text == "" {
						continue
					}
					v.Say("%s", plainly.OneLine(text))
				}
			}
			looks.Reset(pause)
			pause = min(2*pause, plainEvery)
		}
	}
}

// lookAt asks a crawl all that is shown.
func lookAt(ctx context.Context, c Crawl) (l status.Look, err error) {
	if l.Status, err = c.Status(ctx); err != nil {
		return l, err
	}
	if l.Estimate, err = c.Estimate(ctx); err != nil {
		return l, err
	}
	if c, ok := c.(interface{ Live() *status.Live }); ok { // a crawl has it
		l.Waits, err = c.Live().Waits(ctx, l.Status.LimitedByIP)
	}
	return l, err
}

// Rates are of the last seconds: of so many looks.
const (
	rateSpan  = 10 * time.Second
	ratesOver = int(rateSpan/liveEvery) + 1
)

// rated takes in a look, and returns how fast it went of late.
func rated(all *status.Samples, l status.Look) status.Rates {
	all.Add(status.Sample{
		At: time.Now(), Pages: l.Status.Pages, Bytes: l.Status.Bytes, Exchanges: l.Status.Exchanges, Permitted: l.Waits.Permitted,
	})
	return all.Over(rateSpan)
}

// estimate says how long the crawl takes, if that is more than twice what was said, and returns what was said last.
func (v *Display) estimate(ctx context.Context, c Crawl, said time.Duration) time.Duration {
	s, err := c.Status(ctx)
	if err != nil || s.State != "running" || v.dry {
		return said
	}
	e, err := c.Estimate(ctx)
	if err != nil || e.Rest() < time.Second || e.Rest() <= 2*said {
		return said
	}
	v.Say("%s", e)
	return e.Rest()
}

// Line says a line of the ledger, for -v.
func (v *Display) Line(l storage.Line) {
	text := string(l.Decision)
	if l.Outcome != "" {
		text = string(l.Outcome)
	}
	if l.Status != 0 {
		text += fmt.Sprintf(" %d", l.Status)
	}
	text += " " + l.URL
	if why := reasonOf(l); why != "" {
		text += " (" + why + ")"
	}
	if l.Count > 1 {
		text += fmt.Sprintf(", and %d more like it", l.Count-1)
	}
	v.Say("%s", plainly.OneLine(text))
}

// reasonOf is why a line says what it says; what went the usual way needs none.
func reasonOf(l storage.Line) string {
	switch {
	case l.Outcome == storage.OutcomeDisallowed && l.RobotsLine > 0:
		return fmt.Sprintf("robots.txt line %d: %s", l.RobotsLine, l.RobotsRule)
	case l.List != "":
		return fmt.Sprintf("opt-out list line %d: %s", l.RobotsLine, l.RobotsRule)
	case l.Outcome == storage.OutcomeFetched:
		return ""
	}
	return plainly.Reason(l.Reason)
}
