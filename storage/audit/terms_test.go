package audit

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"curtsy/storage"
)

// answered is a page whose answer began after first.
func answered(path string, at, first time.Duration, meta string) fetch {
	return fetch{url: site + path, at: at, took: first + 10*time.Millisecond, meta: fmt.Sprintf("firstByteTimeMs: %d\r\n%s", first/time.Millisecond, meta)}
}

// saysPace is the pace that a crawl says was due, and who asked for it.
func saysPace(d time.Duration, by storage.PaceBy) string {
	return fmt.Sprintf("paceMs: %d\r\npaceBy: %s\r\n", d/time.Millisecond, by)
}

// slow is a site that takes two seconds to answer, so that ten must lie between two exchanges.
func slow(a *archive, next time.Duration, meta string) {
	a.add(answered("/robots.txt", 0, 2*s, ""))
	a.add(answered("/a", 2*s+10*time.Millisecond+next, 2*s, meta))
}

// limited is a site that wants five seconds between requests for a minute, and is asked again after next.
func limited(a *archive, field string, next time.Duration, meta string) {
	a.add(fetch{url: site + "/robots.txt", head: field})
	a.add(fetch{url: site + "/a", at: 100*time.Millisecond + next, meta: meta})
}

const fiveSeconds = "RateLimit: \"p\";r=12;t=60\r\n"

// readForAnother is a site whose robots.txt asks for 5 s when it is read for another host, and for nothing when it is read for its
// own. The pages then come after 5 s as well.
func readForAnother(a *archive, pages ...time.Duration) {
	five := saysPace(5*s, storage.ByCrawlDelay)
	first := a.add(fetch{url: site + "/robots.txt"})
	a.add(fetch{url: "http://other.test/robots.txt", status: 302, head: "Location: " + site + "/robots.txt\r\n", meta: "decision: robots\r\n"})
	a.add(fetch{url: site + "/robots.txt", at: 2 * s, body: "User-agent: *\nCrawl-delay: 5\n", meta: "decision: robots\r\nvia: http://other.test/robots.txt\r\n"})
	a.add(fetch{url: site + "/", at: 7500 * time.Millisecond, meta: "decision: allow\r\nrobotsSha256: " + sha("") + "\r\nrobotsRecord: <" + first + ">\r\n" + five})
	a.add(fetch{url: site + "/robots.txt", at: 13 * s, meta: "decision: robots\r\n" + five})
	for _, at := range pages {
		a.add(fetch{url: site + "/a", at: at, meta: five})
	}
}

// Each term of the pace is recomputed, whatever the crawl says of it (docs/trust/politeness.md, rules 7, 9 and 14).
var paces = []judged{
	{name: "rule 7: Request-rate", codes: "gap", make: func(a *archive) {
		a.robots("User-agent: *\nRequest-rate: 2/10 0900-1700\n")
		a.add(fetch{url: site + "/a", at: 5 * s})
	}},
	{name: "rule 7: Request-rate kept", make: func(a *archive) {
		a.robots("User-agent: *\nRequest-rate: 2/10\nAllow: /\nUser-agent: owl\nRequest-rate: 1/1m\n")
		a.add(fetch{url: site + "/a", at: 5200 * time.Millisecond, meta: saysPace(5*s, "request-rate")})
	}},
	{name: "Request-rate binds no other crawler", foreign: true, make: func(a *archive) {
		a.robots("User-agent: *\nRequest-rate: 2/10\n")
		a.add(fetch{url: site + "/a", at: 2 * s})
	}},
	{name: "rule 7: a Crawl-delay read for another host, kept behind the exchange that ends it", make: func(a *archive) { readForAnother(a, 19*s) }},
	{name: "rule 7: and kept no longer", codes: "gap-told", make: func(a *archive) { readForAnother(a, 19*s, 25*s) }},
	{name: "a pause for some hosts", info: []string{"host-delay-ms: 5000 *.example.org", "host-delay-ms: 3000 " + siteName}, codes: "gap", make: func(a *archive) {
		a.robots("")
		a.add(fetch{url: site + "/a", at: 3 * s})
	}},
	{name: "a pause for some hosts kept", info: []string{"host-delay-ms: 3000 " + siteName}, make: func(a *archive) {
		a.robots("")
		a.add(fetch{url: site + "/a", at: 3200 * time.Millisecond, meta: saysPace(3*s, storage.ByHostSetting)})
	}},
	{name: "a pause for all hosts", info: []string{"host-delay-ms: 4000 *"}, codes: "gap gap-told", make: func(a *archive) {
		a.robots("")
		a.add(fetch{url: site + "/a", at: 3200 * time.Millisecond, meta: saysPace(3*s, storage.ByHostSetting)})
	}},
	{name: "a pause for other hosts", info: []string{"host-delay-ms: 3000 *." + siteName, "host-delay-ms: 3000 x" + siteName}, make: func(a *archive) {
		a.robots("")
		a.add(fetch{url: site + "/a", at: 2 * s})
	}},
	{name: "rule 9: the response time", codes: "gap", make: func(a *archive) { slow(a, 9900*time.Millisecond, "") }},
	{name: "rule 9: the response time kept", make: func(a *archive) { slow(a, 10*s, saysPace(10*s, "response time")) }},
	{name: "rule 9: half a minute at most", make: func(a *archive) {
		a.add(answered("/robots.txt", 0, 20*s, ""))
		a.add(answered("/a", 51*s, s, saysPace(30*s, "response time")))
	}},
	{name: "rule 9: the middle of the last five", make: func(a *archive) {
		at := time.Duration(0)
		for i, first := range []time.Duration{s / 10, s / 10, s / 10, 4 * s, 4 * s, s / 10} { // of four in the middle, the larger
			a.add(answered([]string{"/robots.txt", "/1", "/2", "/3", "/4", "/5"}[i], at, first, ""))
			at += first + 10*time.Millisecond + s
		}
	}},
	{name: "rule 9: the larger of two in the middle", codes: "gap", make: func(a *archive) {
		a.add(answered("/robots.txt", 0, 2*s, ""))
		a.add(answered("/a", 13*s, s/10, ""))
		a.add(answered("/b", 15*s, s/10, ""))
	}},
	{name: "rule 18: response times do not bind own hosts", make: func(a *archive) {
		a.add(fetch{url: "http://127.0.0.1:8080/robots.txt", took: 3 * s, meta: "firstByteTimeMs: 2000\r\n"})
		a.add(fetch{url: "http://127.0.0.1:8080/a", at: 4 * s})
	}},
	{name: "response times bind no other crawler", foreign: true, make: func(a *archive) { slow(a, s, "") }},
	{name: "an answer that began after it ended", codes: "record", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", meta: "firstByteTimeMs: 100.001\r\n"})
	}},
	{name: "rule 14: RateLimit", codes: "gap", make: func(a *archive) { limited(a, fiveSeconds, 4900*time.Millisecond, "") }},
	{name: "rule 14: RateLimit kept", make: func(a *archive) { limited(a, fiveSeconds, 5*s, saysPace(5*s, "ratelimit")) }},
	{name: "rule 14: RateLimit in two fields", codes: "gap", make: func(a *archive) {
		limited(a, "RateLimit: \"p\";r=12\r\nRateLimit: \"q\";r=12;t=60\r\n", 4*s, "")
	}},
	{name: "rule 14: nothing is left", codes: "gap", make: func(a *archive) {
		limited(a, "RateLimit: \"p\";r=0;t=60\r\n", 50*s, "")
	}},
	{name: "rule 14: nothing is left, and it was waited for", make: func(a *archive) {
		limited(a, "RateLimit: \"p\";r=0;t=60\r\n", 60*s, saysPace(60*s, "ratelimit"))
	}},
	{name: "rule 14: it holds until the quota is filled", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", head: fiveSeconds})
		a.add(fetch{url: site + "/a", at: 61 * s})
		a.add(fetch{url: site + "/b", at: 63 * s})
	}},
	{name: "rule 14: and until then for each", codes: "gap", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", head: fiveSeconds})
		a.add(fetch{url: site + "/a", at: 30 * s})
		a.add(fetch{url: site + "/b", at: 33 * s})
	}},
	{name: "rule 14: Retry-After wins", make: func(a *archive) {
		a.robots("")
		a.add(fetch{url: site + "/a", at: 2 * s, status: 503, head: "Retry-After: 3\r\nRateLimit: \"p\";r=0;t=60\r\n"})
		a.add(fetch{url: site + "/b", at: 6 * s})
	}},
	{name: "rule 14: malformed", make: func(a *archive) { limited(a, "RateLimit: limit=1, r=0, t=60\r\n", 2*s, "") }},
	{name: "RateLimit binds no other crawler", foreign: true, make: func(a *archive) { limited(a, fiveSeconds, s, "") }},
}

func TestThePaceIsRecomputed(t *testing.T) {
	for _, c := range paces {
		t.Run(c.name, func(t *testing.T) {
			a := ours(t, c.info...)
			if c.foreign {
				a = foreign(t)
			}
			c.make(a)
			if r := a.audit(c.opts); codes(r) != c.codes || r.Totals.Unprovable > 0 {
				t.Errorf("found %q, want %q%s", codes(r), c.codes, shown(r))
			}
		})
	}
}

// A crawl names who asked for each pace. Whoever is named in another's place did not ask for that.
func TestWhoAskedIsRecomputed(t *testing.T) {
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
			// That an address or a robots.txt that could not be had asked for more than all else is not told by records.
			vague := by == storage.ByAddress || by == storage.ByRobots
			// That the operator had raised the pace since the run began is for the marks of the ledger to tell (reconcile).
			if by == right || by == storage.ByOperator || vague && (right == storage.ByRetryAfter || right == storage.ByErrors) {
				want = ""
			}
			kept(a, by)
			if r := a.audit(Options{}); codes(r) != want {
				t.Errorf("%s in place of %s: found %q, want %q%s", by, right, codes(r), want, shown(r))
			}
		}
	}
}

// Where the archive does not say when an answer began, it is not known whether five times that was waited.
func TestAnAnswerWithoutItsBeginningIsUnprovable(t *testing.T) {
	for next, want := range map[time.Duration]int64{4 * s: 1, 10100 * time.Millisecond: 0} {
		a := ours(t)
		a.add(fetch{url: site + "/robots.txt", took: 2 * s})
		a.add(fetch{url: site + "/a", at: 2*s + next})
		if r := a.audit(Options{}); !r.Clean || r.Totals.Unprovable != want {
			t.Errorf("after %v: %d unprovable, want %d%s", next, r.Totals.Unprovable, want, shown(r))
		}
	}
}

// A run that was killed may not know of the last answers of its archive: what they ask for is not held against the next
// file, and what was asked for before them is.
func TestANewFileMayNotKnowOfTheLastAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		head  string
		first []time.Duration
		want  string
	}{
		"the last two were slow":       {first: []time.Duration{s / 10, 2 * s, 2 * s}},
		"all were slow":                {first: []time.Duration{2 * s, 2 * s, 2 * s}, want: "gap"},
		"the last ones say RateLimit":  {first: []time.Duration{s / 10}, head: fiveSeconds},
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
		then := ours(t)
		then.n = before.n
		then.add(fetch{url: site + "/z", at: at - 9*s})
		r := then.audit(Options{Files: []string{before.file()}})
		if codes(r) != c.want {
			t.Errorf("%s: found %q, want %q%s", name, codes(r), c.want, shown(r))
		}
	}
}

// A run that follows on a kill may as well know of every answer, and say so: none of the paces that come of what it may
// have forgotten is held against it.
func TestAPaceOfAnyAnswersThatAKillMayHaveLeftIsRight(t *testing.T) {
	for pace, want := range map[time.Duration]string{10 * s: "", s / 2: "gap-told", 11 * s: "gap-told"} {
		before := ours(t)
		before.add(answered("/robots.txt", 0, s/10, ""))
		before.add(answered("/1", 12*s, 2*s, ""))
		then := ours(t)
		then.n = before.n
		then.add(answered("/y", 40*s, s/10, ""))
		then.add(fetch{url: site + "/z", at: 60 * s, meta: "gapMs: 19890\r\n" + saysPace(pace, storage.ByResponseTime)})
		r := then.audit(Options{Files: []string{before.file()}})
		if codes(r) != want {
			t.Errorf("%v: found %q, want %q%s", pace, codes(r), want, shown(r))
		}
	}
}

// The dates of answers say how far the archive's are off, as far as the servers' clocks are right; that is no finding.
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
		if got := time.Duration(h.Skew * float64(s)); !r.Clean || h.Dates != 38 || (got-off).Abs() > 200*time.Millisecond {
			t.Errorf("off by %v: %v of %d dates%s", off, got, h.Dates, shown(r))
		}
	}
}

// The words for who asked are those of docs/reference/ledger.md.
func TestTheWordsForWhoAskedAreThoseOfTheDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/reference/ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "## `pace_by`")
	section, _, _ = strings.Cut(section, "\n## ")
	var words []storage.PaceBy
	for line := range strings.Lines(section) {
		if word, ok := strings.CutPrefix(line, "| `"); ok {
			word, _, _ = strings.Cut(word, "`")
			words = append(words, storage.PaceBy(word))
		}
	}
	ours := []storage.PaceBy{storage.ByFloor, storage.ByHostSetting, storage.ByOperator, storage.ByCrawlDelay, storage.ByRequestRate, storage.ByResponseTime, storage.ByAddress, storage.ByRateLimit, storage.ByRetryAfter, storage.ByErrors, storage.ByRobots}
	if !slices.Equal(words, ours) {
		t.Errorf("%q, want %q", words, ours)
	}
}
