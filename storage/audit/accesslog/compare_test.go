package accesslog

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestCompare_LogMatchesArchive(t *testing.T) {
	at := func(s float64) time.Time { return noon.Add(time.Duration(s * float64(time.Second))) }
	robots, one, two, end := exchange("http://a.test/robots.txt", at(0), time.Second, 200), exchange("http://a.test/1", at(20), time.Second, 200),
		exchange("http://a.test/2?x", at(40), time.Second, 404), exchange("http://a.test/end", at(60), time.Second, 200)
	honest := logged(robots, ourAgent) + logged(one, ourAgent) + logged(two, ourAgent) + logged(end, ourAgent)
	line := func(second float64, target string, status int, agent string) string {
		return logged(exchange("http://a.test"+target, at(second), 0, status), agent)
	}
	shifted := func(by float64) string {
		return line(1, "/robots.txt", 200, ourAgent) + line(20+by, "/1", 200, ourAgent) + line(41, "/2?x", 404, ourAgent) + line(61, "/end", 200, ourAgent)
	}
	last := exchange("http://a.test/1", at(69), time.Second, 0) // no answer
	cut := exchange("http://a.test/1", at(69), time.Second, 200)
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
		"a clock too far off":         {log: shifted(4), want: "log-extra log-missing"},
		"a clock allowed":             {log: shifted(4), o: Options{Skew: 4 * time.Second}, level: audit.ConfirmedByLog},
		"others":                      {log: honest + line(24, "/secret", 200, "other/1 (+https://x.example)"), level: audit.ConfirmedByLog},
		"one more":                    {log: honest + line(24, "/secret", 200, ourAgent), want: "log-extra"},
		"requested twice":             {log: honest + line(21, "/1", 200, ourAgent), want: "log-extra"},
		"one less":                    {log: logged(robots, ourAgent) + logged(two, ourAgent), want: "log-missing"},
		"another status":              {log: strings.Replace(honest, " 404 ", " 200 ", 1), want: "log-missing"},
		"another target":              {log: strings.Replace(honest, "/2?x", "/2?y", 1), want: "log-extra log-missing"},
		"another method":              {log: strings.Replace(honest, "GET /1 ", "POST /1 ", 1), want: "log-extra log-missing"},
		"before the archive":          {log: line(-60, "/0", 200, ourAgent) + honest, level: audit.ConfirmedByLog},
		"right behind it":             {log: honest + line(62, "/secret", 200, ourAgent), want: "(log-extra)", level: audit.ConfirmedByLog},
		"right behind a whole crawl":  {log: honest + line(62, "/secret", 200, ourAgent), o: Options{Whole: true}, want: "log-extra"},
		"the next crawl's robots.txt": {log: honest + line(62, "/robots.txt", 200, ourAgent), o: Options{Whole: true}, want: "(log-extra)", level: audit.ConfirmedByLog},
		"an invalid line":             {log: honest + "rubbish\n", want: "(access-log-line)", level: audit.ConfirmedByLog},
		"the log ends":                {log: logged(robots, ourAgent) + logged(one, ourAgent), level: audit.ConfirmedByLog},
		"the log begins":              {log: logged(two, ourAgent) + logged(end, ourAgent), level: audit.ConfirmedByLog},
		"invented at the end, as others' lines show": {log: honest + busy, more: []*evidence.Exchange{exchange("http://a.test/3", at(80), 0, 200)}, want: "log-missing"},
		"invented at the end, without evidence":      {log: honest, more: []*evidence.Exchange{exchange("http://a.test/3", at(80), 0, 200)}, level: audit.ConfirmedByLog},
		"no answer":                                  {log: honest, more: []*evidence.Exchange{last}, level: audit.ConfirmedByLog},
		"no answer, logged":                          {log: honest + line(70, "/1", 499, ourAgent), more: []*evidence.Exchange{last}, level: audit.ConfirmedByLog},
		"cut":                                        {log: honest + line(70, "/1", 499, ourAgent), more: []*evidence.Exchange{cut}, level: audit.ConfirmedByLog},
		"cut, and noticed late":                      {log: honest + line(110, "/1", 499, ourAgent), more: []*evidence.Exchange{cut}, level: audit.ConfirmedByLog},
		"another host":                               {log: honest, more: []*evidence.Exchange{exchange("http://b.test/", at(4), 0, 200)}, o: Options{Logs: []Log{{Host: "A.test"}}}, level: audit.ConfirmedByLog},
		"disguised, from there":                      {log: honest + line(24, "/secret", 200, "Mozilla/5.0"), o: Options{From: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}, want: "log-extra"},
		"another version":                            {log: honest + line(24, "/secret", 200, "curtsy/0.9"), want: "log-extra"},
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
			level := cmp.Or(c.level, audit.SelfConsistent)
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
			require.NoError(t, w.Exchange(t.Context(), exchange(u, time.Now(), 0, 200), nil))
		}
		err := w.Close(t.Context(), &audit.Result{}, func(finding.Finding) {})
		if errors.Is(err, ErrManyHosts) != c.many || !c.many && err != nil {
			t.Errorf("%v: %v", c.urls, err)
		}
	}
}

func TestCompare_RejectsOtherFiles(t *testing.T) {
	w := Compare(Options{Logs: []Log{{Path: logFile(t, "{}\n{}\n")}}})
	if err := w.Close(t.Context(), &audit.Result{}, func(finding.Finding) {}); err == nil || !strings.Contains(err.Error(), "objects of JSON: line 1") {
		t.Error(err)
	}
}

func TestAsManyAgreeAsCan(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var es []*evidence.Exchange
		var text strings.Builder
		var entries []entry
		for range 1 + rng.IntN(6) {
			e := exchange("http://a.test/", noon.Add(time.Duration(rng.IntN(12000))*time.Millisecond), time.Duration(rng.IntN(3000))*time.Millisecond, 200+204*rng.IntN(2))
			if rng.IntN(4) == 0 {
				e.Cut = "length"
			}
			es = append(es, e)
		}
		for range rng.IntN(7) {
			at, status := noon.Add(time.Duration(rng.IntN(14))*time.Second), 200+204*rng.IntN(2)
			entries = append(entries, entry{from: at.UnixMicro(), status: uint16(status)})
			text.WriteString(logged(exchange("http://a.test/", at, 0, status), ourAgent))
		}
		r, _ := witnessed(t, Compare(Options{Logs: []Log{{Path: logFile(t, text.String())}}, Skew: time.Second}), es...)
		h := r.Logs[0]
		pairs, whole := mostPairs(es, entries)
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
		assert.Equal(t, want, namesProduct(agent, "curtsy"), agent)
	}
}

const ourAgent = "curtsy/1 (+https://o.example)"

func exchange(url string, began time.Time, took time.Duration, status int) *evidence.Exchange {
	authority := strings.Join(strings.SplitN(url, "/", 4)[:3], "/")
	return &evidence.Exchange{
		Place: finding.Place{File: "a.warc.gz", Offset: 7, Record: fmt.Sprintf("urn:uuid:%s@%d", url, began.UnixNano())}, URL: url, Authority: authority,
		Target: strings.TrimPrefix(url, authority), Began: began, Took: took, Ended: true, Resolution: time.Microsecond,
		Method: "GET", Agent: ourAgent, Status: status, Answered: status != 0, Robots: strings.HasSuffix(url, "/robots.txt"),
	}
}

func logged(e *evidence.Exchange, agent string) string {
	return fmt.Sprintf(`192.0.2.9 - - [%s] "GET %s HTTP/1.1" %d 5 "-" %q`, e.End().Format(timeForm), e.Target, e.Status, agent) + "\n"
}

func witnessed(t testing.TB, w audit.Witness, es ...*evidence.Exchange) (*audit.Result, []finding.Finding) {
	t.Helper()
	var found []finding.Finding
	report := func(f finding.Finding) { found = append(found, f) }
	for _, e := range es {
		require.NoError(t, w.Exchange(t.Context(), e, report))
	}
	r := &audit.Result{Level: audit.SelfConsistent}
	require.NoError(t, w.Close(t.Context(), r, report))
	return r, found
}

// logFiles are logs of lines.
func logFiles(t testing.TB, files ...[]string) (logs []Log) {
	t.Helper()
	for _, lines := range files {
		logs = append(logs, Log{Path: logFile(t, strings.Join(lines, ""))})
	}
	return logs
}

func logFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.log")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// codesOf lists findings as "code" or "(code)" for notes.
func codesOf(found []finding.Finding) string {
	var all []string
	for _, f := range found {
		c := string(f.Code)
		if f.Note {
			c = "(" + c + ")"
		}
		all = append(all, c)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// nginx 1.22 wrote these lines: the part of an overlong request line in its buffer, nothing of an invalid one, and in JSON
// ($request_uri, $host) less than that.
func TestCompare_CutRequestLineIsHarmless(t *testing.T) {
	long := "/" + strings.Repeat("a", 9000)
	at := func(s int, rest string) string {
		return "192.0.2.9 - - [" + noon.Add(time.Duration(s)*time.Second).Format(timeForm) + "] " + rest + "\n"
	}
	json := func(s int, method, target, status string) string {
		return `{"time_iso8601":"` + noon.Add(time.Duration(s)*time.Second).Format(time.RFC3339) + `","remote_addr":"192.0.2.9","host":"","request_method":"` + method +
			`","request_uri":"` + target + `","status":` + status + `,"http_user_agent":""}` + "\n"
	}
	robots, end := at(0, `"GET /robots.txt HTTP/1.1" 200 5 "-" "`+ourAgent+`"`), at(100, `"GET /end HTTP/1.1" 200 5 "-" "`+ourAgent+`"`)
	middle := at(50, `"GET /1 HTTP/1.1" 200 5 "-" "`+ourAgent+`"`)
	archive := func(target string, status int) []*evidence.Exchange {
		return []*evidence.Exchange{
			exchange("http://a.test/robots.txt", noon, 0, 200), exchange("http://a.test"+target, noon.Add(20*time.Second), 0, status),
			exchange("http://a.test/1", noon.Add(50*time.Second), 0, 200), exchange("http://a.test/end", noon.Add(100*time.Second), 0, 200),
		}
	}
	nothing := archive("/x", 0)[2:]
	nothing = append(archive("/x", 0)[:1:1], nothing...)
	for name, c := range map[string]struct {
		es   []*evidence.Exchange
		line string
		from bool
		want string
	}{
		"414":                             {es: archive(long, 414), line: at(20, `"GET `+long[:8186]+`" 414 177 "-" "-"`)},
		"414, from there":                 {es: archive(long, 414), line: at(20, `"GET `+long[:8186]+`" 414 177 "-" "-"`), from: true},
		"414, of Apache":                  {es: archive(long, 414), line: at(20, `"GET `+long+`" 414 177 "-" "-"`)},
		"414 in JSON":                     {es: archive(long, 414), line: json(20, "", "", "414")},
		"414 of another":                  {es: archive(long, 414), line: at(20, `"GET /b`+long[:8186]+`" 414 177 "-" "-"`), want: "log-missing"},
		"414 at another time":             {es: archive(long, 414), line: at(30, `"GET `+long[:8186]+`" 414 177 "-" "-"`), want: "log-missing"},
		"414, and the archive has 200":    {es: archive(long, 200), line: at(20, `"GET `+long[:8186]+`" 414 177 "-" "-"`), want: "log-missing"},
		"414, not logged":                 {es: archive(long, 414), want: "log-missing"},
		"400 in JSON":                     {es: archive("/%zz", 400), line: json(20, "GET", "", "400")},
		"400 in JSON, with a dash":        {es: archive("/%zz", 400), line: json(20, "GET", "-", "400")},
		"400 of nothing":                  {es: archive("/%zz", 400), line: at(20, `"" 400 0 "-" "-"`)},
		"400 of a dash":                   {es: archive("/%zz", 400), line: at(20, `"-" 400 0 "-" "-"`)},
		"400 with the agent":              {es: archive("/nohost", 400), line: at(20, `"GET /nohost HTTP/1.1" 400 157 "-" "`+ourAgent+`"`)},
		"400 of a stray %":                {es: archive("/n%zz1", 400), line: at(20, `"GET /n%zz1 HTTP/1.1" 400 157 "-" "-"`)},
		"400, and no agent":               {es: archive("/x%00y", 400), line: at(20, `"GET /x%00y HTTP/1.1" 400 157 "-" ""`)},
		"400 of a stray %, from there":    {es: archive("/n%zz1", 400), line: at(20, `"GET /n%zz1 HTTP/1.1" 400 157 "-" "-"`), from: true},
		"400 of a stray % in JSON":        {es: archive("/n%zz1", 400), line: json(20, "GET", "/n%zz1", "400")},
		"400 of a stray %, and another's": {es: archive("/n%zz1", 400), line: at(20, `"GET /n%zz1 HTTP/1.1" 400 157 "-" "-"`) + at(30, `"GET /%zz2 HTTP/1.1" 400 157 "-" "-"`)},
		"400 of a stray %, not logged":    {es: archive("/n%zz1", 400), want: "log-missing"},
		"404 instead of 400":              {es: archive("/n%zz1", 400), line: at(20, `"GET /n%zz1 HTTP/1.1" 404 157 "-" "-"`), want: "log-missing"},
		"404, and the line is cut":        {es: archive("/old", 404), line: at(20, `"GET /o" 404 157 "-" "-"`), want: "log-missing"},
		"499":                             {es: archive("/slow", 0), line: at(20, `"GET /slow HTTP/1.1" 499 0 "-" "`+ourAgent+`"`)},
		"444":                             {es: archive("/gone", 0), line: at(20, `"GET /gone HTTP/1.1" 444 0 "-" "`+ourAgent+`"`)},
		"499 that the archive lacks":      {es: nothing, line: at(20, `"GET /slow HTTP/1.1" 499 0 "-" "`+ourAgent+`"`), want: "log-extra"},
		"408 of half a request":           {es: archive("/half", 0), line: at(22, `"GET /ha" 408 0 "-" "-"`)},
		"408 of half, from there":         {es: archive("/half", 0), line: at(22, `"GET /ha" 408 0 "-" "-"`), from: true, want: "(log-extra)"},
		"408 of nothing, from there":      {es: nothing, line: at(20, `"-" 408 0 "-" "-"`), from: true, want: "(log-extra)"},
		"TLS, from there":                 {es: nothing, line: at(20, `"\x16\x03\x01\x02\x00\x01\x00\x01" 400 157 "-" "-"`), from: true, want: "(log-extra)"},
		"a whole 400, from there":         {es: nothing, line: at(20, `"GET /%zz HTTP/1.1" 400 157 "-" "-"`), from: true, want: "log-extra"},
		"half a 200, from there":          {es: nothing, line: at(20, `"GET /old" 200 157 "-" "-"`), from: true, want: "log-extra"},
		"a second 414, and one is logged": {es: append(archive(long, 414), exchange("http://a.test"+long, noon.Add(35*time.Second), 0, 414)), line: at(20, `"GET `+long[:8186]+`" 414 177 "-" "-"`), want: "log-missing"},
	} {
		o := Options{TempDir: t.TempDir(), Whole: true, Logs: []Log{{Path: logFile(t, robots+c.line+middle+end)}}}
		if c.from {
			o.From = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}
		r, found := witnessed(t, Compare(o), c.es...)
		if h := r.Logs[0]; codesOf(found) != c.want || c.want == "" && r.Level != audit.ConfirmedByLog || h.Agree+h.Missing+h.Uncovered+h.Unanswered != h.Exchanges || h.Unread > 0 {
			t.Errorf("%s: %q, want %q; %+v\n%+v", name, codesOf(found), c.want, h, found)
		}
	}
}

func TestJudge_UnreadRequestNeedsNoAgent(t *testing.T) {
	for line, want := range map[string]int64{
		`192.0.2.9 - - [01/Mar/2026:12:00:20 +0000] "GET /n%zz1 HTTP/1.1" 400 157 "-" "-"`: 0,
		`192.0.2.9 - - [01/Mar/2026:12:00:20 +0000] "GET /n HTTP/1.1" 494 157 "-" ""`:      0,
		`192.0.2.9 - - [01/Mar/2026:12:00:20 +0000] "GET /n HTTP/1.1" 200 157 "-" "-"`:     1,
		`192.0.2.9 - - [01/Mar/2026:12:00:20 +0000] "GET /n HTTP/1.1" 400 157 "-" "x/1"`:   1,
	} {
		r, err := Judge(t.Context(), JudgeOptions{
			Logs: []Log{{Path: logFile(t, line+"\n")}}, Token: "curtsy", From: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/32")}, TempDir: t.TempDir(),
		})
		require.NoError(t, err)
		got := int64(0)
		for _, n := range r.Counts {
			if n.Code == finding.UserAgent {
				got = n.Found
			}
		}
		assert.Equal(t, want, got, line)
	}
}

func TestJudge_CutRequestIsNotDisallowed(t *testing.T) {
	const agent = `"curtsy/1"`
	text := `192.0.2.9 - - [01/Mar/2026:12:00:00 +0000] "GET /robots.txt HTTP/1.1" 200 5 "-" ` + agent + "\n"
	for _, line := range []string{`"GET /a" 414 0 "-" "-"`, `"-" 408 0 "-" "-"`, `"" 400 0 "-" "-"`, `"\x16\x03" 400 0 "-" "-"`} {
		text += "192.0.2.9 - - [01/Mar/2026:12:01:00 +0000] " + line + "\n"
	}
	text += `192.0.2.9 - - [01/Mar/2026:12:02:00 +0000] "GET /a/b HTTP/1.1" 200 5 "-" ` + agent + "\n"
	r, err := Judge(t.Context(), JudgeOptions{
		Logs: []Log{{Path: logFile(t, text)}}, Robots: []Robots{{Path: logFile(t, "User-agent: *\nDisallow: /a\nAllow: /a/b\n")}}, Token: "curtsy", Floor: 20 * time.Second,
		From: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/32")}, TempDir: t.TempDir(),
	})
	if err != nil || !r.Clean || r.Totals.Unprovable == 0 {
		t.Errorf("%v %+v", err, r)
	}
}

func twoHosts() (es []*evidence.Exchange, log []string) {
	for i, path := range []string{"/robots.txt", "/1", "/2", "/3", "/4", "/5"} {
		for j, host := range []string{"http://a.test", "http://b.test"} {
			e := exchange(host+path, noon.Add(time.Duration(20*i+2*j)*time.Second), time.Second, 200)
			es, log = append(es, e), append(log, logged(e, ourAgent))
		}
	}
	return es, log
}

func TestCompare_SharedLogIsHarmless(t *testing.T) {
	es, log := twoHosts()
	one := strings.Replace(log[4], "/2 ", "/secret ", 1)
	named := func(host string, lines ...string) (all []string) {
		for _, l := range lines {
			all = append(all, host+" "+l)
		}
		return all
	}
	var canonical, both []string
	for i, l := range log {
		host := []string{"a.test:80", "b.test:80"}[i%2]
		both = append(both, named(host, l)...)
		canonical = append(canonical, named("www.a.test:80", l)...)
	}
	swapped := append([]string{}, both...)
	swapped[4] = strings.Replace(swapped[4], "a.test", "b.test", 1)
	for name, c := range map[string]struct {
		hosts []string
		lines []string
		want  string
		agree int
	}{
		"for both":                           {hosts: []string{"a.test", "b.test"}, lines: log, agree: 12},
		"for both, and twice":                {hosts: []string{"a.test", "B.test", "a.test"}, lines: log, agree: 12},
		"for both, and without a HOST":       {hosts: []string{"a.test", "b.test", ""}, lines: log, agree: 12},
		"with a line that the archive lacks": {hosts: []string{"a.test", "b.test"}, lines: append(log[:12:12], one), want: "log-extra", agree: 12},
		"with a line twice":                  {hosts: []string{"a.test", "b.test"}, lines: append(log[:12:12], log[4]), want: "log-extra", agree: 12},
		"without a line":                     {hosts: []string{"a.test", "b.test"}, lines: append(log[:4:4], log[5:]...), want: "log-missing", agree: 11},
		"with the host before each line":     {hosts: []string{"a.test", "b.test"}, lines: both, agree: 12},
		"with the host, for one":             {hosts: []string{"a.test"}, lines: both, agree: 6},
		"with another host before a line":    {hosts: []string{"a.test", "b.test"}, lines: swapped, want: "log-extra log-missing", agree: 11},
		"with the server's name":             {hosts: []string{"a.test", "b.test"}, lines: canonical, agree: 12},
		"with the server's name, less":       {hosts: []string{"a.test", "b.test"}, lines: append(canonical[:4:4], canonical[5:]...), want: "log-missing", agree: 11},
	} {
		path := logFile(t, strings.Join(c.lines, ""))
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(path, link); err != nil {
			t.Skip(err)
		}
		o := Options{TempDir: t.TempDir()}
		for i, h := range c.hosts {
			o.Logs = append(o.Logs, Log{Host: h, Path: []string{path, link}[i%2]})
		}
		r, found := witnessed(t, Compare(o), es...)
		if h := r.Logs[0]; codesOf(found) != c.want || len(r.Logs) != 1 || len(h.Files) != 1 || h.Lines != int64(len(c.lines)) || h.Agree != int64(c.agree) {
			t.Errorf("%s: %q, want %q; %+v\n%+v", name, codesOf(found), c.want, h, found)
		}
	}
}

func TestCompare_LogOfOneHost(t *testing.T) {
	es, log := twoHosts()
	_, found := witnessed(t, Compare(Options{TempDir: t.TempDir(), Logs: []Log{{Host: "a.test", Path: logFile(t, strings.Join(log, ""))}}}), es...)
	if len(found) == 0 || found[0].Note || !strings.Contains(found[0].Observed, "name the file for each of them") {
		t.Errorf("%+v", found)
	}
}

func TestManyHostsShareALog(t *testing.T) {
	o, text := Options{TempDir: t.TempDir()}, ""
	var es []*evidence.Exchange
	for i := range 200 {
		e := exchange(fmt.Sprintf("http://a-host-with-a-long-name-%d.test/", i), noon.Add(time.Duration(i)*time.Second), 0, 200)
		es, text = append(es, e), text+logged(e, ourAgent)
	}
	path := logFile(t, text)
	for i := range es {
		o.Logs = append(o.Logs, Log{Host: fmt.Sprintf("a-host-with-a-long-name-%d.test", i), Path: path})
	}
	if r, found := witnessed(t, Compare(o), es...); len(found) > 0 || r.Logs[0].Agree != 200 {
		t.Errorf("%+v %+v", found, r.Logs[0])
	}
}

func TestCompare_PartOfACrawl(t *testing.T) {
	es, log := twoHosts()
	later := strings.Replace(log[8], "/4 ", "/later ", 1) // after the archived exchanges of a.test, amid b.test
	for name, c := range map[string]struct {
		whole bool
		host  string
		want  string
	}{
		"a part": {want: "(log-extra)"}, "the whole": {whole: true, want: "log-extra"}, "a part, and it names b.test": {host: "b.test:80 ", want: "log-extra"},
	} {
		var part []*evidence.Exchange
		text := c.host + later
		for i, e := range es {
			if host := []string{"a.test", "b.test"}[i%2]; host == "b.test" || i < 8 {
				line := log[i]
				if c.host != "" {
					line = host + ":80 " + line
				}
				part, text = append(part, e), text+line
			}
		}
		path := logFile(t, text)
		o := Options{TempDir: t.TempDir(), Whole: c.whole, Logs: []Log{{"a.test", path}, {"b.test", path}}}
		_, found := witnessed(t, Compare(o), part...)
		assert.Equalf(t, c.want, codesOf(found), "%s: %+v", name, found)
	}
}
