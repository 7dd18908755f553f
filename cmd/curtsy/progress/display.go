// Package progress shows the progress of a crawl or mirror: a live line on a terminal, plain lines elsewhere. It asks
// the crawl, and decides nothing.
package progress

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/storage"
	"curtsy/storage/plainly"
	"github.com/rivo/uniseg"
	"golang.org/x/term"
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

// Terminal is the status line of a terminal: the line of the cursor, redrawn in place without escape sequences. Its methods
// must not be called concurrently.
type Terminal struct {
	w          io.Writer
	columns    func() int  // zero where it is not known
	foreground func() bool // false while a shell has the terminal
	width      int         // columns of the line that is there
}

// TerminalOf returns the status line of w, or nil if w is not a terminal or a dumb one.
func TerminalOf(w io.Writer) *Terminal {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	columns := func() int {
		n, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return n
	}
	return &Terminal{w: w, columns: columns, foreground: func() bool { return foreground(f) }}
}

// Draw replaces the line, cut to the width of the terminal, and draws nothing in the background. The last column stays
// empty, because some terminals break a line that reaches it.
func (t *Terminal) Draw(line string) error {
	if !t.foreground() {
		t.width = 0
		return nil
	}
	columns := t.columns() - 1
	if columns <= 0 {
		columns = 79
	}
	line = clip(plainly.OneLine(line), columns)
	width := uniseg.StringWidth(line)
	rest := max(min(t.width, columns)-width, 0)
	t.width = width
	_, err := io.WriteString(t.w, "\r"+line+strings.Repeat(" ", rest)+"\r")
	return err
}

// Clear removes the line.
func (t *Terminal) Clear() error {
	if t.width == 0 {
		return nil
	}
	return t.Draw("")
}

// Leave lets the line stand; what is written next begins below it.
func (t *Terminal) Leave() error {
	if t.width == 0 {
		return nil
	}
	t.width = 0
	_, err := io.WriteString(t.w, "\r\n")
	return err
}

// clip cuts text to so many columns, between two grapheme clusters.
func clip(text string, columns int) string {
	if uniseg.StringWidth(text) <= columns {
		return text
	}
	var b strings.Builder
	used := 0
	for g := uniseg.NewGraphemes(text); g.Next() && used+g.Width() < columns; used += g.Width() {
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}

// waiting says what a crawl waits for when nothing else goes on, each time that it is something else.
type waiting struct {
	said      string // the hosts that were named last
	exchanges int64  // as of the last look
	looked    bool   // there was one
}

// maxNamed is how many hosts a sentence names.
const maxNamed = 3

// look returns what is to be said of a status; empty when the crawl does not just wait, or that was said.
func (w *waiting) look(s status.Status) string {
	still := w.looked && w.exchanges == s.Exchanges && s.Exchanges+s.InFlight > 0
	w.exchanges, w.looked = s.Exchanges, true
	hosts, says := "", ""
	switch left := s.Queued + s.Deferred; {
	case s.State != "running" || left+s.InFlight == 0:
	case s.InFlight == 0:
		hosts, says = resting(s, left)
	case still: // since the last look, a second before or more
		hosts, says = answering(s)
	}
	if says == "" || hosts == w.said {
		return ""
	}
	w.said = hosts
	return says + fmt.Sprintf("; Ctrl-C ends the crawl now and leaves %s for curtsy resume", plainly.Count(s.Queued+s.Deferred+s.InFlight, "URL"))
}

// resting names the hosts that a crawl waits for when all that have something left are left alone.
func resting(s status.Status, left int64) (hosts, says string) {
	var names []string
	first := math.Inf(1)
	for _, r := range s.Resting {
		left -= r.Pending
		if r.Wait > 0 {
			names = append(names, r.Host+" ("+plainly.Reason(r.Reason)+")")
			first = min(first, r.Wait)
		}
	}
	for _, q := range s.Longest { // Resting has none that is open
		if q.State == "" && q.Wait > q.Pace {
			left -= q.Pending
			names = append(names, q.Host+" ("+status.NotDue+")")
			first = min(first, q.Wait)
		}
	}
	if left > 0 || len(names) == 0 {
		return "", ""
	}
	slices.Sort(names)
	return strings.Join(names, " "), fmt.Sprintf("only hosts in back-off are left: %s; next request in %v", named(names), text.Seconds(first).Round(time.Second))
}

// answering names the hosts that a crawl waits for when nothing came for a while.
func answering(s status.Status) (hosts, says string) {
	var names []string
	for _, q := range s.Longest {
		if q.State == "" {
			names = append(names, q.Host)
		}
	}
	if len(names) == 0 {
		return "", ""
	}
	slices.Sort(names)
	return strings.Join(names, " "), fmt.Sprintf("waiting for responses from %s", named(names))
}

// named lists the first of many.
func named(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// troubles says which hosts are left alone, each once.
type troubles struct {
	hosts map[string]bool // that need not be said: of an earlier run, or said; nil before the first look
	said  int
	full  map[string]bool // limits of which it was said that a host reached them
}

// mostTroubled is how many hosts are named while a crawl runs: the status names more.
const mostTroubled = 5

// look returns what is to be said of a status. What was so before the first look is none of this run.
func (t *troubles) look(s status.Status) (says []string) {
	first := t.hosts == nil
	if first {
		t.hosts, t.full = map[string]bool{}, map[string]bool{}
	}
	for _, r := range s.Resting {
		if limit := strings.HasPrefix(r.Reason, storage.RuleOfBudget); limit && !t.full[r.Reason] && !t.hosts[r.Host] {
			t.hosts[r.Host], t.full[r.Reason] = true, true
			if !first {
				says = append(says, fmt.Sprintf("%s is not being crawled: %s; curtsy status counts further hosts", r.Host, plainly.Reason(r.Reason)))
			}
		}
		if t.hosts[r.Host] || t.said > mostTroubled {
			continue
		}
		closed := r.Condition == frontier.Retired.String() || r.Condition == frontier.Refused.String()
		if t.hosts[r.Host] = true; first || closed || strings.HasPrefix(r.Reason, "robots") { // the crawl itself says that
			continue
		}
		switch t.said++; {
		case t.said > mostTroubled:
			says = append(says, "more hosts are not being crawled; curtsy status lists them")
		case r.Wait > 0:
			says = append(says, fmt.Sprintf("backing off from %s: %s; next try in %v", r.Host, plainly.Reason(r.Reason), text.Seconds(r.Wait).Round(time.Second)))
		default:
			says = append(says, fmt.Sprintf("%s is not being crawled: %s", r.Host, plainly.Reason(r.Reason)))
		}
	}
	return says
}
