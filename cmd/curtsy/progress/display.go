package progress

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// Display is what people hear of a running crawl on standard error: one live line on a terminal, a plain line every ten
// seconds elsewhere, and sentences between them.
type Display struct {
	Quiet, Live bool
	dry         bool          // there is nothing to estimate
	columns     func() int    // of the terminal; 0 when unknown
	Deaf        chan struct{} // closed when standard error takes no more

	mu    sync.Mutex
	w     io.Writer
	lost  bool
	width int // of the live line on the screen now
}

// Times between two looks at the crawl.
const (
	liveEvery  = 250 * time.Millisecond
	plainEvery = 10 * time.Second
)

// New is a display on w, which is that of a terminal if w is one.
func New(w io.Writer, quiet, dry bool) *Display {
	v := &Display{w: w, Quiet: quiet, dry: dry, Deaf: make(chan struct{})}
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return v
	}
	v.Live = true
	v.columns = func() int {
		columns, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return columns
	}
	return v
}

// Every is the time between two lines.
func (v *Display) Every() time.Duration {
	if v.Live {
		return liveEvery
	}
	return plainEvery
}

// print writes to standard error; called with mu held.
func (v *Display) print(text string) {
	if _, err := io.WriteString(v.w, text); err != nil && !v.lost {
		v.lost = true
		close(v.Deaf)
	}
}

// Say prints a sentence, above the live line if there is one.
func (v *Display) Say(format string, args ...any) {
	if v.Quiet {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	v.print(plainly.Lines(fmt.Sprintf(format, args...)) + "\n")
}

// clear removes the live line; called with mu held.
func (v *Display) clear() {
	if v.width > 0 {
		v.print("\r" + strings.Repeat(" ", v.width) + "\r")
		v.width = 0
	}
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
	if !v.Live {
		v.print(line + "\n")
		return
	}
	if columns := v.columns(); columns > 1 {
		v.width = min(v.width, columns-1) // made narrower, the terminal has wrapped or cut what was there
		if len(line) >= columns {
			line = line[:columns-1] // progress writes ASCII only
		}
	}
	v.print("\r" + line + strings.Repeat(" ", max(v.width-len(line), 0)))
	v.width = len(line)
}

// watched is a running crawl, as far as its progress goes.
type watched interface {
	Status(ctx context.Context) (status.Status, error)
	Estimate(ctx context.Context) (status.Estimate, error)
}

// Follow shows the progress of c until ctx ends, and an estimate at the start and whenever it doubles. Estimates cost
// a look at every host, so that they are made at 0, 1, 3, 7 and 15 seconds, and then every ten.
func (v *Display) Follow(ctx context.Context, c watched) {
	if v.Quiet {
		return
	}
	lines, looks := time.NewTicker(v.Every()), time.NewTimer(0)
	defer lines.Stop()
	defer looks.Stop()
	var said time.Duration
	var waits waiting
	for pause := time.Second; ; {
		select {
		case <-ctx.Done():
			return
		case <-lines.C:
			if s, err := c.Status(ctx); err == nil {
				v.Show(progress(s))
			}
		case <-looks.C:
			said = v.estimate(ctx, c, said)
			if s, err := c.Status(ctx); err == nil && !v.dry {
				if text := waits.look(s); text != "" {
					v.Say("%s", plainly.OneLine(text))
				}
			}
			looks.Reset(pause)
			pause = min(2*pause, plainEvery)
		}
	}
}

// estimate says how long the crawl takes, if that is more than twice what was said, and returns what was said last.
func (v *Display) estimate(ctx context.Context, c watched, said time.Duration) time.Duration {
	s, err := c.Status(ctx)
	if err != nil || s.State != "running" || v.dry {
		return said
	}
	e, err := c.Estimate(ctx)
	if err != nil || e.Left < time.Second || e.Left <= 2*said {
		return said
	}
	v.Say("%s", e)
	return e.Left
}

// progress is a status in one line.
func progress(s status.Status) string {
	elapsed := time.Duration(s.Elapsed * float64(time.Second))
	line := fmt.Sprintf("%s %s  %d fetched  %d to go  %s  %s", text.Clock(elapsed), s.State,
		s.Fetched, s.Queued+s.InFlight+s.Deferred, plainly.Count(s.Hosts, "host"), text.RoughSize(s.Bytes))
	if n := s.Failed; n > 0 {
		line += fmt.Sprintf("  %d failed", n)
	}
	if n := s.Parked + s.Retired + s.Refused; n > 0 {
		line += "  " + plainly.Count(n, "host") + " resting"
	}
	return line
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
