// Package progress shows the progress of a crawl or mirror: a live line on a terminal, plain lines elsewhere.
package progress

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/durable/meter"
	"curtsy/storage"
	"curtsy/storage/mirror"
	"curtsy/storage/plainly"
)

// Display reports on standard error: a live line on a terminal, a plain line every ten seconds elsewhere, and sentences.
type Display struct {
	Quiet bool
	dry   bool          // without estimates
	Deaf  chan struct{} // closed when a write to standard error fails

	mu       sync.Mutex
	w        io.Writer
	lost     bool
	terminal *Terminal // nil without one
	line     string    // shown on it
}

const (
	liveEvery  = 250 * time.Millisecond
	plainEvery = 10 * time.Second
)

func New(w io.Writer, quiet, dry bool) *Display {
	return &Display{w: w, Quiet: quiet, dry: dry, Deaf: make(chan struct{}), terminal: TerminalOf(w)}
}

func (v *Display) Live() bool { return v.terminal != nil }

// Every is the time between two lines.
func (v *Display) Every() time.Duration {
	if v.Live() {
		return liveEvery
	}
	return plainEvery
}

// note stores the error of a write; called with mu held.
func (v *Display) note(err error) {
	if err != nil && !v.lost {
		v.lost = true
		close(v.Deaf)
	}
}

// print writes to standard error; called with mu held.
func (v *Display) print(text string) {
	_, err := io.WriteString(v.w, text)
	v.note(err)
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
		v.note(v.terminal.Draw(line))
	}
}

// clear removes the live line; called with mu held.
func (v *Display) clear() {
	if v.terminal != nil && v.terminal.width != 0 {
		v.note(v.terminal.Draw(""))
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
	v.note(v.terminal.Draw(line))
	v.line = line
}

// Crawl is a running crawl.
type Crawl interface {
	Status(ctx context.Context) (status.Status, error)
	Estimate(ctx context.Context) (status.Estimate, error)
}

// Follow shows the progress of c until ctx ends, and an estimate at the start and whenever it doubles. An estimate reads every
// host, so Follow makes one after 0, 1, 3, 7 and 15 seconds, and then every ten.
func (v *Display) Follow(ctx context.Context, c Crawl) {
	if v.Quiet {
		return
	}
	lines, looks := time.NewTicker(v.Every()), time.NewTimer(0)
	defer lines.Stop()
	defer looks.Stop()
	var printed time.Duration
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
				s := &look.Status
				rates.Add(status.Sample{At: time.Now(), Pages: s.Pages, Bytes: s.Bytes, Exchanges: s.Exchanges, Permitted: look.Waits.Permitted})
				v.Show(Line(look, rates.Over(rateSpan)))
			}
		case <-looks.C:
			printed = v.estimate(ctx, c, printed)
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

// lookAt reads all that a line shows.
func lookAt(ctx context.Context, c Crawl) (l status.Look, err error) {
	if l.Status, err = c.Status(ctx); err != nil {
		return l, err
	}
	if l.Estimate, err = c.Estimate(ctx); err != nil {
		return l, err
	}
	if c, ok := c.(interface{ Live() *status.Live }); ok {
		l.Waits, err = c.Live().Waits(ctx, l.Status.LimitedByIP)
	}
	return l, err
}

const (
	rateSpan  = 10 * time.Second
	ratesOver = int(rateSpan/liveEvery) + 1
)

// estimate prints the estimate if it is more than twice the last one printed, and returns the last one.
func (v *Display) estimate(ctx context.Context, c Crawl, printed time.Duration) time.Duration {
	s, err := c.Status(ctx)
	if err != nil || s.State != "running" || v.dry {
		return printed
	}
	e, err := c.Estimate(ctx)
	if err != nil || e.Rest() < time.Second || e.Rest() <= 2*printed {
		return printed
	}
	v.Say("%s", e)
	return e.Rest()
}

// Line prints a line of the ledger, for -v.
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

// reasonOf returns the reason of a line; "" for a fetched page.
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

// Terminal is the status line of a terminal, redrawn in place without escape sequences. Its methods must not be called
// concurrently.
type Terminal struct {
	w          io.Writer
	columns    func() int  // zero if not known
	foreground func() bool // false while a shell has the terminal
	width      int         // columns of the shown line
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

// Draw replaces the line, cut to the width of the terminal; in the background it draws nothing. The last column stays empty,
// because some terminals break a line that reaches it.
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

// Leave keeps the line, and moves the cursor below it.
func (t *Terminal) Leave() error {
	if t.width == 0 {
		return nil
	}
	t.width = 0
	_, err := io.WriteString(t.w, "\r\n")
	return err
}

// clip cuts text to a width in columns, between two grapheme clusters.
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

// waiting describes the hosts that an idle crawl waits for, whenever they change.
type waiting struct {
	printed   string // the hosts named last
	exchanges int64  // at the last look
	looked    bool
}

// maxNamed bounds the hosts in a sentence.
const maxNamed = 3

// look returns a sentence on a status; "" if the crawl is not idle, or nothing changed.
func (w *waiting) look(s status.Status) string {
	still := w.looked && w.exchanges == s.Exchanges && s.Exchanges+s.InFlight > 0
	w.exchanges, w.looked = s.Exchanges, true
	hosts, says := "", ""
	switch left := s.Queued + s.Deferred; {
	case s.State != "running" || left+s.InFlight == 0:
	case s.InFlight == 0:
		hosts, says = resting(s, left)
	case still: // for a second or more
		hosts, says = answering(s)
	}
	if says == "" || hosts == w.printed {
		return ""
	}
	w.printed = hosts
	return says + fmt.Sprintf("; Ctrl-C ends the crawl now and leaves %s for curtsy resume", plainly.Count(s.Queued+s.Deferred+s.InFlight, "URL"))
}

// resting names the hosts that the crawl waits for, if all with pending URLs are in back-off.
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
	for _, q := range s.Longest { // s.Resting has no open hosts
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

// answering names the hosts whose responses the crawl waits for.
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

func named(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// troubles reports the hosts that are not crawled, each once.
type troubles struct {
	hosts map[string]bool // of an earlier run, or reported; nil before the first look
	count int
}

// mostTroubled bounds the hosts named while a crawl runs; the status names more.
const mostTroubled = 5

// look returns the sentences on a status. The first look only takes the hosts of an earlier run.
func (t *troubles) look(s status.Status) (says []string) {
	first := t.hosts == nil
	if first {
		t.hosts = map[string]bool{}
	}
	for _, r := range s.Resting {
		if t.hosts[r.Host] || t.count > mostTroubled {
			continue
		}
		closed := r.Condition == frontier.Retired.String() || r.Condition == frontier.Refused.String()
		if t.hosts[r.Host] = true; first || closed || strings.HasPrefix(r.Reason, "robots") { // the crawl reports these itself
			continue
		}
		switch t.count++; {
		case t.count > mostTroubled:
			says = append(says, "more hosts are not being crawled; curtsy status lists them")
		case r.Wait > 0:
			says = append(says, fmt.Sprintf("backing off from %s: %s; next try in %v", r.Host, plainly.Reason(r.Reason), text.Seconds(r.Wait).Round(time.Second)))
		default:
			says = append(says, fmt.Sprintf("%s is not being crawled: %s", r.Host, plainly.Reason(r.Reason)))
		}
	}
	return says
}

// Work is the progress of a long task. Its methods may be called concurrently.
type Work struct {
	name  string // "audit"
	thing string // to count; "" for bytes
	done  atomic.Int64
	total atomic.Int64 // zero if not known
	part  atomic.Pointer[part]
}

// NewWork counts things, or bytes if thing is "".
func NewWork(name, thing string) *Work { return &Work{name: name, thing: thing} }

// At sets how much of a part is done.
func (w *Work) At(name string, done int64) {
	if p := w.part.Load(); p == nil || p.name != name {
		w.part.Store(&part{name, time.Now()})
	}
	w.done.Store(done)
}

// part is one of several consecutive parts.
type part struct {
	name  string
	began time.Time
}

// Reads adds to the total times the size of files, and of those in folders.
func (w *Work) Reads(times int64, paths ...string) *Work {
	for _, path := range paths {
		_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil // the task itself reports it
			}
			if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() {
				w.total.Add(times * fi.Size())
			}
			return nil
		})
	}
	return w
}

// shownAfter is when a terminal first shows a task.
const shownAfter = 500 * time.Millisecond

// While shows the progress of a task until do returns. The context of do carries a meter (package meter) that counts for w.
func While(ctx context.Context, to io.Writer, quiet bool, w *Work, do func(ctx context.Context) error) error {
	return New(to, quiet, false).While(ctx, w, do)
}

// While is the function While on v.
func (v *Display) While(ctx context.Context, w *Work, do func(ctx context.Context) error) error {
	metered := meter.With(ctx, meter.Listener{Of: func(n int64) { w.total.Add(n) }, Add: func(n int64) { w.done.Add(n) }})
	return v.while(ctx, w.now, func() error { return do(metered) })
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

func (w *Work) now() work {
	x := work{Name: w.name, Thing: w.thing, Done: w.done.Load(), Total: w.total.Load()}
	if p := w.part.Load(); p != nil {
		x.Part, x.Took = p.name, time.Since(p.began)
	}
	return x
}

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

// WhileMirrored shows the progress of a mirror until do returns.
func (v *Display) WhileMirrored(ctx context.Context, p *mirror.Progress, do func() error) error {
	return v.while(ctx, func() work {
		if total := p.Total.Load(); total > 0 {
			return work{Name: "mirror", Part: "writing", Thing: "URL", Done: p.Written.Load(), Total: total}
		}
		return work{Name: "mirror", Part: "reading the archive", Thing: "URL", Done: p.Read.Load()}
	}, do)
}

// Line returns the state of a crawl in one line, the most important first.
func Line(l status.Look, rates status.Rates) string {
	s, e := &l.Status, &l.Estimate
	line := fmt.Sprintf("%s %s  %d fetched, %d pending", text.Clock(text.Seconds(s.Elapsed)), text.StateWord(s.State), s.Fetched, s.Queued+s.InFlight+s.Deferred)
	if s.Opens != nil {
		line += ", outside its window; continues at " + s.Opens.Format("Mon 2 Jan 15:04 MST")
	}
	if s.State == "running" && rates.Exchanges > 0 {
		line += ", " + plainly.Rate(rates.Pages) + " pages/s"
		if rates.Permitted > 0 { // hosts come and go, so the rate may seem higher than permitted
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

// work is a Work at one instant.
type work struct {
	Name  string
	Part  string // under way; "" for none
	Thing string // to count; "" for bytes
	Done  int64
	Total int64 // zero if not known
	Took  time.Duration
}

func (w work) count(n int64) string {
	if w.Thing == "" {
		return plainly.RoughSize(n)
	}
	return plainly.Count(n, w.Thing)
}

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

// rate is the work done in a second; "" if not known yet.
func (w work) rate() string {
	if w.Took < time.Second || w.Done == 0 {
		return ""
	}
	n := float64(w.Done) / w.Took.Seconds()
	if w.Thing == "" {
		return plainly.RoughSize(int64(n)) + "/s"
	}
	return plainly.Rate(n) + "/s"
}

// left is the remaining time; "" if not known.
func (w work) left() string {
	if w.Took < 2*time.Second || w.Done == 0 || w.Total == 0 || w.Done >= w.Total {
		return ""
	}
	left := time.Duration(float64(w.Took) / float64(w.Done) * float64(w.Total-w.Done))
	return plainly.RoughDuration(max(left, time.Second)) + " left"
}

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
