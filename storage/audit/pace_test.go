package audit

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/storage"
)

func answered(path string, at, first time.Duration, meta string) fetch {
	return fetch{url: site + path, at: at, took: first + 10*time.Millisecond, meta: fmt.Sprintf("firstByteTimeMs: %d\r\n%s", first/time.Millisecond, meta)}
}

func saysPace(d time.Duration, by storage.PaceBy) string {
	return fmt.Sprintf("paceMs: %d\r\npaceBy: %s\r\n", d/time.Millisecond, by)
}

// slow is a site that takes two seconds to answer, so that ten must lie between two exchanges.
func slow(a *archive, next time.Duration, meta string) {
	a.add(answered("/robots.txt", 0, 2*s, ""))
	a.add(answered("/a", 2*s+10*time.Millisecond+next, 2*s, meta))
}

// limited is a site that requires five seconds between requests for a minute, and gets another request after next.
func limited(a *archive, field string, next time.Duration, meta string) {
	a.add(fetch{url: site + "/robots.txt", head: field})
	a.add(fetch{url: site + "/a", at: 100*time.Millisecond + next, meta: meta})
}

const fiveSeconds = "RateLimit: \"p\";r=12;t=60\r\n"

func TestPace_SourceIsRecomputed(t *testing.T) {
	words := []storage.PaceBy{storage.ByFloor, storage.ByHostSetting, storage.ByOperator, storage.ByCrawlDelay, storage.ByRequestRate, storage.ByResponseTime, storage.ByRateLimit, storage.ByRetryAfter, storage.ByErrors, storage.ByRobots, storage.ByAddress, "courtesy"}
	for right, kept := range map[storage.PaceBy]func(a *archive, by storage.PaceBy){
		storage.ByFloor: func(a *archive, by storage.PaceBy) { limited(a, "", 2*s, saysPace(s, by)) },
		storage.ByCrawlDelay: func(a *archive, by storage.PaceBy) {
			a.robots("User-agent: *\nCrawl-delay: 5\n")
			a.add(fetch{url: site + "/a", at: 6 * s, meta: saysPace(5*s, by)})
		},
		storage.ByRequestRate: func(a *archive, by storage.PaceBy) {
			a.robots("User-agent: *\nRequest-rate: 1/5\n")
			a.add(fetch{url: site + "/a", at: 6 * s, meta: saysPace(5*s, by)})
		},
		storage.ByResponseTime: func(a *archive, by storage.PaceBy) { slow(a, 11*s, saysPace(10*s, by)) },
		storage.ByRateLimit:    func(a *archive, by storage.PaceBy) { limited(a, fiveSeconds, 6*s, saysPace(5*s, by)) },
		storage.ByRetryAfter: func(a *archive, by storage.PaceBy) {
			a.robots("")
			a.add(fetch{url: site + "/a", at: 2 * s, status: 503, head: "Retry-After: 7\r\n"})
			a.add(fetch{url: site + "/b", at: 11 * s, meta: saysPace(7*s, by)})
		},
		storage.ByErrors: func(a *archive, by storage.PaceBy) {
			a.robots("")
			a.add(fetch{url: site + "/a", at: 2 * s, status: 500})
			a.add(fetch{url: site + "/b", at: 40 * s, meta: saysPace(30*s, by)})
		},
	} {
		for _, by := range words {
			a, want := ours(t), "gap-told"
			// Records do not show that an address or an unavailable robots.txt required more than all else.
			vague := by == storage.ByAddress || by == storage.ByRobots
			// The marks of the ledger record that the operator raised the pace since the run began (reconcile).
			if by == right || by == storage.ByOperator || vague && (right == storage.ByRetryAfter || right == storage.ByErrors) {
				want = ""
			}
			kept(a, by)
			expect(t, want, a.audit(Options{}), by, right)
		}
	}
}

func TestPace_NewFileMayLackLastAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		head  string
		first []time.Duration
		want  string
	}{
		"the last two were slow":       {first: []time.Duration{s / 10, 2 * s, 2 * s}},
		"all were slow":                {first: []time.Duration{2 * s, 2 * s, 2 * s}, want: "gap"},
		"the last ones have RateLimit": {first: []time.Duration{s / 10}, head: fiveSeconds},
		"two have come since its word": {first: []time.Duration{s / 10, s / 10, s / 10}, head: fiveSeconds, want: "gap"},
	} {
		before, at := ours(t), time.Duration(0)
		for i, first := range c.first {
			f := answered([]string{"/robots.txt", "/1", "/2"}[i], at, first, "")
			if i == 0 {
				f.head = c.head
			}
			before.add(f)
			at += first + 12*s
		}
		then := before.after()
		then.add(fetch{url: site + "/z", at: at - 9*s})
		r := then.audit(Options{Files: []string{before.file()}})
		expect(t, c.want, r, name)
	}
}

func TestAPaceOfAnyAnswersThatAKillMayHaveLeftIsRight(t *testing.T) {
	for pace, want := range map[time.Duration]string{10 * s: "", s / 2: "gap-told", 11 * s: "gap-told"} {
		before := ours(t)
		before.add(answered("/robots.txt", 0, s/10, ""))
		before.add(answered("/1", 12*s, 2*s, ""))
		then := before.after()
		then.add(answered("/y", 40*s, s/10, ""))
		then.add(fetch{url: site + "/z", at: 60 * s, meta: "gapMs: 19890\r\n" + saysPace(pace, storage.ByResponseTime)})
		r := then.audit(Options{Files: []string{before.file()}})
		expect(t, want, r, pace)
	}
}

func TestDatesOfAnswersAreCompared(t *testing.T) {
	for _, off := range []time.Duration{0, -3 * time.Hour, 40 * s} {
		a := ours(t)
		for i := range 40 {
			at := time.Duration(i) * 1370 * time.Millisecond
			f := fetch{url: site + fmt.Sprintf("/%d", i), at: at, head: "Date: " + day0.Add(at+off).Format("Mon, 02 Jan 2006 15:04:05 GMT") + "\r\n"}
			switch i {
			case 0:
				f.url = site + "/robots.txt"
			case 7:
				f.head = "Date: Mon, 02 Jan 2006 15:04:05 GMT\r\nAge: 1\r\n" // another's answer, kept for a while
			case 8:
				f.head = "Date: today\r\n"
			}
			a.add(f)
		}
		r := a.audit(Options{})
		h := r.Hosts[0]
		got := time.Duration(h.Skew * float64(s))
		assert.Truef(t, r.Clean && h.Dates == 38 && (got-off).Abs() <= 200*time.Millisecond, "off by %v: %v of %d dates%s", off, got, h.Dates, shown(r))
	}
}

// speeds are crawls of others at a known speed, with dates of whole seconds and no ends, as wget writes them.
var speeds = []struct {
	name    string
	pages   int
	step    time.Duration
	robots  string
	floor   time.Duration
	shuffle bool
	codes   string
}{
	{name: "50 pages in a second, Crawl-delay 1", pages: 50, step: 20 * time.Millisecond, robots: "User-agent: *\nCrawl-delay: 1\n", codes: "gap"},
	{name: "300 pages at 100 a second, --floor 1s", pages: 300, step: 10 * time.Millisecond, floor: s, codes: "gap"},
	{name: "the same, shuffled", pages: 300, step: 10 * time.Millisecond, floor: s, shuffle: true, codes: "gap"},
	{name: "two a second, --floor 1s", pages: 20, step: s / 2, floor: s, codes: "gap"},
	{name: "9 of 10 seconds", pages: 40, step: 900 * time.Millisecond, floor: s, codes: "gap"},
	{name: "a Crawl-delay below a second", pages: 100, step: 100 * time.Millisecond, robots: "User-agent: *\nCrawl-delay: 0.2\n", codes: "gap"},
	{name: "one a second", pages: 200, step: s, floor: s},
	{name: "one a second, shuffled", pages: 200, step: s, floor: s, shuffle: true},
	{name: "Crawl-delay 0.2, kept", pages: 100, step: 200 * time.Millisecond, robots: "User-agent: *\nCrawl-delay: 0.2\n"},
	{name: "100 a second, and nobody asked for less", pages: 300, step: 10 * time.Millisecond},
}

func TestPace_ChecksSumOfDelays(t *testing.T) {
	for _, c := range speeds {
		t.Run(c.name, func(t *testing.T) {
			a := foreign(t)
			a.form = "2006-01-02T15:04:05Z"
			a.add(fetch{url: site + "/robots.txt", body: c.robots, meta: "none"})
			order := make([]int, c.pages)
			for i := range order {
				order[i] = i + 1
			}
			if c.shuffle {
				rand.New(rand.NewPCG(1, 1)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			}
			for _, i := range order {
				a.add(fetch{url: fmt.Sprintf("%s/%d", site, i), at: time.Duration(i) * c.step, meta: "none"})
			}
			expect(t, c.codes, a.audit(Options{Floor: c.floor}))
		})
	}
}

func TestPace_HalvesOfAnExchange(t *testing.T) {
	a := foreign(t)
	a.form = "2006-01-02T15:04:05Z"
	a.robots("")
	for i := range 30 {
		at := day0.Add(time.Duration(i+1) * s)
		head := "WARC-IP-Address: 198.18.0.1\r\nContent-Type: application/http; msgtype=response"
		for range 3 {
			a.record("response", fmt.Sprintf("%s/%d", site, i), at, head, "HTTP/1.1 200 OK\r\n\r\n")
		}
	}
	expect(t, "", a.audit(Options{Floor: s}))
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text)) // a bytes.Buffer never fails
	z.Close()
	return b.String()
}

func TestAHostShowsThePacesThatWereDue(t *testing.T) {
	a := ours(t)
	a.robots(rule)
	a.add(fetch{url: site + "/a", at: 2 * s})
	a.add(fetch{url: site + "/robots.txt", at: 4 * s, body: "User-agent: *\nCrawl-delay: 5\n"})
	a.add(fetch{url: site + "/b", at: 10 * s})
	r := a.audit(Options{})
	h := r.Hosts[0]
	assert.Truef(t, r.Clean && h.Required == 5 && h.Lowest == 1 && h.MinGap >= 1, "%s", shown(r))
	same := ours(t)
	same.robots(rule)
	same.add(fetch{url: site + "/a", at: 2 * s})
	if h := same.audit(Options{}).Hosts[0]; h.Lowest != h.Required {
		t.Errorf("%+v", h)
	}
}

func TestStrict_AcceptsPoliteCrawls(t *testing.T) {
	forms := []string{"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05.000000Z"}
	for seed := range uint64(20) {
		w := newWorld(seed)
		a := foreign(t)
		a.form = forms[seed%3]
		for _, s := range w.sites {
			s.rules = strings.ReplaceAll(s.rules, "User-agent: curtsy\n", "User-agent: Lantern\n")
		}
		for range 10 + w.r.IntN(60) {
			w.step(a)
		}
		r := a.audit(Options{Strict: true})
		assert.Truef(t, r.Clean, "seed %d, dates like %s: %q%s", seed, a.form, codes(r), shown(r))
	}
}

func TestOurRulesNeedNoWarcinfo(t *testing.T) {
	a := &archive{t: t, form: "2006-01-02T15:04:05Z"}
	a.robots(rule)
	for i := range 50 {
		a.add(fetch{url: fmt.Sprintf("%s/%d", site, i), at: time.Duration(i) * s / 5, meta: "none"})
	}
	expect(t, "gap", a.audit(Options{Strict: true}))
}
