package audit

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/audit/finding"
)

func members(text []byte) []byte {
	var b bytes.Buffer
	for len(text) > 0 {
		n := bytes.Index(text[1:], []byte("WARC/1."))
		part := text
		if n >= 0 {
			part = text[:n+1]
		}
		z, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
		z.Write(part) // a bytes.Buffer never fails
		z.Close()
		text = text[len(part):]
	}
	return b.Bytes()
}

func FuzzAudit(f *testing.F) {
	for i, c := range judgedArchives(f) {
		a, _ := c.made(f)
		if i%3 > 0 || a.b.Len() > 8<<10 {
			continue
		}
		z, err := gzip.NewReader(&a.b)
		require.NoError(f, err)
		text, err := io.ReadAll(z)
		require.NoError(f, err)
		f.Add(text, int64(0))
		f.Add(text, int64(time.Second))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, floor int64) {
		path := filepath.Join(t.TempDir(), "fuzz.warc.gz")
		require.NoError(t, os.WriteFile(path, members(text), 0o600))
		const limit = 5
		r, err := Run(t.Context(), Options{Files: []string{path}, TempDir: dir, Floor: time.Duration(floor), Limit: limit})
		if err != nil {
			require.Nil(t, r, "a result and an error")
			return
		}
		check(t, r, limit)
	})
}

func check(t *testing.T, r *Result, limit int) {
	t.Helper()
	found, kept := int64(0), int64(0)
	per := map[string]int{}
	for _, c := range r.Counts {
		found, kept = found+c.Found, kept+c.Kept
		require.Truef(t, slices.Contains(finding.Codes(), c.Code), "the code %q is in no list", c.Code)
	}
	for _, f := range r.Findings {
		if per[string(f.Code)+f.Authority]++; per[string(f.Code)+f.Authority] > limit && len(f.Authority) < finding.MaxText {
			t.Fatalf("more than %d findings of %s at %s", limit, f.Code, f.Authority)
		}
		if max(len(f.URL), len(f.Required), len(f.Observed), len(f.Record)) > finding.MaxText+8 || f.Required == "" || f.Observed == "" {
			t.Fatalf("a finding that is empty or too long: %+v", f)
		}
	}
	if found != r.Totals.Violations+r.Totals.Notes || kept != int64(len(r.Findings)) || r.Clean != (r.Totals.Violations == 0) {
		t.Fatalf("counts %+v, totals %+v, %d findings", r.Counts, r.Totals, len(r.Findings))
	}
	unproved, pages := int64(0), int64(0)
	for _, h := range r.Hosts {
		unproved, pages = unproved+h.Unprovable, pages+h.Pages+h.Robots
	}
	if unproved != r.Totals.Unprovable || pages != r.Totals.Exchanges {
		t.Fatalf("hosts have %d unprovable and %d exchanges, totals have %+v", unproved, pages, r.Totals)
	}
	_, err := json.Marshal(r)
	require.NoError(t, err)
}

type world struct {
	r     *rand.Rand
	sites []*worldSite
}

type worldSite struct {
	url, rules string
	pace       time.Duration
	next       time.Duration // when the next exchange may begin
	learned    time.Duration
	known      bool
	times      []time.Duration // response times
}

// due is the pause after the last exchange: five times the third longest of the last five response times, or the pace.
func (s *worldSite) due() time.Duration {
	last := slices.Sorted(slices.Values(s.times[max(0, len(s.times)-5):]))
	if len(last) == 0 {
		return s.pace
	}
	return max(s.pace, 5*last[len(last)/2])
}

var worldRules = []struct {
	text string
	pace time.Duration
}{
	{"", time.Second},
	{"User-agent: *\nDisallow: /private\n", time.Second},
	{"User-agent: *\nDisallow: /private\nCrawl-delay: 3\n", 3 * time.Second},
	{"User-agent: Lantern\nDisallow: /private$\nDisallow: /private/*\nCrawl-delay: 2.5\nUser-agent: curtsy\nDisallow: /q?\n", 2500 * time.Millisecond},
	{"User-agent: owl\nDisallow: /\nUser-agent: *\nAllow: /\nDisallow: /private\n", time.Second},
}

var worldPaths = []string{"/", "/a", "/b?x=1", "/%C3%A9", "/very/long/path/of/a/page.html", "/a/../b"}

func newWorld(seed uint64) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 7))}
	for i := range 1 + w.r.IntN(4) {
		k := worldRules[w.r.IntN(len(worldRules))]
		w.sites = append(w.sites, &worldSite{url: fmt.Sprintf("https://s%d.test", i), rules: k.text, pace: k.pace})
	}
	return w
}

func (w *world) step(a *archive) *worldSite {
	s := w.sites[w.r.IntN(len(w.sites))]
	f := fetch{at: s.next, took: time.Duration(1 + w.r.IntN(900)*int(time.Millisecond))}
	rest := time.Duration(0)
	first := (f.took - time.Duration(w.r.Int64N(int64(f.took)))).Truncate(time.Microsecond)
	switch {
	case !s.known || s.next-s.learned > 23*time.Hour:
		f.url, f.body = s.url+"/robots.txt", s.rules
		s.known, s.learned = true, s.next
	default:
		f.url = s.url + worldPaths[w.r.IntN(len(worldPaths))]
		f.meta = "decision: allow\r\nrobotsSha256: " + sha(s.rules) + "\r\n"
		if strings.Contains(s.rules, "Allow: /\n") {
			f.meta += "robotsLine: 4\r\nrobotsRule: Allow: /\r\nrobotsGroup: *\r\n"
		}
		switch w.r.IntN(8) {
		case 0:
			f.status, f.head, rest = 503, "Retry-After: 90\r\n", 90*time.Second
		case 1:
			f.status = -1
		case 2:
			f.status, f.head = 301, "Location: /elsewhere\r\n"
		}
	}
	if f.status >= 0 && first > 0 {
		f.meta += fmt.Sprintf("firstByteTimeMs: %.3f\r\n", float64(first)/1e6)
		s.times = append(s.times, first)
	}
	a.add(f)
	s.next += f.took + max(s.due(), rest) + 10*time.Millisecond + time.Duration(w.r.IntN(5000))*time.Millisecond
	if w.r.IntN(20) == 0 {
		s.next += time.Duration(w.r.IntN(30)) * time.Hour
	}
	return s
}

var plants = map[finding.Code]func(w *world, a *archive, s *worldSite){
	finding.RobotsMissing: func(w *world, a *archive, s *worldSite) { a.add(fetch{url: "https://new.test/", at: s.next}) },
	finding.RobotsExpired: func(w *world, a *archive, s *worldSite) {
		a.add(fetch{url: s.url + "/", at: s.learned + 24*time.Hour + 2*time.Minute})
	},
	finding.RobotsUnreachable: func(w *world, a *archive, s *worldSite) {
		a.add(fetch{url: "https://new.test/robots.txt", at: s.next, status: 500 + w.r.IntN(99)})
		a.add(fetch{url: "https://new.test/", at: s.next + 2*time.Minute})
	},
	finding.Disallowed: func(w *world, a *archive, s *worldSite) {
		a.add(fetch{url: "https://new.test/robots.txt", at: s.next, body: "User-agent: " + []string{"*", "lantern", "CURTSY"}[w.r.IntN(3)] + "\nDisallow: /*x\n"})
		a.add(fetch{url: "https://new.test/a%78", at: s.next + time.Minute})
	},
	finding.Gap: func(w *world, a *archive, s *worldSite) {
		a.add(fetch{url: s.url + "/robots.txt", at: s.next, body: s.rules})
		a.add(fetch{url: s.url + "/robots.txt", at: s.next + 100*time.Millisecond + s.pace - 10*time.Millisecond, body: s.rules})
	},
	finding.InFlight: func(w *world, a *archive, s *worldSite) {
		a.add(fetch{url: s.url + "/robots.txt", at: s.next, took: time.Minute, body: s.rules})
		a.add(fetch{url: s.url + "/robots.txt", at: s.next + 50*time.Second, body: s.rules})
	},
	finding.RetryAfter: func(w *world, a *archive, s *worldSite) {
		a.add(fetch{url: s.url + "/robots.txt", at: s.next, status: 429, head: "Retry-After: 3600\r\n"})
		a.add(fetch{url: s.url + "/robots.txt", at: s.next + 59*time.Minute})
	},
	finding.Digest: func(w *world, a *archive, s *worldSite) {
		a.add(fetch{url: s.url + "/robots.txt", at: s.next, body: s.rules, extra: "WARC-Block-Digest: sha256:" + sha("other")})
	},
	finding.Verdict: func(w *world, a *archive, s *worldSite) {
		a.add(fetch{url: s.url + "/robots.txt", at: s.next, body: s.rules})
		a.add(fetch{url: s.url + "/", at: s.next + time.Minute, meta: "decision: allow\r\nrobotsLine: 99\r\nrobotsSha256: " + sha(s.rules) + "\r\n"})
	},
	finding.GapTold: func(w *world, a *archive, s *worldSite) {
		a.add(fetch{url: s.url + "/robots.txt", at: s.next, body: s.rules})
		a.add(fetch{url: s.url + "/robots.txt", at: s.next + time.Minute, body: s.rules, meta: "gapMs: 60000\r\n"})
	},
	finding.UserAgent: func(w *world, a *archive, s *worldSite) {
		a.add(fetch{url: s.url + "/robots.txt", at: s.next, body: s.rules, agent: []string{"none", "Mozilla/5.0", "owl/1"}[w.r.IntN(3)]})
	},
	finding.Method: func(w *world, a *archive, s *worldSite) {
		a.add(fetch{url: s.url + "/robots.txt", at: s.next, body: s.rules, method: "PUT"})
	},
	finding.BadRecord: func(w *world, a *archive, s *worldSite) {
		a.add(fetch{url: s.url + "/robots.txt", at: s.next, body: s.rules, noReq: true})
	},
}

func TestGoodCrawlsAreCleanAndOnePlantedViolationIsNamed(t *testing.T) {
	for seed := range seeds(60) {
		w := newWorld(seed)
		a := ours(t)
		s := w.sites[0]
		for range 5 + w.r.IntN(40) {
			s = w.step(a)
		}
		require.True(t, s.known, "the site is not known")
		good := a.b.String()
		n := a.n
		r := a.audit(Options{})
		require.Truef(t, r.Clean && r.Totals.Unprovable <= 0, "seed %d: a good crawl is not clean%s", seed, shown(r))
		for _, code := range finding.Codes() {
			plant := plants[code]
			if plant == nil {
				continue
			}
			a.b.Reset()
			a.b.WriteString(good)
			a.n = n
			at := int64(len(good))
			plant(w, a, s)
			r := a.audit(Options{})
			require.Equalf(t, string(code), codes(r), "seed %d%s", seed, shown(r))
			if f := r.Findings[0]; f.Offset < at || f.Authority == "" || f.Record == "" || f.Required == "" || f.Observed == "" {
				t.Fatalf("seed %d: %s lacks its place: %+v", seed, code, f)
			}
			if f := r.Findings[0]; code == finding.Verdict && f.Record != fmt.Sprintf("urn:test:%d", a.n) {
				t.Fatalf("seed %d: the finding does not name the record with the line, but %s", seed, f.Record)
			} else if code == finding.Disallowed && !strings.Contains(f.Required, `"Disallow: /*x" (record urn:test:`) {
				t.Fatalf("seed %d: neither rule nor record: %s", seed, f.Required)
			}
		}
	}
}
