package crawlcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/status"
	"curtsy/storage"
)

// journalTold returns the events of a stream, each with time, level and msg.
func journalTold(t *testing.T, stream string) (events []map[string]any) {
	t.Helper()
	for line := range strings.Lines(stream) {
		var e map[string]any
		require.NoErrorf(t, json.Unmarshal([]byte(line), &e), "%q", line)
		at, _ := e["time"].(string)
		if _, err := time.Parse(time.RFC3339Nano, at); err != nil || e["level"] == nil || e["msg"] == nil || !strings.HasSuffix(at, "Z") {
			t.Fatalf("%q: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

func TestLinesBecomeEvents(t *testing.T) {
	for text, want := range map[string]string{
		"going on\n":                    `[INFO going on]`,
		"one\ntwo\n":                    `[INFO one] [INFO two]`,
		"\n  indented\n\n":              `[INFO indented]`,
		"no end":                        `[INFO no end]`,
		"curtsy: it ended incomplete\n": `[ERROR it ended incomplete]`,
		"http://a.test: nothing may be fetched: x\n": `[INFO nothing may be fetched: x host=http://a.test]`,
		"dashboard: http://127.0.0.1:1/\n":           `[INFO dashboard address=http://127.0.0.1:1/]`,
		"a\x1b[2J\xff\u2028\"}\n":                    "[INFO a\x1b[2J\uFFFD\u2028\"}]",
	} {
		var b bytes.Buffer
		j := newJournal(&b)
		for _, c := range []byte(text) { // in pieces, as they come
			if _, err := j.Write([]byte{c}); err != nil {
				t.Fatal(err)
			}
		}
		require.NoError(t, j.Flush())
		var got []string
		for _, e := range journalTold(t, b.String()) {
			s := fmt.Sprintf("[%v %v", e["level"], e["msg"])
			for _, name := range []string{"host", "address"} {
				if e[name] != nil {
					s += fmt.Sprintf(" %s=%v", name, e[name])
				}
			}
			got = append(got, s+"]")
		}
		assert.Equal(t, want, strings.Join(got, " "), text)
	}
}

// A terminal obeys some characters that JSON does not escape.
func TestJournal_EscapesTerminalControls(t *testing.T) {
	var b bytes.Buffer
	reason := "a\u009b2J\u0085\x7f\u202eb é新"
	require.NoError(t, newJournal(&b).Tell(slog.LevelInfo, journalProgress, slog.String("reason", reason)))
	if strings.ContainsAny(b.String(), "\u009b\u0085\x7f\u202e") || !strings.Contains(b.String(), "é新") {
		t.Errorf("%q", b.String())
	}
	if got := journalTold(t, b.String())[0]["reason"]; got != reason {
		t.Errorf("%q, want %q", got, reason)
	}
}

// growing is a crawl with a new status each second.
type growing struct {
	start time.Time
	all   []status.Status
}

func (g growing) Status(context.Context) (status.Status, error) {
	return g.all[min(int(time.Since(g.start)/time.Second), len(g.all)-1)], nil
}

func (g growing) Estimate(context.Context) (status.Estimate, error) {
	return status.Estimate{Known: 9, Left: time.Minute, Pace: time.Second, PaceBy: "floor", Host: "http://a.test"}, nil
}

func TestJournal_WritesChangesOnly(t *testing.T) {
	rests := []status.Resting{{Host: "http://b.test", Condition: "parked", Reason: "status 429", Wait: 3, Pending: 2}}
	var b bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 11500*time.Millisecond)
		defer cancel()
		newJournal(&b).Follow(ctx, growing{time.Now(), []status.Status{
			{State: "running", Failures: map[string]int64{"dns": 3}},
			{State: "running", Failures: map[string]int64{"dns": 4}, Resting: rests},
			{State: "running", Failures: map[string]int64{"dns": 4, "429": 1}, Resting: rests},
			{State: "paused", Failures: map[string]int64{"dns": 4, "429": 2}},
			{State: "running"},
		}}, func(err error) { t.Error(err) })
	})
	var got []string
	for _, e := range journalTold(t, b.String()) {
		s := fmt.Sprint(e["msg"])
		for _, name := range []string{"state", "class", "host", "reason", "left_s"} {
			if e[name] != nil {
				s += fmt.Sprintf(" %v", e[name])
			}
		}
		got = append(got, s)
	}
	want := "state running | estimate http://a.test 60 | host is closed http://b.test status 429 | exchanges fail 429 | " +
		"state paused | host is open again http://b.test | state running | progress running"
	if g := strings.Join(got, " | "); g != want {
		t.Errorf("%s\nwant %s", g, want)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

func TestJournal_ReportsClosedOutputOnce(t *testing.T) {
	lost := 0
	newJournal(io.Writer(broken{})).Follow(t.Context(), growing{time.Now(), []status.Status{{State: "running"}}}, func(error) { lost++ })
	assert.Equal(t, 1, lost)
	if _, err := newJournal(broken{}).Write([]byte("x\n")); err == nil {
		t.Error("a writer hears nothing of it")
	}
}

func TestADecisionHasItsFacts(t *testing.T) {
	var b bytes.Buffer
	newJournal(&b).Line(storage.Line{URL: "http://a.test/x", Decision: storage.DecisionDisallow, Outcome: storage.OutcomeDisallowed, RobotsLine: 3})
	e := journalTold(t, b.String())[0]
	if e["msg"] != decision || e["level"] != "DEBUG" || e["url"] != "http://a.test/x" || e["robots_line"] != 3.0 || e["status"] != nil {
		t.Errorf("%v", e)
	}
}

func TestTheEventsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "metrics.md"))
	require.NoError(t, err)
	for _, event := range []string{begins, ends, journalProgress, estimate, journalState, leftAlone, goesOn, fails, acts, decision, atDashboard} {
		assert.Containsf(t, string(page), "\n| `"+event+"` |", "docs/reference/metrics.md has no row for %q", event)
	}
}
