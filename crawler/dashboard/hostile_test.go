package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"curtsy/crawler/control"
	"curtsy/crawler/explain"
	"curtsy/crawler/status"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// payloads returns hostile texts, which set window.planted if they run. The browser test in cmd/curtsy uses the same file.
func payloads(t *testing.T) (all []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "payloads.jsonl"))
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		var p string
		require.NoError(t, json.Unmarshal([]byte(line), &p))
		all = append(all, p)
	}
	return all
}

// planted returns a crawl with p in each field that the web, or a file from elsewhere, can set.
func planted(p string) *fakeCrawl {
	path := "http://a.test/" + p
	line := storage.Line{
		Time: testTime, URL: path, Via: path, Seed: path, Tag: p, Decision: storage.DecisionAllow, Outcome: storage.OutcomeFailed, Reason: p,
		RobotsLine: 3, RobotsRule: p, RobotsGroup: p, RunnerUp: p, Attempt: 1, Type: p, Count: 2,
	}
	refusal := line
	refusal.Decision, refusal.Outcome, refusal.Status = storage.Decision(p), storage.Outcome(p), 503
	queue := status.Queue{Host: p, Pending: 5, Pace: 1, State: p}
	one := status.One{Known: true, Robots: "User-agent: *\n" + p + "\nDisallow: /" + p, Outcomes: map[string]int64{p: 3}}
	one.Host, one.State, one.Reason, one.PaceBy, one.Failed = p, p, p, p, 1
	said := explain.Explanation{
		Answer: explain.Answer{Word: p, Text: p}, URL: explain.URL{Written: path, Fetch: p, Origin: p},
		Scope: explain.Scope{Rule: p, Asked: []explain.Rule{{Rule: p, Says: p}}},
		State: explain.State{State: p, Reason: p, Kind: p, Via: path, Seed: path},
		Robots: explain.Robots{Failure: p, Verdict: &explain.Verdict{Reason: p, Line: 2, Rule: p}, Policies: []explain.PolicyView{{
			Token: p, Why: p, Candidates: []explain.CandidateView{{Line: 2, Rule: p}, {Line: 3, Rule: p}},
		}}},
		Pace: explain.Pace{By: storage.PaceBy(p), Terms: []explain.PaceTerm{{By: storage.PaceBy(p), Note: p}}}, Budgets: []explain.Budget{{Name: p}},
	}
	look := Look{Running: true}
	look.Status = status.Status{
		State: "running", Hosts: 3, Queued: 3, Failures: map[string]int64{p: 2}, Links: map[string]int64{p: 3}, Longest: []status.Queue{queue},
	}
	look.Estimate = status.Estimate{Left: time.Hour, Host: p, PaceBy: p, Until: p}
	look.Waits = status.Waits{Hosts: 1, Pace: 1}
	row := one.Row
	return &fakeCrawl{
		name: "/crawls/" + p, look: look, rows: []status.Row{row}, one: one, said: said, lines: []storage.Line{line, refusal},
		gaps:     []Gap{{Kept: time.Second, Due: time.Second, By: storage.PaceBy(p)}},
		settings: Settings{Budgets: map[string]string{"max-pages": p, "window": p}, Include: []string{p}, Exclude: []string{p}, Delay: p, Hosts: []HostDelay{{p, p}}, OptOuts: []string{p}},
		did:      []ledger.Mark{{Time: testTime, Operator: &ledger.Operator{Act: p, About: p, Note: p}}},
	}
}

// views returns the pages that may show p.
func views(p string) []string {
	q := url.QueryEscape(p)
	return []string{
		"/crawl/0/", "/crawl/0/hosts?q=" + q + "&state=" + q + "&sort=" + q, "/crawl/0/host?name=http://a.test&url=" + q,
		"/crawl/0/decisions?q=&decision=&status=&outcome=&host=", "/crawl/0/decisions?q=" + q + "&decision=" + q + "&status=" + q + "&outcome=" + q + "&host=" + q,
		"/crawl/0/explain?url=" + q, "/crawl/0/explain?url=http://a.test/" + q, "/crawl/0/host?name=" + q, "/crawl/" + url.PathEscape(p) + "/", "/",
		"/crawl/0/steer",
	}
}

func TestXSS_APlantedTextMakesNoElement(t *testing.T) {
	require.Equal(t, 40, len(payloads(t)), "payloads")
	for _, p := range payloads(t) {
		c := planted(p)
		s := New(Options{Sources: []Source{c, c}, Token: testToken})
		s.watchers[0].once(t.Context(), firstRead)
		s.watchers[1].once(t.Context(), firstRead)
		cookie := "Cookie: curtsy_8800=" + s.guard.session()
		shown := 0
		for _, target := range append(views(p), "/crawl/0/?did="+s.said.keep("Not done: "+p), "/crawl/0/steer?try="+s.tried.keep(preview{
			Change: control.Change{Setting: p, Value: p, Host: p}, Changed: control.Changed{Examples: []string{p}}})) {
			resp := asked(t, s, "GET", "/", "", cookie)
			if strings.HasPrefix(target, "/crawl/") || target == "/" {
				resp = asked(t, s, "GET", target, "", cookie)
			}
			b, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			if strings.Contains(string(b), "window.planted") {
				shown++
			}
			for _, problem := range foreign(string(b)) {
				t.Errorf("%s with %q: %s", target, p, problem)
			}
		}
		assert.Truef(t, !strings.Contains(p, "planted") || shown >= 6, "%q shows on %d pages only: the test tests nothing", p, shown)
		c.fails = errors.New(p)
		s.watchers[0].once(t.Context(), firstRead)
		for _, target := range views(p) {
			b, err := io.ReadAll(asked(t, s, "GET", target, "", cookie).Body)
			require.NoError(t, err)
			for _, problem := range foreign(string(b)) {
				t.Errorf("in trouble, %s with %q: %s", target, p, problem)
			}
		}
	}
}

// foreign returns the elements, attributes and links that no template of the dashboard makes.
func foreign(page string) (problems []string) {
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return problems
		}
		t := z.Token()
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		switch t.Data {
		case "iframe", "object", "embed", "img", "base", "style", "video", "source", "math", "animate", "mtext", "audio":
			problems = append(problems, "element "+t.Data)
		}
		if t.Data == "textarea" && !strings.Contains(t.String(), ` name="value" required`) { // the forms for lists
			problems = append(problems, "element "+t.Data)
		}
		for _, a := range t.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on") && a.Key != "on", a.Key == "srcdoc", a.Key == "style", a.Key == "autofocus", a.Key == "ping":
				problems = append(problems, fmt.Sprintf("attribute %s of %s", a.Key, t.Data))
			case a.Key == "href" || a.Key == "src" || a.Key == "action" || a.Key == "formaction":
				u, err := url.Parse(a.Val)
				if err != nil || u.Scheme != "" || u.Host != "" {
					problems = append(problems, fmt.Sprintf("%s=%q of %s", a.Key, a.Val, t.Data))
				}
			case t.Data == "script" && a.Key == "src" && a.Val != "/assets/page.js":
				problems = append(problems, "script "+a.Val)
			case t.Data == "meta" && a.Key == "content" && strings.Contains(a.Val, "url="):
				problems = append(problems, "meta "+a.Val)
			}
		}
		if t.Data == "script" && len(t.Attr) == 0 {
			problems = append(problems, "a script of its own")
		}
	}
}
