package accesslog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
)

const botRobots = "User-agent: otherbot\nDisallow: /no\nCrawl-delay: 2\n\nUser-agent: *\nDisallow: /\n"

type logLine struct {
	at     float64
	target string
	status int
	agent  string // "" is Otherbot/2
	client string // "" is 192.0.2.9
	method string // "" is GET
}

func (l logLine) String() string {
	return fmt.Sprintf("%s - - [%s] \"%s %s HTTP/1.1\" %d 5 \"-\" %q\n", cmp.Or(l.client, "192.0.2.9"), noon.Add(time.Duration(l.at*1e9)).Format(timeForm),
		cmp.Or(l.method, "GET"), l.target, l.status, cmp.Or(l.agent, "Otherbot/2 (+https://o.example)"))
}

func text(lines ...logLine) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.String())
	}
	return b.String()
}

func judged(t *testing.T, log string, change func(*JudgeOptions)) *audit.Result {
	t.Helper()
	o := JudgeOptions{Logs: []Log{{Path: logFile(t, log)}}, Robots: []Robots{{Path: logFile(t, botRobots)}}, Token: "otherbot", TempDir: t.TempDir()}
	if change != nil {
		change(&o)
	}
	r, err := Judge(t.Context(), o)
	require.NoError(t, err)
	return r
}

func TestJudge_LogOnly(t *testing.T) {
	const other = "Mozilla/5.0"
	yesterday := logLine{at: -90_000, target: "/", status: 200, agent: other, client: "198.51.100.7"}
	robots := logLine{at: 0, target: "/robots.txt", status: 200}
	from := func(o *JudgeOptions) { o.From = []netip.Prefix{netip.MustParsePrefix("192.0.2.9/32")} }
	var quick, slow []logLine
	for i := range 30 {
		quick = append(quick, logLine{at: 10 + float64(i), target: "/q", status: 200})
		slow = append(slow, logLine{at: 10 + float64(i)*2, target: "/s", status: 200})
	}
	for name, c := range map[string]struct {
		lines  []logLine
		change func(*JudgeOptions)
		want   string // codes of violations
		open   string // codes of unprovable checks
	}{
		"polite":                         {lines: []logLine{yesterday, robots, {at: 3, target: "/a", status: 200}, {at: 6, target: "/b?c", status: 404}}, open: "gap"},
		"disallowed":                     {lines: []logLine{yesterday, robots, {at: 3, target: "/no/1", status: 200}}, want: "disallowed", open: "gap"},
		"allowed only to it":             {lines: []logLine{yesterday, robots, {at: 3, target: "/a", status: 200, agent: "Thirdbot/1"}}},
		"by another version":             {lines: []logLine{yesterday, robots, {at: 3, target: "/no/1", status: 200, agent: "otherbot/3.1"}}, want: "disallowed", open: "gap"},
		"under another name":             {lines: []logLine{yesterday, robots, {at: 3, target: "/no/1", status: 200, agent: other}}},
		"under another name, from there": {lines: []logLine{yesterday, robots, {at: 3, target: "/no/1", status: 200, agent: other}}, change: from, want: "disallowed user-agent", open: "gap"},
		"no robots.txt":                  {lines: []logLine{yesterday, {at: 3, target: "/a", status: 200}}, want: "robots-missing"},
		"no robots.txt in a short log":   {lines: []logLine{{at: 3, target: "/a", status: 200}}, open: "robots-missing"},
		"robots.txt too late":            {lines: []logLine{yesterday, {at: 3, target: "/a", status: 200}, {at: 6, target: "/robots.txt", status: 200}}, want: "robots-missing", open: "gap"},
		"robots.txt too old":             {lines: []logLine{robots, {at: 80_000, target: "/x", status: 200, agent: other}, {at: 90_000, target: "/a", status: 200}}, want: "robots-expired", open: "gap"},
		"robots.txt renewed":             {lines: []logLine{robots, {at: 80_000, target: "/robots.txt", status: 304}, {at: 90_000, target: "/a", status: 200}}, open: "gap"},
		"robots.txt out of reach":        {lines: []logLine{yesterday, {at: 0, target: "/robots.txt", status: 503}, {at: 100, target: "/a", status: 200}}, want: "robots-unreachable", open: "gap"},
		"no robots.txt then":             {lines: []logLine{yesterday, {at: 0, target: "/robots.txt", status: 404}, {at: 100, target: "/no", status: 200}}, open: "gap"},
		"too fast":                       {lines: append([]logLine{yesterday, robots}, quick...), want: "gap", open: "gap"},
		"as fast as allowed":             {lines: append([]logLine{yesterday, robots}, slow...), open: "gap"},
		"faster than Floor allows":       {lines: append([]logLine{yesterday, robots}, slow...), change: func(o *JudgeOptions) { o.Floor = 3 * time.Second }, want: "gap", open: "gap"},
		"two crawlers of one name":       {lines: append([]logLine{yesterday, robots, {at: 11, target: "/", status: 200, client: "203.0.113.1"}, {at: 12, target: "/", status: 200, client: "203.0.113.2"}}, slow...), open: "gap"},
		"another method":                 {lines: []logLine{yesterday, robots, {at: 3, target: "/a", status: 200, method: "POST"}}, want: "method", open: "gap"},
		"right after a 503":              {lines: []logLine{yesterday, robots, {at: 3, target: "/a", status: 503}, {at: 6, target: "/b", status: 200}}, open: "gap retry-after"},
		"no robots.txt given":            {lines: []logLine{yesterday, robots, {at: 3, target: "/no", status: 200}}, change: func(o *JudgeOptions) { o.Robots = nil }, open: "disallowed"},
		"robots.txt of another host":     {lines: []logLine{yesterday, robots, {at: 3, target: "/no", status: 200}}, change: func(o *JudgeOptions) { o.Logs[0].Host, o.Robots[0].Host = "a.test", "b.test" }, open: "disallowed"},
	} {
		r := judged(t, text(c.lines...), c.change)
		var violated, open []string
		for _, n := range r.Counts {
			if n.Found > n.Notes {
				violated = append(violated, string(n.Code))
			}
		}
		for _, h := range r.Hosts {
			for _, u := range h.Why {
				open = append(open, string(u.What))
			}
		}
		slices.Sort(violated)
		slices.Sort(open)
		if strings.Join(violated, " ") != c.want || strings.Join(slices.Compact(open), " ") != c.open {
			t.Errorf("%s: violated %v, want %q; open %v, want %q\n%+v", name, violated, c.want, open, c.open, r.Findings)
		}
		if r.Level != audit.LogAlone || r.Clean != (c.want == "") || len(r.CannotShow) < 4 || len(r.Measures) < 3 {
			t.Errorf("%s: %+v", name, r)
		}
		_, err := json.Marshal(r)
		assert.NoError(t, err, name)
	}
}

func TestJudge_AcceptsPoliteCrawlers(t *testing.T) {
	robots := logFile(t, "User-agent: curtsy\nCrawl-delay: 1\nDisallow: /no\n")
	for seed := range trials(100) {
		rng := rand.New(rand.NewPCG(uint64(seed), 15))
		_, log := crawlAndLog(rng, time.Duration(rng.IntN(100))*time.Hour, 5+rng.IntN(100), 20)
		from := rng.IntN(len(log))
		r, err := Judge(t.Context(), JudgeOptions{Logs: rotated(t, rng, log[from:from+rng.IntN(len(log)-from+1)], rng.IntN(2) == 0),
			Robots: []Robots{{Path: robots}}, Token: "curtsy", From: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/32"), netip.MustParsePrefix("192.0.2.10/32")}, TempDir: t.TempDir()})
		if errors.Is(err, ErrNobody) {
			continue
		}
		if err != nil || !r.Clean {
			t.Fatalf("seed %d: %v, %+v", seed, err, r.Findings[:min(len(r.Findings), 3)])
		}
	}
}

func TestJudge_NamesDecidingRobots(t *testing.T) {
	t.Parallel()
	const before = "robots.txt of the host of the log: "
	absent, page := logLine{target: "/robots.txt", status: 404}, logLine{at: 3, target: "/a", status: 200}
	found := logLine{target: "/robots.txt", status: 200}
	again, late := logLine{at: 6, target: "/robots.txt", status: 404}, logLine{at: 9, target: "/a", status: 200}
	for name, c := range map[string]struct {
		lines  []logLine
		none   bool
		want   string
		served bool // the result warns that the site may have served another file
	}{
		"given":             {lines: []logLine{found, page}, want: "the given FILE", served: true},
		"404":               {lines: []logLine{absent, page}, want: "a logged 404, which allows everything (RFC 9309 2.3.1.3); the given FILE was not used"},
		"404, no file":      {lines: []logLine{absent, page}, none: true, want: "a logged 404, which allows everything (RFC 9309 2.3.1.3)"},
		"404 later":         {lines: []logLine{found, page, again, late}, want: "the given FILE, and for some requests a logged 404, which allows everything (RFC 9309 2.3.1.3)", served: true},
		"404 renewed":       {lines: []logLine{absent, found, page}, want: "the given FILE", served: true},
		"404 last":          {lines: []logLine{found, page, again}, want: "the given FILE", served: true},
		"none given":        {lines: []logLine{found, page}, none: true, want: "none was given, so what it forbids was not judged"},
		"nothing to decide": {lines: []logLine{found}},
	} {
		file := ""
		r := judged(t, text(c.lines...), func(o *JudgeOptions) {
			file = o.Robots[0].Path
			if c.none {
				o.Robots = nil
			}
		})
		got, served := "", false
		for _, m := range r.Measures {
			if s, ok := strings.CutPrefix(m, before); ok {
				got = strings.ReplaceAll(s, file, "FILE")
			}
		}
		for _, s := range r.CannotShow {
			served = served || strings.HasPrefix(s, "that the given robots.txt")
		}
		if got != c.want || served != c.served {
			t.Errorf("%s: %q, served %v", name, got, served)
		}
	}
}

func TestJudge_NeedsLinesOfTheCrawler(t *testing.T) {
	o := JudgeOptions{Logs: []Log{{Path: logFile(t, text(logLine{target: "/", status: 200, agent: "x"}))}}, Token: "otherbot", TempDir: t.TempDir()}
	if r, err := Judge(t.Context(), o); r != nil || !errors.Is(err, ErrNobody) {
		t.Error(r, err)
	}
}

func TestRFC9309_2_5_LogJudgedByWholeLines(t *testing.T) {
	t.Parallel()
	const head, half = "User-agent: *\n", "Disallow: /p"
	pad := strings.Repeat("#", 500<<10-len(head)-len(half)-1) + "\n"
	for end, clean := range map[string]bool{"": false, "\n": false, "rivate\n": true} {
		robots := logFile(t, head+pad+half+end)
		r := judged(t, `192.0.2.9 - - [01/Mar/2026:12:00:00 +0000] "GET /robots.txt HTTP/1.1" 200 5 "-" "otherbot"`+"\n"+
			`192.0.2.9 - - [01/Mar/2026:12:01:00 +0000] "GET /page HTTP/1.1" 200 5 "-" "otherbot"`+"\n",
			func(o *JudgeOptions) { o.Robots = []Robots{{Path: robots}} })
		assert.Equalf(t, clean, r.Clean, "%q behind the limit: clean %v, want %v: %+v", end, r.Clean, clean, r.Findings)
	}
}
