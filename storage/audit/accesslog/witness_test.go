package accesslog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// TestLogAndArchiveTellTheSame: what one has and the other has not is named, and nothing else.
func TestLogAndArchiveTellTheSame(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return noon.Add(time.Duration(s * float64(time.Second))) }
	robots, one, two, end := asked("http://a.test/robots.txt", at(0), time.Second, 200), asked("http://a.test/1", at(20), time.Second, 200),
		asked("http://a.test/2?x", at(40), time.Second, 404), asked("http://a.test/end", at(60), time.Second, 200)
	honest := logged(robots, ourAgent) + logged(one, ourAgent) + logged(two, ourAgent) + logged(end, ourAgent)
	line := func(second float64, target string, status int, agent string) string {
		return logged(asked("http://a.test"+target, at(second), 0, status), agent)
	}
	shifted := func(by float64) string {
		return line(1, "/robots.txt", 200, ourAgent) + line(20+by, "/1", 200, ourAgent) + line(41, "/2?x", 404, ourAgent) + line(61, "/end", 200, ourAgent)
	}
	last := asked("http://a.test/1", at(69), time.Second, 0) // no answer
	cut := asked("http://a.test/1", at(69), time.Second, 200)
	cut.Cut = "length"
	busy := strings.Repeat(line(200, "/", 200, "other/1"), fewLines)
	common := func(at, request string, status int) string {
		return fmt.Sprintf("192.0.2.1 - - [01/Mar/2026:12:%s +0000] %q %d 5\n", at, request, status)
	}
	for name, c := range map[string]struct {
		log   string
		more  []*evidence.Exchange
		o     Options
		want  string
		level audit.Level
	}{
		"honest":                      {log: honest, level: audit.ConfirmedByLog},
		"the other clock":             {log: shifted(-0.5), level: audit.ConfirmedByLog},
		"a clock too far":             {log: shifted(4), want: "log-extra log-missing"},
		"a clock allowed":             {log: shifted(4), o: Options{Skew: 4 * time.Second}, level: audit.ConfirmedByLog},
		"others":                      {log: honest + line(24, "/secret", 200, "other/1 (+https://x.example)"), level: audit.ConfirmedByLog},
		"one more":                    {log: honest + line(24, "/secret", 200, ourAgent), want: "log-extra"},
		"asked twice":                 {log: honest + line(21, "/1", 200, ourAgent), want: "log-extra"},
		"one less":                    {log: logged(robots, ourAgent) + logged(two, ourAgent), want: "log-missing"},
		"another status":              {log: strings.Replace(honest, " 404 ", " 200 ", 1), want: "log-missing"},
		"another target":              {log: strings.Replace(honest, "/2?x", "/2?y", 1), want: "log-extra log-missing"},
		"another method":              {log: strings.Replace(honest, "GET /1 ", "POST /1 ", 1), want: "log-extra log-missing"},
		"before the archive":          {log: line(-60, "/0", 200, ourAgent) + honest, level: audit.ConfirmedByLog},
		"right behind it":             {log: honest + line(62, "/secret", 200, ourAgent), want: "(log-extra)", level: audit.ConfirmedByLog},
		"right behind a whole crawl":  {log: honest + line(62, "/secret", 200, ourAgent), o: Options{Whole: true}, want: "log-extra"},
		"the next crawl's robots.txt": {log: honest + line(62, "/robots.txt", 200, ourAgent), o: Options{Whole: true}, want: "(log-extra)", level: audit.ConfirmedByLog},
		"a line that is none":         {log: honest + "rubbish\n", want: "(access-log-line)", level: audit.ConfirmedByLog},
		"the log ends":                {log: logged(robots, ourAgent) + logged(one, ourAgent), level: audit.ConfirmedByLog},
		"the log begins":              {log: logged(two, ourAgent) + logged(end, ourAgent), level: audit.ConfirmedByLog},
		"invented at the end, as others' lines show": {log: honest + busy, more: []*evidence.Exchange{asked("http://a.test/3", at(80), 0, 200)}, want: "log-missing"},
		"invented at the end, of which nobody knows": {log: honest, more: []*evidence.Exchange{asked("http://a.test/3", at(80), 0, 200)}, level: audit.ConfirmedByLog},
		"no answer":             {log: honest, more: []*evidence.Exchange{last}, level: audit.ConfirmedByLog},
		"no answer, logged":     {log: honest + line(70, "/1", 499, ourAgent), more: []*evidence.Exchange{last}, level: audit.ConfirmedByLog},
		"cut":                   {log: honest + line(70, "/1", 499, ourAgent), more: []*evidence.Exchange{cut}, level: audit.ConfirmedByLog},
		"cut, and noticed late": {log: honest + line(110, "/1", 499, ourAgent), more: []*evidence.Exchange{cut}, level: audit.ConfirmedByLog},
		"another host":          {log: honest, more: []*evidence.Exchange{asked("http://b.test/", at(4), 0, 200)}, o: Options{Logs: []Log{{Host: "A.test"}}}, level: audit.ConfirmedByLog},
		"disguised, from there": {log: honest + line(24, "/secret", 200, "Mozilla/5.0"), o: Options{From: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}, want: "log-extra"},
		"another version":       {log: honest + line(24, "/secret", 200, "curtsy/0.9"), want: "log-extra"},
		"another version, from elsewhere": {log: honest + strings.Replace(line(24, "/secret", 200, "curtsy/0.9"), "192.0.2.9", "198.51.100.1", 1),
			want: "(log-extra)", level: audit.ConfirmedByLog},
		"another version, by token": {log: honest + line(24, "/secret", 200, "curtsy/0.9"), o: Options{Tokens: []string{"curtsy"}}, want: "log-extra"},
		"lost in a crash": {log: honest + line(24, "/secret", 200, ourAgent), o: Options{Crashed: func(from, to time.Time) bool { return from.Before(at(24)) && at(24).Before(to) }},
			want: "(crash-in-flight)", level: audit.ConfirmedByLog},
		"lost in a crash, by a clock that is 2 s ahead": {log: honest + line(26, "/secret", 200, ourAgent), o: Options{Crashed: func(from, to time.Time) bool { return from.Before(at(24)) && at(24).Before(to) }},
			want: "(crash-in-flight)", level: audit.ConfirmedByLog},
		"named by vhost":          {log: strings.ReplaceAll(honest, "192.0.2.9 - -", "a.test:80 192.0.2.9 - -") + "b.test:80 " + line(24, "/", 200, ourAgent), level: audit.ConfirmedByLog},
		"common format":           {log: strings.ReplaceAll(honest, ` "-" "`+ourAgent+`"`, "") + common("00:21", "GET /x HTTP/1.1", 200), level: audit.ConfirmedByLog},
		"common format, one less": {log: common("00:00", "GET /robots.txt HTTP/1.1", 200) + common("00:41", "GET /2?x HTTP/1.1", 404), want: "log-missing"},
	} {
		for _, memory := range []int{0, 1} {
			o := c.o
			o.Memory, o.TempDir = memory, t.TempDir()
			if len(o.Logs) == 0 {
				o.Logs = []Log{{}}
			}
			o.Logs = []Log{{o.Logs[0].Host, logFile(t, c.log)}}
			level := c.level
			if level == "" {
				level = audit.SelfConsistent
			}
			r, found := witnessed(t, Compare(o), append([]*evidence.Exchange{two, robots, one, end}, c.more...)...)
			if got := codesOf(found); got != c.want || r.Level != level {
				t.Errorf("%s: %q, %s; want %q, %s\n%+v\n%+v", name, got, r.Level, c.want, level, found, r.Logs[0])
			}
			for _, f := range found {
				if f.Code == finding.LogExtra && f.Authority != "http://a.test" { // as the archive names the host, or it is counted as another
					t.Errorf("%s: a finding about %q", name, f.Authority)
				}
			}
			if h := r.Logs[0]; h.Agree+h.Extra+h.Crash > h.Ours || h.Agree+h.Missing+h.Uncovered+h.Unanswered != h.Exchanges {
				t.Errorf("%s: lost: %+v", name, h)
			}
		}
	}
}

// A log without a HOST is of the only host, with its default ports.
func TestCompare_LogWithoutHost(t *testing.T) {
	for _, c := range []struct {
		urls []string
		many bool
	}{
		{urls: []string{"http://a.test/", "https://a.test/"}},
		{urls: []string{"http://a.test:8080/", "http://a.test:8080/b"}},
		{urls: []string{"http://a.test/", "http://b.test/"}, many: true},
		{urls: []string{"http://a.test/", "http://a.test:8080/"}, many: true},
	} {
		w := Compare(Options{Logs: []Log{{Path: logFile(t, "")}}})
		for _, u := range c.urls {
			require.NoError(t, w.Exchange(t.Context(), asked(u, time.Now(), 0, 200), nil))
		}
		err := w.Close(t.Context(), &audit.Result{}, func(finding.Finding) {})
		if errors.Is(err, ErrManyHosts) != c.many || !c.many && err != nil {
			t.Errorf("%v: %v", c.urls, err)
		}
	}
}

func TestAFileThatIsNoLogIsSaid(t *testing.T) {
	w := Compare(Options{Logs: []Log{{Path: logFile(t, "{}\n{}\n")}}})
	if err := w.Close(t.Context(), &audit.Result{}, func(finding.Finding) {}); err == nil || !strings.Contains(err.Error(), "objects of JSON: line 1") {
		t.Error(err)
	}
}

// TestAsManyAgreeAsCan: on random accounts of one URL, with answers that were cut off among them, the pairs are as many as
// a search through all matchings finds.
func TestAsManyAgreeAsCan(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for range 500 {
		var es []*evidence.Exchange
		var text strings.Builder
		var told []entry
		for range 1 + rng.IntN(6) {
			e := asked("http://a.test/", noon.Add(time.Duration(rng.IntN(12000))*time.Millisecond), time.Duration(rng.IntN(3000))*time.Millisecond, 200+204*rng.IntN(2))
			if rng.IntN(4) == 0 {
				e.Cut = "length"
			}
			es = append(es, e)
		}
		for range rng.IntN(7) {
			at, status := noon.Add(time.Duration(rng.IntN(14))*time.Second), 200+204*rng.IntN(2)
			told = append(told, entry{from: at.UnixMicro(), status: uint16(status)})
			text.WriteString(logged(asked("http://a.test/", at, 0, status), ourAgent))
		}
		r, _ := witnessed(t, Compare(Options{Logs: []Log{{Path: logFile(t, text.String())}}, Skew: time.Second}), es...)
		h := r.Logs[0]
		pairs, whole := mostPairs(es, told)
		lonely := -whole
		for _, e := range es {
			if e.Cut == "" {
				lonely++
			}
		}
		if h.Agree != int64(pairs) || h.Missing+h.Uncovered != int64(lonely) {
			t.Fatalf("%d agree, want %d; %d lack their line, want %d\n%s%+v", h.Agree, pairs, h.Missing+h.Uncovered, lonely, text.String(), es)
		}
		if h.Agree+h.Missing+h.Uncovered+h.Unanswered != h.Exchanges || h.Agree+h.Extra > h.Ours || h.Ours+h.Outside != h.Lines {
			t.Fatalf("lost: %+v", h)
		}
	}
}

// mostPairs is the largest number of pairs, and the largest number of whole answers in as many, by trying all.
func mostPairs(es []*evidence.Exchange, told []entry) (pairs, whole int) {
	if len(es) == 0 {
		return 0, 0
	}
	e := es[0]
	until, one := e.End().Add(e.Resolution+time.Second), 1
	if e.Cut != "" {
		until, one = until.Add(time.Minute), 0
	}
	pairs, whole = mostPairs(es[1:], told)
	for i, l := range told {
		at := micro(l.from)
		if at.Add(2*time.Second).After(e.Began) && !at.After(until) && (e.Cut != "" || e.Status == int(l.status)) {
			p, w := mostPairs(es[1:], slices.Delete(slices.Clone(told), i, i+1))
			if p, w = p+1, w+one; p > pairs || p == pairs && w > whole {
				pairs, whole = p, w
			}
		}
	}
	return pairs, whole
}

func TestProductsAreNamedWhole(t *testing.T) {
	for agent, want := range map[string]bool{
		"curtsy/1": true, "Curtsy": true, "mybot/2 (x) curtsy/1": true, "Mozilla/5.0 (compatible; curtsy/1)": true,
		"curtsybot/1": false, "not-curtsy/1": false, "notcurtsy curtsy_x": false, "": false,
	} {
		if namesProduct(agent, "curtsy") != want {
			t.Errorf("%q: %v", agent, !want)
		}
	}
}
