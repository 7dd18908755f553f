package progress

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"curtsy/crawler/status"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// ago is for a host that had its last exchange so long ago.
func ago(s float64) *float64 { return &s }

// example is a crawl in which something of everything is.
func example() View {
	v := View{
		Dir: "news", At: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC), Running: true,
		Rates: status.Rates{Pages: 11.2, Exchanges: 11.6, Permitted: 12, Bytes: 317_440},
	}
	v.Look.Status = status.Status{
		State: "running", Fetched: 1204, Queued: 8290, InFlight: 12, Deferred: 8, Failed: 3, Gone: 2, Redirected: 41, Disallowed: 118,
		Hosts: 14, Parked: 2, Bytes: 38 << 20, Elapsed: 102.4,
		Failures: map[string]int64{"timeout": 2, "5xx": 1, "429": 1},
		Longest: []status.Queue{
			{Host: "https://www.example.org", Pending: 2102, Fetched: 99, Pace: 1, Wait: 0.41, Last: ago(0.6)},
			{Host: "https://slow.example.net", Pending: 812, Fetched: 20, Pace: 5, Wait: 2.1, Last: ago(2.9)},
			{Host: "https://新聞.example", Pending: 40, Fetched: 98, Pace: 1.5, Wait: 0.02, Last: ago(1.4)},
			{Host: "https://gone.example", Pending: 3, Pace: 1, Wait: 53, State: "parked"},
		},
		Resting: []status.Resting{
			{Host: "https://gone.example", Condition: "parked", Reason: "robots.txt: nxdomain", Wait: 53, Pending: 3},
			{Host: "https://busy.example", Condition: "parked", Reason: "status 503, Retry-After 2m0s", Wait: 118, Pending: 7},
		},
	}
	v.Look.Estimate = status.Estimate{
		Known: 9678, Left: 67 * time.Minute, Likely: 96 * time.Minute, Expected: 14_100, Pace: 5 * time.Second, PaceBy: "required by the site", Host: "https://slow.example.net",
	}
	v.Look.Waits = status.Waits{Looked: 14, Hosts: 14, InTurn: 1, Pace: 10, Robots: 1, Rest: 1, Retry: 1, Permitted: 12}
	return v
}

// examples are the views of the golden screens.
func examples() map[string]View {
	ended := example()
	ended.Running, ended.Rates, ended.Look.Waits, ended.Look.Estimate = false, status.Rates{}, status.Waits{}, status.Estimate{}
	s := &ended.Look.Status
	s.State, s.Fetched, s.Queued, s.InFlight, s.Deferred, s.Elapsed = "stopped", 9500, 0, 0, 10, 5830
	s.Longest, s.Parked = s.Longest[3:], 2
	endless := example()
	endless.Look.Estimate.Open = true
	endless.Look.Status.Failures, endless.Look.Status.Failed, endless.Look.Status.Resting, endless.Look.Status.Parked = nil, 0, nil, 0
	endless.Look.Waits = status.Waits{Looked: 14, Hosts: 14, Pace: 9, Address: 5, Permitted: 12}
	return map[string]View{"running": example(), "open": endless, "ended": ended}
}

// drawn is what stands on a terminal of so many columns.
func drawn(t *testing.T, lines []terminalLine, columns int) string {
	t.Helper()
	var b strings.Builder
	for _, l := range lines {
		text, width := l.Render(columns, false)
		if width > columns || terminalWidth(text) > columns {
			t.Errorf("%d columns, of %d: %q", width, columns, text)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	return b.String()
}

// The screens of narrow, usual and wide terminals are as they are kept.
func TestScreensAreAsTheyWere(t *testing.T) {
	for name, v := range examples() {
		for _, columns := range []int{40, 80, 200} {
			got := drawn(t, Full(v, columns-1, 24), columns-1)
			if v.Running {
				got += "\n" + drawn(t, compact(v), columns-1)
			}
			path := filepath.Join("testdata", fmt.Sprintf("%s-%d.txt", name, columns))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil || string(want) != got {
				t.Errorf("%s (%v):\n%s\nwant\n%s", path, err, got, want)
			}
		}
	}
}

// TestDocsShowTheScreens: the guide shows two of the screens that are kept.
func TestDocsShowTheScreens(t *testing.T) {
	page, err := os.ReadFile("../../../docs/guides/steer.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"running-80", "bars-80"} {
		kept, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), "```text\n"+string(kept)+"```\n") {
			t.Errorf("docs/guides/steer.md does not show %s as it is:\n%s", name, kept)
		}
	}
}

// works are long works at some instant.
func works() []work {
	return []work{
		{Name: "audit", Done: 1_288_490_188, Total: 2_040_109_465, Took: 14 * time.Second},
		{Name: "mirror", Part: "reading the archive", Thing: "URL", Done: 20_114, Took: 9 * time.Second},
		{Name: "mirror", Part: "writing", Thing: "URL", Done: 40_020, Total: 41_200, Took: 31 * time.Second},
		{Name: "export", Part: "pages", Thing: "row", Done: 250_000, Took: 8 * time.Second},
		{Name: "pack", Done: 1 << 20, Total: 1 << 33, Took: 600 * time.Millisecond},
	}
}

func TestBarsAreAsTheyWere(t *testing.T) {
	for _, columns := range []int{40, 80, 200} {
		var lines []terminalLine
		for _, w := range works() {
			lines = append(lines, Bar(w, columns-1))
		}
		got := drawn(t, lines, columns-1)
		path := filepath.Join("testdata", fmt.Sprintf("bars-%d.txt", columns))
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != got {
			t.Errorf("%s (%v):\n%s\nwant\n%s", path, err, got, want)
		}
	}
}

// However low a terminal is, no list has a heading alone.
func TestAScreenFitsLowTerminals(t *testing.T) {
	for name, v := range examples() {
		for rows := 2; rows < 40; rows++ {
			for columns := 10; columns < 210; columns += 7 {
				lines := Full(v, columns, rows)
				text := drawn(t, lines, columns)
				if strings.HasSuffix(text, "NOT CONTACTED\n") || strings.HasSuffix(text, "HOST\n") {
					t.Errorf("%s on %d x %d ends with a heading:\n%s", name, columns, rows, text)
				}
			}
		}
	}
}

// What was crawled does not steer the terminal, whatever it is called, and never makes a line wider.
func FuzzHostileNamesStayOnTheirLine(f *testing.F) {
	for _, name := range []string{"http://a\x1b[2J\n.test", "\x9b31m", "\x00\x07\r\b", "\u202eevil", "新聞新聞新聞", "e\u0301\u0301", "👩‍👩‍👧‍👦", "\xff\xfe", "a\u200db"} {
		f.Add(name, 40)
	}
	f.Fuzz(func(t *testing.T, name string, columns int) {
		columns = 1 + (columns%300+300)%300
		v := example()
		v.Dir, v.Look.Estimate.Host, v.Look.Estimate.PaceBy, v.Look.Estimate.Until = name, name, name, name
		s := &v.Look.Status
		s.State, s.Failures = "running", map[string]int64{name: 1}
		for i := range s.Longest {
			s.Longest[i].Host = name
		}
		for i := range s.Resting {
			s.Resting[i].Host, s.Resting[i].Condition, s.Resting[i].Reason = name, name, name
		}
		lines := append(Full(v, columns, 50), compact(v)...)
		lines = append(lines, Bar(work{Name: name, Part: name, Done: 1, Total: 2}, columns))
		for _, l := range lines {
			text, width := l.Render(columns, false)
			if width > columns || !utf8.ValidString(text) {
				t.Errorf("%d columns of %d: %q", width, columns, text)
			}
			for _, r := range text {
				if !unicode.IsPrint(r) {
					t.Errorf("%q has %q", text, r)
				}
			}
		}
		for _, text := range []string{Plain(v), plainWork(work{Name: name, Part: name})} {
			if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q", text)
			}
		}
	})
}
