package report_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/report"
)

func exchange(url string, gap, pace time.Duration) storage.Line {
	return storage.Line{
		Time: start, Began: start, URL: url, Decision: "allow", Outcome: "fetched", Reason: "no match", Attempt: 1, Status: 200,
		Type: "text/html", Octets: 100, Gap: gap, Pace: pace, PaceBy: "floor",
	}
}

func TestEveryDecisionIsCountedOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ends := []struct{ decision, outcome string }{
		{"allow", "fetched"}, {"allow", "redirected"}, {"allow", "gone"}, {"allow", "failed"}, {"allow", "dropped"}, {"allow", "deferred"},
		{"disallow", "disallowed"}, {"refuse", "dropped"}, {"hold", "held"}, {"opt-out", "dropped"},
	}
	for round := range 30 {
		var lines []storage.Line
		var want, exchanges, octets int64
		for range rng.IntN(200) {
			e := ends[rng.IntN(len(ends))]
			l := storage.Line{Time: start, URL: fmt.Sprintf("http://h%d.example/%d", rng.IntN(20), rng.IntN(9)), Decision: storage.Decision(e.decision), Outcome: storage.Outcome(e.outcome)}
			if e.decision == "allow" {
				l.Attempt, l.Octets, l.Status = 1, rng.Int64N(1e6), 200
				exchanges++
				octets += l.Octets
			} else if rng.IntN(3) == 0 {
				l.Count = rng.Int64N(1000)
			}
			want += max(l.Count, 1)
			lines = append(lines, l)
		}
		o := made(t, lines...)
		o.MaxHosts = 1 + rng.IntN(25)
		r := report1(t, o)
		sum := func(h report.Host) int64 {
			return h.Fetched + h.Redirected + h.Gone + h.Failed + h.Dropped + h.Deferred + h.Disallowed + h.Refused + h.Held + h.OptedOut
		}
		var parts report.Host
		for _, h := range append(slices.Clone(r.Hosts), others(r)) {
			assert.Truef(t, sum(h) == h.Lines, "round %d: %s: %d of %d decisions are in a count", round, h.Name, sum(h), h.Lines)
			parts.Lines, parts.Exchanges, parts.Octets = parts.Lines+h.Lines, parts.Exchanges+h.Exchanges, parts.Octets+h.Octets
		}
		if parts.Lines != want || r.Totals.Lines != want || parts.Exchanges != exchanges || r.Totals.Octets != octets || parts.Octets != octets {
			t.Errorf("round %d: hosts %+v, total %+v; want %d decisions, %d exchanges, %d octets", round, parts, r.Totals, want, exchanges, octets)
		}
		assert.LessOrEqualf(t, len(r.Hosts), o.MaxHosts, "round %d: %d hosts, at most %d are listed", round, len(r.Hosts), o.MaxHosts)
		left := int64(0)
		for _, c := range r.NotCrawled {
			left += c.Count
		}
		if tt := r.Totals; left != tt.Disallowed+tt.Refused+tt.Held+tt.OptedOut+tt.Failed+tt.Gone+tt.Dropped {
			t.Errorf("round %d: %d URLs have a reason for not being crawled, of %+v", round, left, tt)
		}
	}
}

func others(r *report.Report) report.Host {
	if r.Others == nil {
		return report.Host{}
	}
	return *r.Others
}

func TestReport_ListsBusiestHosts(t *testing.T) {
	var lines []storage.Line
	for h := range 50 {
		for i := range 1 + h {
			lines = append(lines, exchange(fmt.Sprintf("http://h%02d.example/%d", h, i), time.Second, time.Second))
		}
	}
	mine := exchange("http://127.0.0.1:8080/", 0, 0)
	mine.Own = true
	o := made(t, append(lines, mine)...)
	o.MaxHosts = 4
	r := report1(t, o)
	var names []string
	for _, h := range r.Hosts {
		names = append(names, h.Name)
	}
	want := []string{"http://127.0.0.1:8080", "http://h49.example:80", "http://h48.example:80", "http://h47.example:80"}
	if !slices.Equal(names, want) || r.Known != 51 || r.Reached != 51 || r.More || r.Others == nil || r.Others.Exchanges != 47*48/2 {
		t.Errorf("%q, %d known, others %+v", names, r.Known, r.Others)
	}
}

func TestAPauseIsTooShortByAMicrosecond(t *testing.T) {
	for _, pace := range []time.Duration{time.Second, 1234567 * time.Microsecond, 10 * time.Second, 999 * time.Microsecond} {
		var lines []storage.Line
		for i := range 5 {
			lines = append(lines, exchange(fmt.Sprintf("http://h.example/%d", i), pace, pace), exchange("http://h.example/long", 7*pace, pace))
		}
		lines = append(lines, exchange("http://h.example/short", pace-time.Microsecond, pace), exchange("http://h.example/first", 0, pace))
		r := report1(t, made(t, lines...))
		require.Truef(t, len(r.Gaps) == 1 && r.Gaps[0].Short == 1 && r.Gaps[0].Gaps == 11 && r.Totals.Short == 1 && r.Totals.Gaps == 11, "%v: %+v", pace, r.Gaps)
		var below, above int64
		for _, b := range r.Gaps[0].Bins {
			switch {
			case b.To <= 1:
				below += b.Count
			case b.From >= 1:
				above += b.Count
			default:
				t.Errorf("%v: a bin from %v to %v", pace, b.From, b.To)
			}
		}
		assert.Truef(t, below == 1 && above == 10, "%v: %d below, %d above", pace, below, above)
		page := render(t, r)
		if !strings.Contains(page, "1 shorter than what was due") || strings.Count(page, `class="fill bad"`) != 1 || !strings.Contains(page, `class="line permitted"`) {
			t.Errorf("%v: the page lacks it", pace)
		}
	}
}

func TestMediansAreNotOverstated(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		var gaps []time.Duration
		var lines []storage.Line
		for range 1 + rng.IntN(60) {
			gap := time.Duration(1 + rng.Int64N(int64(100*time.Second)>>rng.IntN(16))/1000*1000 + 1000)
			gaps = append(gaps, gap)
			lines = append(lines, exchange("http://h.example/", gap, time.Second))
		}
		slices.Sort(gaps)
		got := report1(t, made(t, lines...)).Hosts[0]
		want := float64(gaps[(len(gaps)-1)/2].Microseconds()) / 1000
		if got.LeastMs != float64(gaps[0].Microseconds())/1000 || got.MidMs > want || got.MidMs < want*0.99 {
			t.Errorf("least %v median %v; gaps %v", got.LeastMs, got.MidMs, gaps)
		}
	}
}

func TestAHostIsNamedWithOrWithoutPortAndScheme(t *testing.T) {
	o := made(t, exchange("http://h.example/", 0, 0), exchange("https://h.example/", 0, 0), exchange("http://h.example:8080/", 0, 0), exchange("http://www.h.example/", 0, 0), exchange("http://[::1]:8080/", 0, 0))
	for host, want := range map[string]int64{
		"h.example": 3, "H.example": 3, "h.example:8080": 1, "https://h.example": 1, "http://h.example:80/": 1, "www.h.example": 1, "[::1]": 1, "[::1]:8080": 1,
		"": 5,
	} {
		o.Host = host
		r := report1(t, o)
		assert.Truef(t, r.Totals.Exchanges == want, "%q: %d exchanges, want %d", host, r.Totals.Exchanges, want)
	}
	for host, want := range map[string]error{"other.example": report.ErrNoHost, "h.example/path": report.ErrHost, "ftp://h.example": report.ErrHost, "[::1]:9": report.ErrNoHost} {
		o.Host = host
		_, err := report.Make(t.Context(), o)
		assert.ErrorIsf(t, err, want, "%q: %v, want %v", host, err, want)
	}
}

func TestLetter_NamesAvoidedURLs(t *testing.T) {
	var lines []storage.Line
	for i := range 1203 {
		lines = append(lines, storage.Line{Time: start, URL: fmt.Sprintf("http://h.example/no/%d", i), Decision: "disallow", Outcome: "disallowed", Reason: "disallow rule", RobotsLine: 2, RobotsRule: "Disallow: /no/", RobotsGroup: "*"})
	}
	o := made(t, append(lines, exchange("http://h.example/", 0, 0), exchange("http://other.example/secret", 0, 0))...)
	o.Host = "h.example"
	r := report1(t, o)
	page := render(t, r)
	assert.Truef(t, len(r.Refused) == 1000 && r.Robots.Disallowed == 1203, "%d listed of %d", len(r.Refused), r.Robots.Disallowed)
	for _, says := range []string{"/no/999<", "203 more are not listed", "Disallow: /no/", "User-agent: curtsy", "Retry-After", "opt-out list"} {
		assert.Contains(t, page, says, "the letter")
	}
	assert.NotContains(t, page, "other.example", "the letter names another host")
}

func TestNoTextBecomesMarkup(t *testing.T) {
	const plant = "\"'><script>alert(1)</script></title></style><img src=//x onerror=alert(1)><!--\u202e\x00`{{.}}"
	for _, decision := range []string{"allow", "disallow", "refuse", "hold", "robots", "opt-out", plant} {
		l := storage.Line{}
		v := reflect.ValueOf(&l).Elem()
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.String {
				f.SetString(plant)
			}
		}
		l.Time, l.Began, l.URL, l.Decision, l.Attempt, l.Gap, l.Pace, l.Status, l.RobotsLine = start, start, "http://h.example/"+plant, storage.Decision(decision), 1, 1, 2, 200, 3
		o := made(t, append(world(), l, l)...)
		o.Settings, o.Remarks, o.Software = []report.Setting{{Name: plant, Value: plant, Default: plant}}, []string{plant}, plant
		o.Audit = audits(report.Audit{Level: plant, Violations: 1, Findings: []report.AuditFinding{{Code: plant, Meaning: plant, Samples: []string{plant}}}, CannotShow: []string{plant}})
		for _, host := range []string{"", "h.example"} {
			o.Host = host
			page := render(t, report1(t, o))
			assert.Containsf(t, page, "&lt;script&gt;", "%q: nothing was planted", decision)
			elements(t, page)
		}
	}
}

func elements(t *testing.T, page string) {
	t.Helper()
	assert.False(t, strings.ContainsAny(page, "\u202e\x00"), "a mark of writing direction, or a NUL")
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.CommentToken:
			t.Errorf("a comment: %.80s", z.Raw())
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			switch tok.Data {
			case "script", "img", "iframe", "object", "embed", "link", "base", "form", "input", "video", "audio", "source", "use", "image", "foreignobject":
				t.Errorf("an element %s", tok.Data)
			}
			for _, a := range tok.Attr {
				switch {
				case strings.HasPrefix(a.Key, "on"), a.Key == "src", a.Key == "style", a.Key == "srcdoc", a.Key == "action":
					t.Errorf("an attribute %s of %s", a.Key, tok.Data)
				case a.Key == "href" && !strings.HasPrefix(a.Val, "#") && a.Val != "mailto:crawl@library.example":
					t.Errorf("a link to %q", a.Val)
				}
			}
		}
	}
}

func busy(n, hosts int) (lines []storage.Line) {
	for i := range n {
		l := exchange(fmt.Sprintf("http://h%d.example/%d", i%hosts, i), time.Duration(1000+i%700)*time.Millisecond, time.Second)
		l.Began = start.Add(time.Duration(i) * time.Second)
		l.Reason, l.Outcome, l.Type, l.Prefs = fmt.Sprintf("failure %d", i), "failed", fmt.Sprintf("type/%d", i), fmt.Sprintf("header x: %d", i)
		l.RobotsLine, l.RobotsRule = i, fmt.Sprintf("Allow: /%d", i)
		lines = append(lines, l)
	}
	return lines
}

func TestMemoryDoesNotGrowWithTheLedger(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	held := func(n, hosts int) uint64 {
		o := made(t, busy(n, hosts)...)
		o.MaxHosts = 10
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := report1(t, o)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(r)
		return max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc
	}
	few, many := held(4000, 50), held(16_000, 50)
	assert.LessOrEqualf(t, many, few+few/4+256<<10, "octets of a report of 16,000 lines, where one of 4,000 lines holds %d", few)
}

func TestWrite_CompleteOrNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	r := report1(t, whole(t))
	require.NoError(t, durable.File(path, r.WriteHTML))
	before, _ := os.ReadFile(path)
	fails := errors.New("no more room")
	err := durable.File(path, func(w io.Writer) error {
		w.Write([]byte("half"))
		return fails
	})
	after, _ := os.ReadFile(path)
	entries, _ := os.ReadDir(filepath.Dir(path))
	if !errors.Is(err, fails) || !bytes.Equal(before, after) || len(before) == 0 || len(entries) != 1 {
		t.Errorf("%v; %d octets, then %d, %d files", err, len(before), len(after), len(entries))
	}
}

func TestUnreadableLinesAreCounted(t *testing.T) {
	o := made(t, world()...)
	files, _ := filepath.Glob(filepath.Join(o.Ledger, "*.jsonl"))
	b, err := os.ReadFile(files[0])
	require.NoError(t, err)
	at := bytes.LastIndex(b[:len(b)/2], []byte("\n")) + 1
	b = slices.Insert(b, at, []byte("no line\n")...)
	require.NoError(t, os.WriteFile(files[0], b, 0o644))
	r := report1(t, o)
	assert.Truef(t, r.Unread == 1 && len(r.Damage) != 0 && r.Totals.Exchanges == 147, "%d unreadable, %q, %d exchanges", r.Unread, r.Damage, r.Totals.Exchanges)
	assert.Contains(t, render(t, r), "Not everything could be read", "the page lacks it")
}

func TestAnEmptyCrawlHasAReport(t *testing.T) {
	r := report1(t, made(t))
	elements(t, render(t, r))
	assert.Truef(t, r.Totals.Lines == 0 && r.Crawl.First == nil, "%+v", r.Totals)
}
