package explain

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/budget"
	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/optout"
)

func TestExplainedPaceIsThePaceThatIsKept(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	won := map[string]int{}
	for range 5000 {
		body := "User-agent: *\nDisallow: /x\n"
		if rng.IntN(2) == 0 {
			body += "Crawl-delay: " + []string{"1", "0.5", "3", "40"}[rng.IntN(4)] + "\n"
		}
		if rng.IntN(2) == 0 {
			body += "Request-rate: " + []string{"1/3", "1/40", "2/1"}[rng.IntN(3)] + "\n"
		}
		k := &Facts{Floor: []time.Duration{0, time.Second, 3 * time.Second}[rng.IntN(3)], Own: rng.IntN(3) == 0, Micros: 1000}
		k.Rules.Book = robots.Terms{}.Parse([]byte(body))
		for range rng.IntN(8) {
			k.Memory.Hear(time.Duration(rng.IntN(9_000_000)) * time.Microsecond)
		}
		if rng.IntN(2) == 0 {
			k.Memory.Spaced, k.Memory.SpacedUntil = uint64(rng.IntN(5_000_000)), int64(rng.IntN(2000))
		}
		if rng.IntN(2) == 0 {
			by := []storage.PaceBy{storage.ByCrawlDelay, storage.ByRequestRate}[rng.IntN(2)]
			k.Memory.Hearsay.Hear(host.Pace{Pause: time.Duration(rng.IntN(50_000)) * time.Millisecond, By: by}, k.Now)
		}
		got, want := k.explainPace(), host.Terms{Floor: k.Floor, Own: k.Own, Rules: k.Rules.Book}.Pace(&k.Memory, k.Micros)
		if got.By != want.By || time.Duration(got.Seconds*1e9).Round(time.Microsecond) != want.Pause.Round(time.Microsecond) {
			t.Fatalf("%+v, the pace that is kept is %+v", got, want)
		}
		won[string(got.By)]++
	}
	assert.Len(t, won, 5, "the deciding delay")
}

// explanationOf explains a URL that is in scope, allowed and queued, after change.
func explanationOf(t *testing.T, change func(*Facts)) Explanation {
	t.Helper()
	u := parse(t, "http://a.test/x")
	body := []byte("User-agent: *\nDisallow: /no\n")
	k := &Facts{Question: Question{URL: u, Written: u.String(), Found: frontier.Candidate{URL: u, Kind: frontier.KindLink, Depth: 1}}, Crawl: "running",
		Now: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Seen: true, Known: true, Floor: time.Second, Gate: gate.New(nil, gate.OurToken, robots.RFC9309)}
	k.Entry = &frontier.Entry{Candidate: k.Found}
	k.Scope, k.Asked = scope.Verdict{In: true, Rule: "scope:host"}, []scope.Opinion{{Rule: "scope:seed", Says: scope.SaysNothing}, {Rule: "scope:host", Says: scope.SaysIn}}
	ruled(k, body)
	change(k)
	return Explain(k)
}

// ruled gives the host a robots.txt that was fetched an hour ago.
func ruled(k *Facts, body []byte) {
	ex := robots.Exchange{Status: 200, Body: body}
	k.State, _ = k.Gate.Terms.Next(robots.State{}, k.URL.Authority().Origin(), ex, k.Now.Add(-time.Hour))
	digest, _ := k.State.Body()
	k.Rules = gate.Rules{Book: k.Gate.Learn(digest, body)}
}

// failed gives the host a response for robots.txt without a body.
func failed(k *Facts, ex robots.Exchange) {
	k.State, _ = k.Gate.Terms.Next(robots.State{}, k.URL.Authority().Origin(), ex, k.Now.Add(-time.Second))
	k.Rules = gate.Rules{}
}

func closed(o frontier.Outcome, reason string) func(*Facts) {
	return func(k *Facts) { k.Entry.Outcome, k.Entry.Reason = o, reason }
}

func TestExplainAnswersEveryCase(t *testing.T) {
	said := map[string]bool{}
	for _, c := range []struct {
		change     func(*Facts)
		word, text string
		next       time.Duration // from now; -1 for none
	}{
		{func(*Facts) {}, AnswerMay, "may be fetched; it is due now", 0},
		{func(k *Facts) { ruled(k, []byte("User-agent: *\nAllow: /x\nDisallow: /\n")) }, AnswerMay, "may be fetched by line 2", 0},
		{func(k *Facts) { failed(k, robots.Exchange{Status: 404}) }, AnswerMay, "may be fetched", 0},
		{func(k *Facts) { k.Host.Wait = 3 * time.Second }, AnswerMay, "not before 2026-11-22T10:00:03.000Z (floor)", 3 * time.Second},
		{func(k *Facts) {
			k.Host.Condition, k.Host.Reason, k.Host.Wait = frontier.Parked, "status 503", time.Minute
		}, AnswerMay, "not before 2026-11-22T10:01:00.000Z (parked: status 503)", time.Minute},
		{func(k *Facts) { k.Memory.LastEnd = k.Now.Add(-400 * time.Millisecond).UnixMicro() }, AnswerMay, "10:00:00.600Z (floor)", 600 * time.Millisecond},
		{func(k *Facts) {
			k.Memory.LastEnd, k.Memory.Due = k.Now.UnixMicro(), host.Pace{Pause: 2 * time.Minute, By: storage.ByRetryAfter}
		}, AnswerMay, "10:02:00.000Z (retry-after)", 2 * time.Minute},
		{func(k *Facts) {
			k.Entry.Deferred, k.Entry.Attempts, k.Entry.Wait, k.Entry.Reason = true, 1, time.Minute, "timeout"
		}, AnswerMay, "10:01:00.000Z (no answer in time)", time.Minute},
		{func(k *Facts) { k.Entry, k.Seen, k.Found = nil, false, frontier.Candidate{} }, AnswerMay, "no page has led to it yet", 0},
		{func(k *Facts) {
			k.Entry, k.Seen, k.Stats.Counts = nil, false, budget.Generation{Number: 3}.Counts()
		}, AnswerMay, "generation 3 has not met it so far", 0},
		{func(k *Facts) { k.Entry = nil }, AnswerMay, "the crawl refused it, or has forgotten it; it is not queued", 0},
		{func(k *Facts) {
			k.Entry, k.Seen = nil, false
			k.Stats.Counts = map[string]int64{budget.PrefixLinks + "scope:nofollow": 7, budget.PrefixLinks + "scope:depth": 9, budget.PrefixLinks + "malformed": 80, budget.Pages: 3}
		}, AnswerMay, "unless a page leads to it or curtsy frontier add queues it; links that were not followed, this one perhaps among them: 9 (more links from the seeds than --depth allows), 7 (the page disallows following it by nofollow)", 0},
		{func(k *Facts) { k.Now = k.Now.Add(30 * time.Hour) }, AnswerMay, "that policy has expired", 0},
		{func(k *Facts) {
			k.OptOut = &optout.Hit{Entry: optout.Entry{Line: 3, Text: "a.test"}, File: "list"}
		}, AnswerOptedOut, "by line 3 of list (a.test)", -1},
		{func(k *Facts) { k.Scope = scope.Verdict{Rule: "trap:cycle", Timeless: true} }, AnswerOutOfScope, "out of scope: rule trap:cycle", -1},
		{func(k *Facts) { k.State, k.Rules = robots.State{}, gate.Rules{} }, AnswerUnknown, "http://a.test/robots.txt is requested first", 0},
		{func(k *Facts) { failed(k, robots.Exchange{Failure: "timeout"}) }, AnswerUnreachable, "is unavailable (no answer in time); it is requested again at", time.Minute},
		{func(k *Facts) {
			failed(k, robots.Exchange{Failure: "private address"})
			k.Host.Condition, k.Host.Reason = frontier.Retired, "see --allow-net"
		}, AnswerUnreachable, "; the host is retired for this run: see --allow-net", -1},
		{func(k *Facts) { k.Entry, k.Seen = nil, false }, AnswerMay, "the crawl refused it", 0},
		{func(k *Facts) { ruled(k, []byte("User-agent: *\nDisallow: /x\n")) }, AnswerDisallowed, "disallowed by line 2 of robots.txt: Disallow: /x", -1},
		{func(k *Facts) {
			k.Gate = gate.New(nil, gate.OurToken, robots.Draft1996)
			failed(k, robots.Exchange{Status: 403})
		}, AnswerDisallowed, "disallowed: restricted", -1},
		{closed(frontier.Failed, frontier.ReasonQuarantined), AnswerSetAside, "in quarantine", -1},
		{closed(frontier.Held, "trap:queries"), AnswerSetAside, "held by trap:queries", -1},
		{closed(frontier.Fetched, ""), AnswerDone, "done: fetched; robots.txt allows it", -1},
		{func(k *Facts) {
			k.Entry.Outcome, k.Entry.Reason, k.Found.Via = frontier.Fetched, "trap:copy", "http://a.test/first"
		}, AnswerDone, "done: fetched (the page is a copy of the one that links to it: http://a.test/first); robots.txt allows it", -1},
		{closed(frontier.Redirected, ""), AnswerDone, "done: redirected", -1},
		{closed(frontier.Gone, "status 404"), AnswerDone, "done: gone (status 404)", -1},
		{closed(frontier.Failed, "timeout"), AnswerDone, "done: failed (no answer in time)", -1},
		{closed(frontier.Dropped, frontier.ReasonOperator), AnswerDone, "done: dropped (operator)", -1},
		{closed(frontier.Disallowed, "disallow rule"), AnswerDone, "done: disallowed (disallow rule); robots.txt allows it", -1},
		{func(k *Facts) { k.Host.Condition, k.Host.Reason = frontier.Refused, "10 refusals" }, AnswerHost, "refused, until an operator opens it: 10 refusals", -1},
		{func(k *Facts) { k.Host.Condition = frontier.Retired }, AnswerHost, "retired for this run", -1},
		{func(k *Facts) { k.Host.Condition, k.Crawl = frontier.Retired, "stopped" }, AnswerMay, "due when the crawl continues", 0},
		{func(k *Facts) {
			k.Host.Hold = frontier.Hold{Act: frontier.Park, Reason: "by phone", Wait: time.Hour}
		}, AnswerHost, "parked by operator: by phone, until 2026-11-22T11", time.Hour},
		{func(k *Facts) { k.Host.Hold = frontier.Hold{Act: frontier.Drop} }, AnswerHost, "dropped by operator", -1},
		{func(k *Facts) { k.Settings.MaxPages, k.Stats.Counts = 5, map[string]int64{budget.Pages: 5} }, AnswerBudget, "--max-pages 5 is used up", -1},
		{func(k *Facts) { k.Settings.MaxPerHost, k.Memory.Pages = 2, 2 }, AnswerBudget, "--max-per-host 2", -1},
		{func(k *Facts) {
			k.Seen, k.Entry, k.Stats.Capped = false, nil, map[string]int64{frontier.ReasonCapCrawl: 3}
		}, AnswerBudget, "not queued: --max-urls is used up", -1},
		{func(k *Facts) { k.Settings.MaxPerDomain, k.Domain = 7, 7 }, AnswerBudget, "--max-per-domain 7 is used up", -1},
		{func(k *Facts) {
			k.Found = k.Candidate()
			k.Found.Tag, k.Settings.MaxPerTag, k.Stats.Counts = "news", 3, map[string]int64{budget.OfTag("news"): 3}
		}, AnswerBudget, "--max-per-tag 3 is used up", -1},
		{func(k *Facts) { k.Settings.MaxBytes, k.Stats.Counts = 5, map[string]int64{budget.Bytes: 4} }, AnswerMay, "due now", 0},
	} {
		e := explanationOf(t, c.change)
		said[e.Answer.Word] = true
		next := time.Duration(-1)
		if e.Answer.Next != nil {
			next = e.Answer.Next.Sub(e.Now)
		}
		if c.word == AnswerUnreachable && next > 0 { // a retry has its jitter
			next = time.Minute
		}
		if e.Answer.Word != c.word || !strings.Contains(e.Answer.Text, c.text) || next != c.next {
			t.Errorf("%q: %q, next in %v; want %q: %q, %v", e.Answer.Word, e.Answer.Text, next, c.word, c.text, c.next)
		}
	}
	assert.Len(t, said, len(Answers()), "words of the cases")
}

func TestExplain_NamesTheTrap(t *testing.T) {
	over := func(k *Facts) {
		k.Settings.Traps.Template = 3
		k.URL = parse(t, "http://a.test/p9")
		k.Found.URL = k.URL
		for range 900 { // all pages have one shape
			k.History.Turn(k.URL)
			k.History.Brought(k.URL, 1, k.Settings.Traps)
		}
	}
	e := explanationOf(t, over)
	if e.Answer.Word != AnswerSetAside || !slices.Contains(e.Traps, Rule{"trap:template", trapHolds}) || !slices.Contains(e.Traps, Rule{"trap:queries", scope.SaysNothing}) {
		t.Errorf("%+v %+v", e.Answer, e.Traps)
	}
	e = explanationOf(t, func(k *Facts) {
		over(k)
		k.Found.Kind = frontier.KindSeed
	})
	assert.Truef(t, e.Answer.Word == AnswerMay && slices.Contains(e.Traps, Rule{"trap:template", trapExempt}), "%+v %+v", e.Answer, e.Traps)
}

func TestExplainShowsEveryPolicyThatBinds(t *testing.T) {
	body := []byte("User-agent: curtsy\nDisallow: /\n\nUser-agent: robin\nAllow: /x\nDisallow: /\n")
	e := explanationOf(t, func(k *Facts) {
		k.Gate = gate.New(nil, "robin", robots.Std1994)
		ruled(k, body)
	})
	var who []string
	for _, p := range e.Robots.Policies {
		who = append(who, p.Token+" "+p.Standard)
	}
	want := []string{"robin rfc9309", "curtsy rfc9309", "robin std1994", "curtsy std1994"}
	assert.Equal(t, want, who)
	v := e.Robots.Verdict
	assert.Truef(t, !v.Allow && v.Token == "curtsy" && v.Standard == "rfc9309" && e.Answer.Word == AnswerDisallowed, "%+v %+v", v, e.Answer)
	p := e.Robots.Policies[0]
	assert.Truef(t, p.Allow && p.Named && p.Candidates[0].Line == 5 && len(p.Candidates) == 2, "%+v", p)
}

func TestExplainShowsWhatCanonicalisationChanged(t *testing.T) {
	for _, c := range []struct {
		written string
		want    []string
	}{
		{"http://a.test/x", []string{}},
		{"HTTP://A.test:80/./x?#f", []string{"HTTP://A.test:80/./x?#f becomes http://a.test/x?", "key: http://a.test/x? becomes http://a.test/x"}},
		{"http://u:p@a.test", []string{"http://u:p@a.test becomes http://a.test/"}},
		{"http://a.test/%7ex?%e4", []string{"key: http://a.test/%7ex?%e4 becomes http://a.test/~x?%E4"}},
	} {
		assert.Equal(t, c.want, explainURL(c.written, parse(t, c.written)).Changes, c.written)
	}
}

func TestExplainBoundsTheCandidates(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 500 {
		b.WriteString("Disallow: /" + strings.Repeat("*", i) + "x\n")
	}
	e := explanationOf(t, func(k *Facts) { ruled(k, []byte(b.String())) })
	if p := e.Robots.Policies[0]; len(p.Candidates) != maxCandidates || len(p.Candidates)+p.More != p.Rules || p.Rules < 100 {
		t.Errorf("%d candidates, %d more of %d rules", len(p.Candidates), p.More, p.Rules)
	}
}

func parse(t *testing.T, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	require.NoError(t, err)
	return u
}
