package crawlcmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"curtsy/storage"
	"curtsy/storage/ledger"
)

// The events. docs/reference/metrics.md has them with their attributes.
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
	line []byte // what was written of a line that has no end yet
}

// newJournal returns a journal on w.
func newJournal(w io.Writer) *journal {
	return &journal{to: slog.NewJSONHandler(spelled{w}, &slog.HandlerOptions{Level: slog.LevelDebug})}
}

// Tell says an event.
func (j *journal) Tell(level slog.Level, event string, facts ...slog.Attr) error {
	r := slog.NewRecord(time.Now().UTC(), level, event, 0)
	r.AddAttrs(facts...)
	return j.to.Handle(context.Background(), r)
}

// maxLine is the longest line that is one event, in bytes.
const maxLine = 64 << 10

// Write implements io.Writer: each line is an event.
func (j *journal) Write(p []byte) (int, error) {
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
func (j *journal) Flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.say()
}

// aboutHost is a sentence about one host, which its origin begins.
var aboutHost = regexp.MustCompile(`^(https?://[^\s/]+): (.+)$`)

// say says the line that was written; called with mu held.
func (j *journal) say() error {
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

// Act says what an operator did.
func (j *journal) Act(a ledger.Operator) {
	facts := []slog.Attr{slog.String("act", a.Act)}
	for _, f := range []struct{ name, value string }{{"about", a.About}, {"note", a.Note}, {"hosts", a.Hosts}} {
		if f.value != "" {
			facts = append(facts, slog.String(f.name, f.value))
		}
	}
	if a.URLs > 0 {
		facts = append(facts, slog.Int64("urls", a.URLs))
	}
	_ = j.Tell(slog.LevelInfo, acts, facts...) // as of Line
}

// Line says a line of the ledger.
func (j *journal) Line(l storage.Line) {
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
	_ = j.Tell(slog.LevelDebug, decision, facts...) // a broken log also fails for the messages to the user, which report it
}

// spelled is a writer of JSON on which characters that are not printed are spelled (\u009b), since a terminal may obey them.
// JSON itself has none but the end of a line, so that a program reads the same.
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

// steers reports whether a character is a control, or turns the direction of what follows. All are of the basic plane.
func steers(r rune) bool {
	return r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
