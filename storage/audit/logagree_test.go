package audit

import (
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
)

const ourAgent = "curtsy/1 (+https://o.example)"

// asked is an exchange as an honest archive of this crawler has it.
func asked(url string, began time.Time, took time.Duration, status int) *Exchange {
	authority := authorityOf(url)
	return &Exchange{
		Place: Place{File: "a.warc.gz", Offset: 7, Record: fmt.Sprintf("urn:uuid:%s@%d", url, began.UnixNano())}, URL: url, Authority: authority,
		Target: strings.TrimPrefix(url, authority), Began: began, Took: took, Ended: true, Resolution: time.Microsecond,
		Method: "GET", Agent: ourAgent, Status: status, Answered: status != 0,
	}
}

// logged is the line of an exchange as nginx writes it: at its end.
func logged(e *Exchange, agent string) string {
	return fmt.Sprintf(`192.0.2.9 - - [%s] "GET %s HTTP/1.1" %d 5 "-" %q`, e.End().Format(logTime), e.Target, e.Status, agent) + "\n"
}

// witnessed shows exchanges to a witness and returns what it found.
func witnessed(t *testing.T, w Witness, es ...*Exchange) (*Result, []Finding) {
	t.Helper()
	var found []Finding
	say := func(f Finding) { found = append(found, f) }
	for _, e := range es {
		if err := w.Exchange(t.Context(), e, say); err != nil {
			t.Fatal(err)
		}
	}
	r := &Result{Level: SelfConsistent}
	if err := w.Close(t.Context(), r, say); err != nil {
		t.Fatal(err)
	}
	return r, found
}

func logFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// codesOf lists findings as "code" or "(code)" for notes.
func codesOf(found []Finding) string {
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

// TestLogAndArchiveTellTheSame: what one has and the other has not is named, and nothing else.
func TestLogAndArchiveTellTheSame(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return noon.Add(time.Duration(s * float64(time.Second))) }
	robots, one, two := asked("http://a.test/robots.txt", at(0), time.Second, 200), asked("http://a.test/1", at(3), time.Second, 200), asked("http://a.test/2?x", at(6), time.Second, 404)
	honest := logged(robots, ourAgent) + logged(one, ourAgent) + logged(two, ourAgent)
	line := func(second float64, target string, status int, agent string) string {
		return logged(asked("http://a.test"+target, at(second), 0, status), agent)
	}
	last := asked("http://a.test/1", at(9), time.Second, 0) // no answer
	cut := asked("http://a.test/1", at(9), time.Second, 200)
	cut.Cut = "length"
	for name, c := range map[string]struct {
		log   string
		more  []*Exchange
		o     LogOptions
		want  string
		level Level
	}{
		"honest":                    {log: honest, level: ConfirmedByLog},
		"the other clock":           {log: line(2.5, "/robots.txt", 200, ourAgent) + line(5.5, "/1", 200, ourAgent) + line(9.4, "/2?x", 404, ourAgent), level: ConfirmedByLog},
		"a clock too far":           {log: line(0, "/robots.txt", 200, ourAgent) + line(3, "/1", 200, ourAgent) + line(10, "/2?x", 404, ourAgent), want: "log-missing"},
		"a clock allowed":           {log: line(0, "/robots.txt", 200, ourAgent) + line(3, "/1", 200, ourAgent) + line(10, "/2?x", 404, ourAgent), o: LogOptions{Skew: 4 * time.Second}, level: ConfirmedByLog},
		"others":                    {log: honest + line(4, "/secret", 200, "other/1 (+https://x.example)"), level: ConfirmedByLog},
		"one more":                  {log: honest + line(4, "/secret", 200, ourAgent), want: "log-extra"},
		"asked twice":               {log: honest + line(4, "/1", 200, ourAgent), want: "log-extra"},
		"one less":                  {log: logged(robots, ourAgent) + logged(two, ourAgent), want: "log-missing"},
		"another status":            {log: strings.Replace(honest, " 404 ", " 200 ", 1), want: "log-missing"},
		"another target":            {log: strings.Replace(honest, "/2?x", "/2?y", 1), want: "log-extra log-missing"},
		"another method":            {log: strings.Replace(honest, "GET /1 ", "POST /1 ", 1), want: "log-extra log-missing"},
		"before the archive":        {log: line(-60, "/0", 200, ourAgent) + honest, level: ConfirmedByLog},
		"a line that is none":       {log: honest + "rubbish\n", want: "(access-log-line)", level: ConfirmedByLog},
		"the log ends":              {log: logged(robots, ourAgent) + logged(one, ourAgent), more: []*Exchange{asked("http://a.test/3", at(60), 0, 200)}, want: "log-missing"},
		"no answer":                 {log: honest, more: []*Exchange{last}, level: ConfirmedByLog},
		"no answer, logged":         {log: honest + line(10, "/1", 499, ourAgent), more: []*Exchange{last}, level: ConfirmedByLog},
		"cut":                       {log: honest + line(10, "/1", 499, ourAgent), more: []*Exchange{cut}, level: ConfirmedByLog},
		"another host":              {log: honest, more: []*Exchange{asked("http://b.test/", at(4), 0, 200)}, o: LogOptions{Logs: []AccessLog{{Host: "A.test"}}}, level: ConfirmedByLog},
		"disguised, from there":     {log: honest + line(4, "/secret", 200, "Mozilla/5.0"), o: LogOptions{From: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}, want: "log-extra"},
		"another version, by token": {log: honest + line(4, "/secret", 200, "curtsy/0.9"), o: LogOptions{Tokens: []string{"curtsy"}}, want: "log-extra"},
		"lost in a crash": {log: honest + line(4, "/secret", 200, ourAgent), o: LogOptions{Crashed: func(t time.Time) bool { return t.Equal(at(4)) }},
			want: "(crash-in-flight)", level: ConfirmedByLog},
		"named by vhost": {log: strings.ReplaceAll(honest, "192.0.2.9 - -", "a.test:80 192.0.2.9 - -") + "b.test:80 " + line(4, "/", 200, ourAgent), level: ConfirmedByLog},
		"common format":  {log: strings.ReplaceAll(honest, ` "-" "`+ourAgent+`"`, "") + `192.0.2.1 - - [01/Mar/2026:12:00:01 +0000] "GET /x HTTP/1.1" 200 5` + "\n", level: ConfirmedByLog},
		"common format, one less": {log: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /robots.txt HTTP/1.1" 200 5` + "\n" +
			`192.0.2.1 - - [01/Mar/2026:12:00:08 +0000] "GET /2?x HTTP/1.1" 404 5` + "\n", want: "log-missing"},
	} {
		for _, memory := range []int{0, 1} {
			o := c.o
			o.Memory, o.TempDir = memory, t.TempDir()
			if len(o.Logs) == 0 {
				o.Logs = []AccessLog{{}}
			}
			o.Logs = []AccessLog{{o.Logs[0].Host, logFile(t, c.log)}}
			level := c.level
			if level == "" {
				level = SelfConsistent
			}
			r, found := witnessed(t, NewAccessLogs(o), append([]*Exchange{two, robots, one}, c.more...)...)
			if got := codesOf(found); got != c.want || r.Level != level {
				t.Errorf("%s: %q, %s; want %q, %s\n%+v\n%+v", name, got, r.Level, c.want, level, found, r.Logs[0])
			}
		}
	}
}

func TestALogWithoutAHostIsOfTheOnlyOne(t *testing.T) {
	w := NewAccessLogs(LogOptions{Logs: []AccessLog{{Path: logFile(t, "")}}})
	for _, u := range []string{"http://a.test/", "https://a.test:8443/", "http://b.test/"} {
		if err := w.Exchange(t.Context(), asked(u, time.Now(), 0, 200), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(t.Context(), &Result{}, nil); !errors.Is(err, ErrManyHosts) {
		t.Error(err)
	}
}

func TestAFileThatIsNoLogIsSaid(t *testing.T) {
	w := NewAccessLogs(LogOptions{Logs: []AccessLog{{Path: logFile(t, "{}\n{}\n")}}})
	if err := w.Close(t.Context(), &Result{}, func(Finding) {}); err == nil || !strings.Contains(err.Error(), "Combined Log Format: line 1") {
		t.Error(err)
	}
}

// TestAsManyAgreeAsCan: on random accounts of one URL the pairs are as many as a search through all matchings finds.
func TestAsManyAgreeAsCan(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for range 300 {
		var es []*Exchange
		var text strings.Builder
		var seconds []time.Time
		for range rng.IntN(7) {
			es = append(es, asked("http://a.test/", noon.Add(time.Duration(rng.IntN(12000))*time.Millisecond), time.Duration(rng.IntN(3000))*time.Millisecond, 200))
		}
		for range rng.IntN(7) {
			at := noon.Add(time.Duration(rng.IntN(14)) * time.Second)
			seconds = append(seconds, at)
			text.WriteString(logged(asked("http://a.test/", at, 0, 200), ourAgent))
		}
		if len(es) == 0 {
			continue
		}
		r, _ := witnessed(t, NewAccessLogs(LogOptions{Logs: []AccessLog{{Path: logFile(t, text.String())}}, Skew: time.Second}), es...)
		h := r.Logs[0]
		seconds = slices.DeleteFunc(seconds, func(s time.Time) bool {
			return s.Before(h.began.Add(-2*time.Second)) || s.After(h.ended.Add(time.Second))
		})
		if want := most(es, seconds, time.Second); h.Agree != int64(want) {
			t.Fatalf("%d agree, want %d\n%s%+v", h.Agree, want, text.String(), es)
		}
		if h.Agree+h.Extra != h.Ours || h.Agree+h.Missing+h.Uncovered != h.Exchanges {
			t.Fatalf("lost: %+v", h)
		}
	}
}

// most is the largest number of pairs, by trying all.
func most(es []*Exchange, seconds []time.Time, skew time.Duration) int {
	if len(es) == 0 {
		return 0
	}
	best := most(es[1:], seconds, skew)
	for i, s := range seconds {
		if s.Add(time.Second).After(es[0].Began.Add(-skew)) && !s.After(es[0].End().Add(es[0].Resolution+skew)) {
			best = max(best, 1+most(es[1:], slices.Delete(slices.Clone(seconds), i, i+1), skew))
		}
	}
	return best
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
