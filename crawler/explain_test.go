package crawler

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/optout"
	"curtsy/crawler/scope"
	"curtsy/crawler/totals"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
)

// The pace of an explanation is that of the crawl, whoever asks for how much.
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
		k := &facts{floor: []time.Duration{0, Floor, 3 * time.Second}[rng.IntN(3)], own: rng.IntN(3) == 0, micros: 1000}
		k.rules.Book = robots.Terms{}.Parse([]byte(body))
		for range rng.IntN(8) {
			k.memory.Hear(time.Duration(rng.IntN(9_000_000)) * time.Microsecond)
		}
		if rng.IntN(2) == 0 {
			k.memory.Spaced, k.memory.SpacedUntil = uint64(rng.IntN(5_000_000)), int64(rng.IntN(2000))
		}
		if rng.IntN(2) == 0 {
			by := []storage.PaceBy{storage.ByCrawlDelay, storage.ByRequestRate}[rng.IntN(2)]
			k.memory.Hearsay.Hear(host.Pace{Pause: time.Duration(rng.IntN(50_000)) * time.Millisecond, By: by}, k.now)
		}
		got, want := k.explainPace(Config{}), host.Terms{Floor: k.floor, Own: k.own, Rules: k.rules.Book}.Pace(&k.memory, k.micros)
		if got.By != want.By || time.Duration(got.Seconds*1e9).Round(time.Microsecond) != want.Pause.Round(time.Microsecond) {
			t.Fatalf("%+v, the pace that is kept is %+v", got, want)
		}
		won[string(got.By)]++
	}
	if len(won) != 5 {
		t.Errorf("who won: %v", won)
	}
}

// explanationOf explains a URL that is in scope, allowed and queued, unless change does something to it.
func explanationOf(t *testing.T, change func(*facts, *Config)) Explanation {
	t.Helper()
	u := parse(t, "http://a.test/x")
	body := []byte("User-agent: *\nDisallow: /no\n")
	k := &facts{Question: Question{URL: u, Written: u.String(), Found: frontier.Candidate{URL: u, Kind: frontier.KindLink, Depth: 1}}, crawl: "running",
		now: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), seen: true, known: true, floor: Floor, gate: gate.New(nil, gate.OurToken, robots.RFC9309)}
	k.entry = &frontier.Entry{Candidate: k.Found}
	k.scope, k.asked = scope.Verdict{In: true, Rule: "scope:host"}, []scope.Opinion{{Rule: "scope:seed", Says: scope.SaysNothing}, {Rule: "scope:host", Says: scope.SaysIn}}
	ruled(k, body)
	cfg := Config{}.withDefaults()
	change(k, &cfg)
	return explain(cfg, k)
}

// ruled gives the host a robots.txt, had an hour ago.
func ruled(k *facts, body []byte) {
	ex := robots.Exchange{Status: 200, Body: body}
	k.state, _ = k.gate.Terms.Next(robots.State{}, k.URL.Authority().Origin(), ex, k.now.Add(-time.Hour))
	digest, _ := k.state.Body()
	k.rules = gate.Rules{Book: k.gate.Learn(digest, body)}
}

// failed gives the host an answer for robots.txt without a body.
func failed(k *facts, ex robots.Exchange) {
	k.state, _ = k.gate.Terms.Next(robots.State{}, k.URL.Authority().Origin(), ex, k.now.Add(-time.Second))
	k.rules = gate.Rules{}
}

func closed(o frontier.Outcome, reason string) func(*facts, *Config) {
	return func(k *facts, _ *Config) { k.entry.Outcome, k.entry.Reason = o, reason }
}

func TestExplainAnswersEveryCase(t *testing.T) {
	said := map[string]bool{}
	for _, c := range []struct {
		change     func(*facts, *Config)
		word, text string
		next       time.Duration // from now; -1 for none
	}{
		{func(*facts, *Config) {}, AnswerMay, "may be fetched; it is due now", 0},
		{func(k *facts, _ *Config) { ruled(k, []byte("User-agent: *\nAllow: /x\nDisallow: /\n")) }, AnswerMay, "may be fetched by line 2", 0},
		{func(k *facts, _ *Config) { failed(k, robots.Exchange{Status: 404}) }, AnswerMay, "may be fetched", 0},
		{func(k *facts, _ *Config) { k.host.Wait = 3 * time.Second }, AnswerMay, "not before 2026-11-22T10:00:03.000Z (floor)", 3 * time.Second},
		{func(k *facts, _ *Config) {
			k.host.Condition, k.host.Reason, k.host.Wait = frontier.Parked, "status 503", time.Minute
		}, AnswerMay, "not before 2026-11-22T10:01:00.000Z (parked: status 503)", time.Minute},
		{func(k *facts, _ *Config) { k.memory.LastEnd = k.now.Add(-400 * time.Millisecond).UnixMicro() }, AnswerMay, "10:00:00.600Z (floor)", 600 * time.Millisecond},
		{func(k *facts, _ *Config) {
			k.memory.LastEnd, k.memory.Due = k.now.UnixMicro(), host.Pace{Pause: 2 * time.Minute, By: storage.ByRetryAfter}
		}, AnswerMay, "10:02:00.000Z (retry-after)", 2 * time.Minute},
		{func(k *facts, _ *Config) {
			k.entry.Deferred, k.entry.Attempts, k.entry.Wait, k.entry.Reason = true, 1, time.Minute, "timeout"
		}, AnswerMay, "10:01:00.000Z (no answer in time)", time.Minute},
		{func(k *facts, _ *Config) { k.entry, k.seen, k.Found = nil, false, frontier.Candidate{} }, AnswerMay, "no page has led to it yet", 0},
		{func(k *facts, _ *Config) {
			k.entry, k.seen, k.stats.Counts = nil, false, totals.Generation{Number: 3}.Counts()
		}, AnswerMay, "generation 3 has not met it so far", 0},
		{func(k *facts, _ *Config) { k.entry = nil }, AnswerMay, "it was refused when it was met, or is forgotten; it is not queued", 0},
		{func(k *facts, _ *Config) {
			k.entry, k.seen = nil, false
			k.stats.Counts = map[string]int64{totals.PrefixLinks + "scope:nofollow": 7, totals.PrefixLinks + "scope:depth": 9, totals.Pages: 3}
		}, AnswerMay, "unless a page leads to it or curtsy frontier add queues it; links that were not followed, this one perhaps among them: 9 by scope:depth, 7 by scope:nofollow", 0},
		{func(k *facts, _ *Config) { k.now = k.now.Add(30 * time.Hour) }, AnswerMay, "that policy has expired", 0},
		{func(k *facts, _ *Config) {
			k.optOut = &optout.Hit{Entry: optout.Entry{Line: 3, Text: "a.test"}, File: "list"}
		}, AnswerOptedOut, "by line 3 of list (a.test)", -1},
		{func(k *facts, _ *Config) { k.scope = scope.Verdict{Rule: "trap:cycle", Timeless: true} }, AnswerOutOfScope, "out of scope: rule trap:cycle", -1},
		{func(k *facts, _ *Config) { k.state, k.rules = robots.State{}, gate.Rules{} }, AnswerUnknown, "http://a.test/robots.txt is asked for first", 0},
		{func(k *facts, _ *Config) { failed(k, robots.Exchange{Failure: "timeout"}) }, AnswerUnreachable, "cannot be had (no answer in time); it is asked for again at", time.Minute},
		{func(k *facts, _ *Config) {
			failed(k, robots.Exchange{Failure: "private address"})
			k.host.Condition, k.host.Reason = frontier.Retired, "see --allow-net"
		}, AnswerUnreachable, "; the host is retired for this run: see --allow-net", -1},
		{func(k *facts, _ *Config) { k.entry, k.seen = nil, false }, AnswerMay, "it was refused when it was met", 0},
		{func(k *facts, _ *Config) { ruled(k, []byte("User-agent: *\nDisallow: /x\n")) }, AnswerDisallowed, "disallowed by line 2 of robots.txt: Disallow: /x", -1},
		{func(k *facts, _ *Config) {
			k.gate = gate.New(nil, gate.OurToken, robots.Draft1996)
			failed(k, robots.Exchange{Status: 403})
		}, AnswerDisallowed, "disallowed: restricted", -1},
		{closed(frontier.Failed, frontier.ReasonQuarantined), AnswerSetAside, "in quarantine", -1},
		{closed(frontier.Held, "trap:queries"), AnswerSetAside, "held by trap:queries", -1},
		{closed(frontier.Fetched, ""), AnswerDone, "done: fetched; robots.txt allows it", -1},
		{closed(frontier.Redirected, ""), AnswerDone, "done: redirected", -1},
		{closed(frontier.Gone, "status 404"), AnswerDone, "done: gone (status 404)", -1},
		{closed(frontier.Failed, "timeout"), AnswerDone, "done: failed (no answer in time)", -1},
		{closed(frontier.Dropped, frontier.ReasonOperator), AnswerDone, "done: dropped (operator)", -1},
		{closed(frontier.Disallowed, "disallow rule"), AnswerDone, "done: disallowed (disallow rule); robots.txt allows it", -1},
		{func(k *facts, _ *Config) { k.host.Condition, k.host.Reason = frontier.Refused, "10 refusals" }, AnswerHost, "refused, until an operator opens it: 10 refusals", -1},
		{func(k *facts, _ *Config) { k.host.Condition = frontier.Retired }, AnswerHost, "retired for this run", -1},
		{func(k *facts, _ *Config) { k.host.Condition, k.crawl = frontier.Retired, "stopped" }, AnswerMay, "due when the crawl goes on", 0},
		{func(k *facts, _ *Config) {
			k.host.Hold = frontier.Hold{Act: frontier.Park, Reason: "by phone", Wait: time.Hour}
		}, AnswerHost, "parked by operator: by phone, until 2026-11-22T11", time.Hour},
		{func(k *facts, _ *Config) { k.host.Hold = frontier.Hold{Act: frontier.Drop} }, AnswerHost, "dropped by operator", -1},
		{func(k *facts, c *Config) { c.MaxPages, k.stats.Counts = 5, map[string]int64{totals.Pages: 5} }, AnswerBudget, "--max-pages 5 is used up", -1},
		{func(k *facts, c *Config) { c.MaxPerHost, k.memory.Pages = 2, 2 }, AnswerBudget, "--max-per-host 2", -1},
		{func(k *facts, c *Config) { c.MaxBytes, k.stats.Counts = 5, map[string]int64{totals.Bytes: 4} }, AnswerMay, "due now", 0},
	} {
		e := explanationOf(t, c.change)
		said[e.Answer.Word] = true
		next := time.Duration(-1)
		if e.Answer.Next != nil {
			next = e.Answer.Next.Sub(e.Now)
		}
		if c.word == AnswerUnreachable { // a retry has its jitter
			if next > 0 {
				next = time.Minute
			}
		}
		if e.Answer.Word != c.word || !strings.Contains(e.Answer.Text, c.text) || next != c.next {
			t.Errorf("%q: %q, next in %v; want %q: %q, %v", e.Answer.Word, e.Answer.Text, next, c.word, c.text, c.next)
		}
	}
	if len(said) != len(Answers()) {
		t.Errorf("the cases say %v of %v", said, Answers())
	}
}

// A trap that would hold the URL when its turn comes is told before, but not of what is exempt.
func TestExplainTellsWhichTrapHolds(t *testing.T) {
	over := func(k *facts, cfg *Config) {
		cfg.Traps.Template = 3
		k.URL = parse(t, "http://a.test/p9")
		k.Found.URL = k.URL
		for range 900 { // nothing new comes
			k.history.Turn(k.URL)
			k.history.Brought(k.URL, 1, cfg.Traps)
		}
	}
	e := explanationOf(t, over)
	if e.Answer.Word != AnswerSetAside || !slices.Contains(e.Traps, ExplainedRule{"trap:template", trapHolds}) || !slices.Contains(e.Traps, ExplainedRule{"trap:queries", scope.SaysNothing}) {
		t.Errorf("%+v %+v", e.Answer, e.Traps)
	}
	e = explanationOf(t, func(k *facts, cfg *Config) {
		over(k, cfg)
		k.Found.Kind = frontier.KindSeed
	})
	if e.Answer.Word != AnswerMay || !slices.Contains(e.Traps, ExplainedRule{"trap:template", trapExempt}) {
		t.Errorf("%+v %+v", e.Answer, e.Traps)
	}
}

// By an older standard, and under another name, every document and every token has its say.
func TestExplainShowsEveryPolicyThatBinds(t *testing.T) {
	body := []byte("User-agent: curtsy\nDisallow: /\n\nUser-agent: robin\nAllow: /x\nDisallow: /\n")
	e := explanationOf(t, func(k *facts, _ *Config) {
		k.gate = gate.New(nil, "robin", robots.Std1994)
		ruled(k, body)
	})
	var who []string
	for _, p := range e.Robots.Policies {
		who = append(who, p.Token+" "+p.Standard)
	}
	if want := []string{"robin rfc9309", "curtsy rfc9309", "robin std1994", "curtsy std1994"}; !slices.Equal(who, want) {
		t.Errorf("%q, want %q", who, want)
	}
	if v := e.Robots.Verdict; v.Allow || v.Token != "curtsy" || v.Standard != "rfc9309" || e.Answer.Word != AnswerDisallowed {
		t.Errorf("%+v %+v", v, e.Answer)
	}
	if p := e.Robots.Policies[0]; !p.Allow || !p.Named || p.Candidates[0].Line != 5 || len(p.Candidates) != 2 {
		t.Errorf("%+v", p)
	}
}

func TestExplainNamesWhatCanonicalisationChanged(t *testing.T) {
	for _, c := range []struct {
		written string
		want    []string
	}{
		{"http://a.test/x", []string{}},
		{"HTTP://A.test:80/./x?#f", []string{"scheme HTTP becomes http", "host A.test:80 becomes a.test", "path /./x becomes /x", "fragment #f dropped", "key: query ? dropped"}},
		{"http://u:p@a.test", []string{"user u:p dropped", "path / added"}},
		{"http://a.test/%7ex?%e4", []string{"key: path /%7ex becomes /~x", "key: query ?%e4 becomes ?%E4"}},
	} {
		if got := explainURL(c.written, parse(t, c.written)).Changes; !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.written, got, c.want)
		}
	}
}

// A hostile robots.txt has thousands of rules that match: the explanation stays small and says how many there are.
func TestExplainBoundsTheCandidates(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 500 {
		b.WriteString("Disallow: /" + strings.Repeat("*", i) + "x\n")
	}
	e := explanationOf(t, func(k *facts, _ *Config) { ruled(k, []byte(b.String())) })
	if p := e.Robots.Policies[0]; len(p.Candidates) != maxCandidates || len(p.Candidates)+p.More != p.Rules || p.Rules < 100 {
		t.Errorf("%d candidates, %d more of %d rules", len(p.Candidates), p.More, p.Rules)
	}
}

// A crawl and one that is stopped say the same of every URL.
func TestARunningAndAStoppedCrawlExplainAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 6)
		site.Robots = crawltest.Robots{Body: "User-agent: *\nDisallow: /p3\nCrawl-delay: 2\n"}
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.cfg.MaxPages = 3
		w.run()
		c, err := New(t.Context(), w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range []string{"http://a.test/", "http://a.test/p1.html", "http://a.test/p3.html", "http://a.test/new", "http://b.test/"} {
			q := Question{URL: parse(t, raw)}
			live, err := c.Explain(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			stopped, err := ExplainStopped(t.Context(), w.cfg, q)
			if err != nil {
				t.Fatal(err)
			}
			if live.Crawl != "running" || stopped.Crawl == "running" {
				t.Errorf("%s: %s and %s", raw, live.Crawl, stopped.Crawl)
			}
			stopped.Crawl = live.Crawl
			stopped.Conclude()
			if !reflect.DeepEqual(live, stopped) {
				t.Errorf("%s: running\n%+v\nstopped\n%+v", raw, live, stopped)
			}
		}
	})
}

func TestTheControlInterfaceExplains(t *testing.T) {
	dir, _ := served(t)
	r, err := Connect(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	u := parse(t, "http://a.test/x")
	e, err := r.Explain(t.Context(), Question{URL: u, Written: "http://A.test/x"})
	if err != nil || e.Answer.Word != AnswerUnknown || e.URL.Written != "http://A.test/x" || !e.State.Assumed || e.Crawl != "running" {
		t.Errorf("%+v, %v", e, err)
	}
	found := frontier.Candidate{URL: u, Kind: frontier.KindEmbed, Via: "http://a.test/", Depth: 4, Embeds: 1, Seed: "http://a.test/", Tag: "t"}
	e, err = r.Explain(t.Context(), Question{URL: u, Found: found})
	if s := e.State; err != nil || s.Assumed || s.Kind != "embed" || s.Via != found.Via || s.Depth != 4 || s.Embeds != 1 || s.Seed != found.Seed || s.Tag != "t" {
		t.Errorf("%+v, %v", e.State, err)
	}
	for _, path := range []string{"/explain", "/explain?url=x", "/explain?url=http://a.test/&kind=kin", "/explain?url=http://a.test/&kind=link&depth=-1"} {
		if err := r.call(t.Context(), "GET", path, nil, &e); !BadOrder(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
