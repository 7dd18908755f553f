package crawlcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/status"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// The events; docs/reference/metrics.md lists their attributes.
const (
	begins          = "crawl begins"
	ends            = "crawl ends"
	journalProgress = "progress"
	estimate        = "estimate"
	journalState    = "state"
	leftAlone       = "host is closed"
	goesOn          = "host is open again"
	fails           = "exchanges fail"
	decision        = "decision"
	acts            = "operator acts"
	atDashboard     = "dashboard"
)

// journal writes events. Its methods may be called concurrently.
type journal struct {
	to slog.Handler

	mu   sync.Mutex
	line []byte // the beginning of an unfinished line
}

func newJournal(w io.Writer) *journal {
	return &journal{to: slog.NewJSONHandler(spelled{w}, &slog.HandlerOptions{Level: slog.LevelDebug})}
}

func (j *journal) Tell(level slog.Level, event string, facts ...slog.Attr) error {
	r := slog.NewRecord(time.Now().UTC(), level, event, 0)
	r.AddAttrs(facts...)
	return j.to.Handle(context.Background(), r)
}

// maxLine bounds the line of an event, in bytes.
const maxLine = 64 << 10

// Write implements io.Writer: each line is an event.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		j.line, rest = append(j.line, line...), after
		if whole || len(j.line) > maxLine {
			if err := j.flushLine(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// Flush writes an unfinished line as an event.
func (j *journal) Flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.flushLine()
}

// aboutHost matches a sentence that begins with the origin of a host.
var aboutHost = regexp.MustCompile(`^(https?://[^\s/]+): (.+)$`)

// flushLine writes the line as an event; called with mu held.
func (j *journal) flushLine() error {
	text := strings.TrimSpace(string(j.line))
	j.line = j.line[:0]
	if text == "" {
		return nil
	}
	if what, ok := strings.CutPrefix(text, "curtsy: "); ok {
		return j.Tell(slog.LevelError, what)
	}
	if address, ok := strings.CutPrefix(text, atDashboard+": "); ok {
		return j.Tell(slog.LevelInfo, atDashboard, slog.String("address", address))
	}
	if m := aboutHost.FindStringSubmatch(text); m != nil {
		return j.Tell(slog.LevelInfo, m[2], slog.String("host", m[1]))
	}
	return j.Tell(slog.LevelInfo, text)
}

// Act writes an action of an operator. It ignores errors as Line does.
func (j *journal) Act(a ledger.Operator) {
	_ = j.Tell(slog.LevelInfo, acts, known("act", a.Act, "about", a.About, "note", a.Note, "hosts", a.Hosts, "urls", a.URLs)...)
}

func (j *journal) Line(l storage.Line) {
	facts := known("url", l.URL, "decision", l.Decision, "outcome", l.Outcome, "reason", l.Reason, "seed", l.Seed, "via", l.Via,
		"status", l.Status, "robots_line", l.RobotsLine, "count", l.Count)
	_ = j.Tell(slog.LevelDebug, decision, facts...) // a broken log also breaks Follow, which reports it
}

// known returns the facts, pairs of a name and a value, that are not zero.
func known(facts ...any) (all []slog.Attr) {
	for i := 0; i < len(facts); i += 2 {
		if name, _ := facts[i].(string); !reflect.ValueOf(facts[i+1]).IsZero() {
			all = append(all, slog.Any(name, facts[i+1]))
		}
	}
	return all
}

// spelled escapes unprintable characters in JSON (\u009b), since a terminal may obey them. The JSON stays equivalent: it has
// none outside of strings but the line end.
type spelled struct{ w io.Writer }

func (s spelled) Write(p []byte) (int, error) {
	text := string(p)
	if strings.IndexFunc(text, steers) >= 0 {
		var b strings.Builder
		for _, r := range text {
			if steers(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		text = b.String()
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// steers reports whether a character is a control, or changes the text direction. All are in the basic plane.
func steers(r rune) bool {
	return r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Intervals between looks at the crawl, and between progress events.
const (
	journalLookEvery = time.Second
	progressEvery    = 10 * time.Second
)

// follower writes the changes since its last look.
type follower struct {
	j       *journal
	looked  bool
	state   string
	classes map[string]bool
	resting map[string]bool
	left    time.Duration // the last estimate
	next    time.Time     // the next progress event
}

// Follow writes the events of a crawl until ctx ends: its state, hosts that close and open, new failures, progress every ten
// seconds, and an estimate at the start and whenever it doubles. It calls lost with the first write error, and returns.
func (j *journal) Follow(ctx context.Context, c progress.Crawl, lost func(error)) {
	f := follower{j: j, classes: map[string]bool{}, resting: map[string]bool{}, next: time.Now().Add(progressEvery)}
	looks := time.NewTicker(journalLookEvery)
	defer looks.Stop()
	for {
		s, err := c.Status(ctx)
		if err == nil {
			err = f.look(s)
			if e, none := c.Estimate(ctx); none == nil && err == nil {
				err = f.estimate(s, e)
			}
			if err != nil {
				lost(err)
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-looks.C:
		}
	}
}

func (f *follower) look(s status.Status) error {
	first := !f.looked
	f.looked = true
	if f.state != s.State {
		f.state = s.State
		facts := []slog.Attr{slog.String("state", s.State)}
		if s.Opens != nil {
			facts = append(facts, slog.Time("opens", *s.Opens))
		}
		if err := f.j.Tell(slog.LevelInfo, journalState, facts...); err != nil {
			return err
		}
	}
	for _, class := range slices.Sorted(maps.Keys(s.Failures)) {
		if f.classes[class] {
			continue
		}
		f.classes[class] = true
		if first { // from an earlier run
			continue
		}
		if err := f.j.Tell(slog.LevelWarn, fails, slog.String("class", class), slog.Int64("count", s.Failures[class])); err != nil {
			return err
		}
	}
	if err := f.rest(s.Resting); err != nil {
		return err
	}
	if now := time.Now(); !now.Before(f.next) {
		f.next = now.Add(progressEvery)
		return f.j.Tell(slog.LevelInfo, journalProgress, figures(s)...)
	}
	return nil
}

// rest writes which hosts closed, and which opened again. A status has at most status.MaxResting hosts: if it is full, a
// missing host need not be open.
func (f *follower) rest(all []status.Resting) error {
	now := map[string]bool{}
	for _, r := range all {
		if now[r.Host] = true; f.resting[r.Host] {
			continue
		}
		facts := append([]slog.Attr{
			slog.String("host", r.Host), slog.String("condition", r.Condition), slog.String("reason", r.Reason), slog.Int64("pending", r.Pending),
		}, known("wait_s", r.Wait)...)
		if err := f.j.Tell(slog.LevelWarn, leftAlone, facts...); err != nil {
			return err
		}
	}
	for _, host := range slices.Sorted(maps.Keys(f.resting)) {
		if now[host] || len(all) == status.MaxResting {
			continue
		}
		if err := f.j.Tell(slog.LevelInfo, goesOn, slog.String("host", host)); err != nil {
			return err
		}
	}
	f.resting = now
	return nil
}

func (f *follower) estimate(s status.Status, e status.Estimate) error {
	if s.State != "running" || e.Left < time.Second || e.Left <= 2*f.left {
		return nil
	}
	f.left = e.Left
	facts := []slog.Attr{
		slog.Int64("known", e.Known), slog.Float64("left_s", e.Left.Seconds()), slog.String("host", e.Host),
		slog.Float64("pace_s", e.Pace.Seconds()), slog.String("pace_by", e.PaceBy), slog.Bool("open", e.Open),
	}
	if e.Likely > 0 {
		facts = append(facts, slog.Float64("likely_s", e.Likely.Seconds()), slog.Int64("expected", e.Expected))
	}
	return f.j.Tell(slog.LevelInfo, estimate, facts...)
}

func figures(s status.Status) []slog.Attr {
	return []slog.Attr{
		slog.String("state", s.State), slog.Float64("elapsed_s", s.Elapsed),
		slog.Int64("exchanges", s.Exchanges), slog.Int64("pages", s.Pages), slog.Int64("bytes", s.Bytes),
		slog.Int64("fetched", s.Fetched), slog.Int64("redirected", s.Redirected), slog.Int64("gone", s.Gone), slog.Int64("failed", s.Failed),
		slog.Int64("disallowed", s.Disallowed), slog.Int64("dropped", s.Dropped), slog.Int64("held", s.Held),
		slog.Int64("queued", s.Queued), slog.Int64("in_flight", s.InFlight), slog.Int64("deferred", s.Deferred),
		slog.Int64("hosts", s.Hosts), slog.Int64("hosts_parked", s.Parked), slog.Int64("hosts_retired", s.Retired),
		slog.Int64("hosts_refused", s.Refused), slog.Int64("hosts_stopped", s.Stopped),
	}
}

const (
	logText = "text"
	logJSON = "json"
)

func (o *options) logFlag(fs *pflag.FlagSet) {
	fs.StringVar(&o.log, "log", logText, "`FORMAT` format of standard error: text, or json with an event per\nline (time, level, msg)")
	cli.Words(fs, "log", logText, logJSON)
}

// logged runs a command with the standard error of --log. The end of the command is an event.
func (o *options) logged(std cli.Streams, do func(cmd *cobra.Command, args []string, std cli.Streams) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		switch o.log {
		case logText, "":
			return do(cmd, args, std)
		case logJSON:
		default:
			return cli.Usagef("--log %s: write %s or %s", o.log, logText, logJSON)
		}
		o.journal = newJournal(std.Err)
		std.Err = o.journal
		err := do(cmd, args, std)
		lost := o.journal.Flush()
		text, code := cli.Ended(err)
		if text != "" {
			lost = errors.Join(lost, o.journal.Tell(slog.LevelError, text, slog.Int("exit_code", code)))
		}
		if err == nil || lost != nil { // with a broken log, only the exit code remains
			return err
		}
		return cli.Silent(code)
	}
}

// follower returns the journal for a run's events; nil for none.
func (o *options) follower() *journal {
	if o.quiet {
		return nil
	}
	return o.journal
}

// lines returns the receiver of ledger lines; nil for none.
func (o *options) lines(people func(storage.Line)) func(storage.Line) {
	switch {
	case !o.verbose:
		return nil
	case o.journal != nil:
		return o.journal.Line
	}
	return people
}

func (o *options) ends(s crawler.Summary, changes *crawldir.Changes) error {
	facts := []slog.Attr{
		slog.String("ended_by", s.EndedBy), slog.Bool("incomplete", s.Incomplete), slog.Int64("seeds_unanswered", s.SeedsUnanswered),
	}
	facts = append(facts, figures(s.Status)...)
	if changes != nil {
		facts = append(facts, slog.Any("changes", changes.Counts))
	}
	if o.mirrored != nil {
		facts = append(facts, slog.String("mirror", o.mirrored.Dir))
	}
	return o.journal.Tell(slog.LevelInfo, ends, facts...)
}
