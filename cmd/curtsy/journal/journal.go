package journal

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"curtsy/storage"
	"curtsy/storage/ledger"
)

// The events. docs/reference/metrics.md has them with their attributes.
const (
	Begins    = "crawl begins"
	Ends      = "crawl ends"
	Progress  = "progress"
	Estimate  = "estimate"
	State     = "state"
	LeftAlone = "host is left alone"
	GoesOn    = "host goes on"
	Fails     = "exchanges fail"
	Decision  = "decision"
	Acts      = "operator acts"
	Dashboard = "dashboard"
)

// Journal writes events. Its methods may be called concurrently.
type Journal struct {
	to slog.Handler

	mu   sync.Mutex
	line []byte // what was written of a line that has no end yet
}

// New returns a journal on w.
func New(w io.Writer) *Journal {
	return &Journal{to: slog.NewJSONHandler(spelled{w}, &slog.HandlerOptions{Level: slog.LevelDebug})}
}

// Tell says an event.
func (j *Journal) Tell(level slog.Level, event string, facts ...slog.Attr) error {
	r := slog.NewRecord(time.Now().UTC(), level, event, 0)
	r.AddAttrs(facts...)
	return j.to.Handle(context.Background(), r)
}

// maxLine is the longest line that is one event, in bytes.
const maxLine = 64 << 10

// Write implements io.Writer: each line is an event.
func (j *Journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		j.line, rest = append(j.line, line...), after
		if whole || len(j.line) > maxLine {
			if err := j.say(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// Flush says what has no end.
func (j *Journal) Flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.say()
}

// aboutHost is a sentence about one host, which its origin begins.
var aboutHost = regexp.MustCompile(`^(https?://[^\s/]+): (.+)$`)

// say says the line that was written; called with mu held.
func (j *Journal) say() error {
	text := strings.TrimSpace(string(j.line))
	j.line = j.line[:0]
	if text == "" {
		return nil
	}
	if what, ok := strings.CutPrefix(text, "curtsy: "); ok {
		return j.Tell(slog.LevelError, what)
	}
	if address, ok := strings.CutPrefix(text, Dashboard+": "); ok {
		return j.Tell(slog.LevelInfo, Dashboard, slog.String("address", address))
	}
	if m := aboutHost.FindStringSubmatch(text); m != nil {
		return j.Tell(slog.LevelInfo, m[2], slog.String("host", m[1]))
	}
	return j.Tell(slog.LevelInfo, text)
}

// Act says what an operator did.
func (j *Journal) Act(a ledger.Operator) {
	facts := []slog.Attr{slog.String("act", a.Act)}
	for _, f := range []struct{ name, value string }{{"about", a.About}, {"note", a.Note}, {"hosts", a.Hosts}} {
		if f.value != "" {
			facts = append(facts, slog.String(f.name, f.value))
		}
	}
	if a.URLs > 0 {
		facts = append(facts, slog.Int64("urls", a.URLs))
	}
	_ = j.Tell(slog.LevelInfo, Acts, facts...) // as of Line
}

// Line says a line of the ledger.
func (j *Journal) Line(l storage.Line) {
	facts := []slog.Attr{slog.String("url", l.URL), slog.String("decision", string(l.Decision))}
	for _, f := range []struct{ name, value string }{
		{"outcome", string(l.Outcome)}, {"reason", l.Reason}, {"seed", l.Seed}, {"via", l.Via},
	} {
		if f.value != "" {
			facts = append(facts, slog.String(f.name, f.value))
		}
	}
	for _, f := range []struct {
		name  string
		value int64
	}{{"status", int64(l.Status)}, {"robots_line", int64(l.RobotsLine)}, {"count", l.Count}} {
		if f.value != 0 {
			facts = append(facts, slog.Int64(f.name, f.value))
		}
	}
	_ = j.Tell(slog.LevelDebug, Decision, facts...) // who cannot be told is noticed by what is said to people
}
