package progress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/storage/mirror"
)

// growing is a crawl whose estimate changes.
type growing struct {
	start time.Time
	left  func(since time.Duration) time.Duration
	state string
}

func (g growing) Status(context.Context) (status.Status, error) {
	return status.Status{State: g.state, Fetched: 7, Queued: 3, Hosts: 1, Elapsed: time.Since(g.start).Seconds()}, nil
}

func (g growing) Estimate(context.Context) (status.Estimate, error) {
	return status.Estimate{Known: 9, Left: g.left(time.Since(g.start)), Pace: time.Second, PaceBy: "floor", Host: "http://a.test"}, nil
}

// heard follows a crawl for d.
func heard(t *testing.T, d time.Duration, v *Display, state string, left func(time.Duration) time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		v.Follow(ctx, growing{time.Now(), left, state})
	})
}

func TestDisplay_PlainLinesWithoutTerminal(t *testing.T) {
	var b bytes.Buffer
	v := &Display{w: &b}
	heard(t, 35*time.Second, v, "running", func(time.Duration) time.Duration { return 3 * time.Second })
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "about 3 s") {
		t.Errorf("%q", lines)
	}
	for i, at := range []string{"00:10 ", "00:20 ", "00:30 "} {
		if !strings.HasPrefix(lines[i+1], at) || strings.ContainsAny(lines[i+1], "\r\x1b") {
			t.Errorf("line %d: %q, want it to begin with %q", i+1, lines[i+1], at)
		}
	}
}

func TestEstimate_PrintedWhenItDoubles(t *testing.T) {
	var b bytes.Buffer
	heard(t, 95*time.Second, &Display{w: &b}, "running", func(d time.Duration) time.Duration {
		switch {
		case d == 0:
			return time.Second // only the seed
		case d < 30*time.Second:
			return 5 * time.Minute
		case d < 60*time.Second:
			return 9 * time.Minute // not yet double
		}
		return 11 * time.Minute
	})
	var printed []string
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "about ") {
			printed = append(printed, line[:strings.Index(line, " for")])
		}
	}
	assert.Equalf(t, "about 1 s, about 5 min, about 11 min", strings.Join(printed, ", "), "printed %q", printed)
	if first, _, _ := strings.Cut(b.String(), "00:10"); !strings.Contains(first, "about 5 min") {
		t.Errorf("a crawl that grows at once is announced after ten seconds only:\n%s", b.String())
	}
}

func TestFollow_EndingOrQuiet(t *testing.T) {
	var b bytes.Buffer
	hour := func(time.Duration) time.Duration { return time.Hour }
	heard(t, time.Minute, &Display{w: &b, Quiet: true}, "running", hour)
	assert.Empty(t, b.String(), "quiet")
	heard(t, 15*time.Second, &Display{w: &b}, "draining", hour)
	assert.NotContains(t, b.String(), "about", "an ending crawl is estimated")
}

// terminalOf is a terminal of 20 columns; ours is false while a shell has it.
func terminalOf(w io.Writer, ours *bool) *Terminal {
	return &Terminal{w: w, columns: func() int { return 20 }, foreground: func() bool { return *ours }}
}

func TestDisplay_SentencesAboveLine(t *testing.T) {
	var b bytes.Buffer
	ours := true
	v := &Display{w: &b, terminal: terminalOf(&b, &ours)}
	step := func(want string) {
		t.Helper()
		if b.String() != want {
			t.Errorf("%q, want %q", b.String(), want)
		}
		b.Reset()
	}
	v.Show("0123456789012345678901")
	step("\r012345678901234567…\r")
	v.Show("新聞新聞新聞新聞新聞\x1b[2J")
	step("\r新聞新聞新聞新聞新…\r")
	v.Show("short")
	step("\rshort              \r")
	v.Say("a sentence")
	step("\r     \r" + "a sentence\n" + "\rshort\r")
	ours = false // Ctrl-Z or bg: the shell has the terminal
	v.Show("hidden")
	step("")
	v.Say("said")
	step("said\n")
	ours = true // fg
	v.Show("again")
	step("\ragain\r")
	v.Finish()
	step("\r     \r")
	v.Finish()
	step("")
}

func TestTerminalOf_OnlyATerminal(t *testing.T) {
	assert.Nil(t, TerminalOf(&bytes.Buffer{}), "a buffer is taken for a terminal")
}

// Crawled text cannot steer the terminal or make a line wider.
func FuzzTerminal_HostileTextStaysOnItsLine(f *testing.F) {
	for _, text := range []string{"http://a\x1b[2J\n.test", "\x9b31m", "\x00\x07\r\b", "\u202eevil", "新聞新聞新聞", "e\u0301\u0301", "👩‍👩‍👧‍👦", "\xff\xfe", "a\u200db"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b bytes.Buffer
		ours := true
		require.NoError(t, terminalOf(&b, &ours).Draw(text))
		line := strings.Trim(b.String(), "\r")
		if uniseg.StringWidth(line) > 19 || !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q", line)
		}
	})
}

func TestLine_States(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	running := status.Look{
		Status:   status.Status{State: "running", Fetched: 1204, Queued: 8290, InFlight: 12, Deferred: 8, Failed: 3, Hosts: 14, Parked: 2, Bytes: 38 << 20, Elapsed: 102.4},
		Estimate: status.Estimate{Known: 9678, Left: 67 * time.Minute, Likely: 96 * time.Minute, Expected: 14_100, Pace: 5 * time.Second, Host: "https://slow.example.net"},
	}
	closed, ended := running, running
	closed.Status.State, closed.Status.Opens = status.OutsideWindow, &at
	ended.Status.State = "finished"
	rates := status.Rates{Pages: 11.2, Exchanges: 11.6, Permitted: 12}
	for i, tt := range []struct {
		look  status.Look
		rates status.Rates
		want  string
	}{
		{running, rates, "01:42 running  1204 fetched, 8310 pending, 11.2 pages/s (97 % of permitted), about 1 h 36 min left, 3 failed, 14 hosts (2 waiting or closed), 38.0 MiB"},
		{running, status.Rates{}, "01:42 running  1204 fetched, 8310 pending, 3 failed, 14 hosts (2 waiting or closed), 38.0 MiB"},
		{closed, rates, "01:42 waiting  1204 fetched, 8310 pending, outside its window; continues at Mon 4 May 10:00 UTC, 3 failed, 14 hosts (2 waiting or closed), 38.0 MiB"},
		{ended, rates, "01:42 finished  1204 fetched, 8310 pending, 3 failed, 14 hosts (2 waiting or closed), 38.0 MiB"},
	} {
		assert.Equal(t, tt.want, Line(tt.look, tt.rates), i)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

func TestDisplay_ReportsClosedOutputOnce(t *testing.T) {
	v := New(io.Writer(broken{}), false, false)
	v.Say("one")
	v.Say("two")
	select {
	case <-v.Deaf:
	default:
		t.Error("not noticed")
	}
}

// Hosts in back-off before the run do not count among the first reported.
func TestTroubles_IgnoresEarlierBackOffs(t *testing.T) {
	var x troubles
	var s status.Status
	for _, name := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		s.Resting = append(s.Resting, status.Resting{Host: "http://old" + name + ".test", Reason: "status 403"})
	}
	x.look(s)
	for _, name := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		s.Resting = append(s.Resting, status.Resting{Host: "http://new" + name + ".test", Reason: "status 403"})
	}
	says := x.look(s)
	if len(says) != mostTroubled+1 || !strings.HasPrefix(says[0], "http://new1.test is not being crawled") || !strings.HasPrefix(says[mostTroubled], "more hosts are not being crawled") {
		t.Errorf("%q", says)
	}
	assert.Empty(t, x.look(s))
}

func TestTroubles_MissingRobotsReportedOnce(t *testing.T) {
	var x troubles
	x.look(status.Status{})
	assert.Empty(t, x.look(status.Status{Resting: []status.Resting{{Host: "http://a.test", Reason: "robots.txt: status 503", Wait: 60}}}))
}

// failing is a crawl with a host that fails after a second.
type failing struct{ growing }

func (f failing) Status(ctx context.Context) (status.Status, error) {
	s, err := f.growing.Status(ctx)
	if time.Since(f.start) >= time.Second {
		s.Failures = map[string]int64{"timeout": 1}
		s.Resting = []status.Resting{{Host: "http://a.test", Reason: "timeout", Wait: 60}}
	}
	return s, err
}

// Without a terminal the first line comes after ten seconds. Earlier failures are reported.
func TestTroubles_EarlyFailuresWithoutTerminal(t *testing.T) {
	var b bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		(&Display{w: &b}).Follow(ctx, failing{growing{time.Now(), func(time.Duration) time.Duration { return 0 }, "running"}})
	})
	assert.Contains(t, b.String(), "backing off from http://a.test: no answer in time; next try in 1m0s\n")
}

func TestDisplay_HostileNamesStayOnLine(t *testing.T) {
	s := status.Status{State: "running", Hosts: 1, Parked: 1, Resting: []status.Resting{
		{Host: "http://a\x1b[2J\n.test", Condition: "parked", Reason: "robots.txt: \nstate finished\x07", Pending: 1},
	}}
	text := text.Status(s, "", time.Now())
	if strings.ContainsAny(text, "\x1b\x07") || strings.Contains(text, "\nstate finished") || !strings.Contains(text, `a\x1b[2J\n.test`) {
		t.Errorf("%q", text)
	}
}

// Each host is reported once, except those of an earlier run and those that the crawl reports as closed.
func TestTroubles_ReportedAsTheyBegin(t *testing.T) {
	var x troubles
	look := func(s status.Status) string { return strings.Join(x.look(s), "; ") }
	old := status.Resting{Host: "http://old.test", Reason: "status 403"}
	for i, tt := range []struct {
		s    status.Status
		want string
	}{
		{status.Status{Failures: map[string]int64{"dns": 1}, Resting: []status.Resting{old}}, ""},
		{status.Status{Resting: []status.Resting{old, {Host: "http://closed.test", Condition: "refused", Reason: "status 403"}}}, ""},
		{status.Status{Failures: map[string]int64{"dns": 2, "timeout": 9}, Resting: []status.Resting{old, {Host: "http://new.test", Reason: "timeout", Wait: 60}}}, "backing off from http://new.test: no answer in time; next try in 1m0s"},
		{status.Status{Resting: []status.Resting{{Host: "http://new.test", Reason: "timeout", Wait: 30}}}, ""},
		{status.Status{Resting: []status.Resting{
			{Host: "http://full.test", Condition: "retired", Reason: "budget: max-per-host"},
			{Host: "http://too.test", Condition: "retired", Reason: "budget: max-per-host"},
		}}, ""},
	} {
		assert.Equalf(t, tt.want, look(tt.s), "look %d", i)
	}
}

// An idle crawl reports the hosts that it waits for, once, and the remaining work after Ctrl-C.
func TestDisplay_NamesHostsInBackOff(t *testing.T) {
	dead := status.Resting{Host: "http://dead.test", Condition: "parked", Reason: "robots.txt: nxdomain", Wait: 53, Pending: 3}
	later := status.Resting{Host: "http://later.test", Condition: "parked", Reason: "status 503, Retry-After 2m0s", Wait: 120, Pending: 1}
	gone := status.Resting{Host: "http://gone.test", Condition: "refused", Reason: "status 403", Pending: 2}
	const ctrlC = "; Ctrl-C ends the crawl now and leaves %s for curtsy resume"
	for name, c := range map[string]struct {
		looks []status.Status
		want  []string
	}{
		"work is left": {[]status.Status{{State: "running", Queued: 9, Resting: []status.Resting{dead}}}, []string{""}},
		"one rests": {[]status.Status{{State: "running", Queued: 3, Resting: []status.Resting{dead}}, {State: "running", Queued: 3, Resting: []status.Resting{dead}}},
			[]string{"only hosts in back-off are left: http://dead.test (robots.txt: no such host); next request in 53s" + fmt.Sprintf(ctrlC, "3 URLs"), ""}},
		"another joins": {[]status.Status{{State: "running", Queued: 3, Resting: []status.Resting{dead}}, {State: "running", Queued: 6, Resting: []status.Resting{dead, later, gone}}},
			[]string{"only hosts in back-off are left: http://dead.test (robots.txt: no such host); next request in 53s" + fmt.Sprintf(ctrlC, "3 URLs"),
				"only hosts in back-off are left: http://dead.test (robots.txt: no such host), http://later.test (status 503, Retry-After 2m0s); next request in 53s" + fmt.Sprintf(ctrlC, "6 URLs")}},
		"of an earlier run": {[]status.Status{{State: "running", Queued: 5, Resting: []status.Resting{dead}, Longest: []status.Queue{{Host: "http://a.test", Pending: 2, Wait: 40, Pace: 1}}}},
			[]string{"only hosts in back-off are left: http://a.test (its next request is not due yet), http://dead.test (robots.txt: no such host); next request in 40s" + fmt.Sprintf(ctrlC, "5 URLs")}},
		"of its pace":         {[]status.Status{{State: "running", Queued: 2, Longest: []status.Queue{{Host: "http://a.test", Pending: 2, Wait: 1, Pace: 1}}}}, []string{""}},
		"no host to wait for": {[]status.Status{{State: "running", Queued: 2, Resting: []status.Resting{gone}}}, []string{""}},
		"no answer": {[]status.Status{{State: "running", InFlight: 2, Exchanges: 4, Longest: []status.Queue{{Host: "http://a.test", Pending: 2}}}, {State: "running", InFlight: 2, Exchanges: 4, Longest: []status.Queue{{Host: "http://a.test", Pending: 2}}}},
			[]string{"", "waiting for responses from http://a.test" + fmt.Sprintf(ctrlC, "2 URLs")}},
		"only started": {[]status.Status{{State: "running", InFlight: 1, Longest: []status.Queue{{Host: "http://a.test", Pending: 1}}}, {State: "running", InFlight: 1, Longest: []status.Queue{{Host: "http://a.test", Pending: 1}}}},
			[]string{"", "waiting for responses from http://a.test" + fmt.Sprintf(ctrlC, "1 URL")}},
		"answers come": {[]status.Status{{State: "running", InFlight: 2, Exchanges: 4}, {State: "running", InFlight: 2, Exchanges: 5}}, []string{"", ""}},
		"over":         {[]status.Status{{State: "finished"}}, []string{""}},
	} {
		var w waiting
		for i, s := range c.looks {
			assert.Equalf(t, c.want[i], w.look(s), "%s, look %d", name, i+1)
		}
	}
}

func TestAMirrorShowsItsProgress(t *testing.T) {
	var b bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		var p mirror.Progress
		v := &Display{w: &b}
		err := v.WhileMirrored(context.Background(), &p, func() error {
			p.Read.Add(7)
			time.Sleep(10*time.Second + 1)
			p.Total.Store(10_000)
			p.Written.Store(2500)
			time.Sleep(11 * time.Second)
			return nil
		})
		assert.NoError(t, err)
	})
	assert.Equal(t, "00:10 mirror: reading the archive  7 URLs, 0.7/s\n00:20 mirror: writing  2500 of 10000 URLs, 25 %, 125/s, 60 s left\n", b.String())
}
