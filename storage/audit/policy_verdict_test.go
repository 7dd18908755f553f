package audit

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// Each of our crawls is bound by what names it, and by what names this crawler. Dot segments hide nothing, for servers
// resolve them (RFC 3986 6.2.2.3).
func TestAPageIsJudgedForEveryTokenAndEverySpelling(t *testing.T) {
	text := "User-agent: lantern\nDisallow: /l\n\nUser-agent: curtsy\nDisallow: /c\n\nUser-agent: *\nDisallow: /all\n"
	named := policyOurs
	named.Token = "moth"
	for _, c := range []struct {
		m         evidence.Measure
		url, want string
	}{
		{policyForeign, "/l", "disallowed"},
		{policyForeign, "/c", ""},
		{policyForeign, "/all", ""},
		{policyForeign, "/x/../l", "disallowed"},
		{policyOurs, "/l", "disallowed"},
		{policyOurs, "/c", "disallowed"},
		{named, "/l", ""},
		{named, "/all", "disallowed"},
		{named, "/c", "disallowed"},
	} {
		a := newArchive(t, c.m)
		a.hears(0, "a.test/robots.txt", 200, text)
		x := a.got(1, "a.test/", 200, "")
		x.Exchange.URL, x.Exchange.Target = "http://a.test"+c.url, c.url
		found := a.judge(x)
		if got := policyCodes(found); got != c.want {
			t.Errorf("%s: %q, want %q", c.url, got, c.want)
		}
		for _, f := range found.Findings {
			if !strings.Contains(f.Required, `"Disallow: `) || !strings.Contains(f.Required, "urn:a.test/robots.txt") {
				t.Errorf("%s: neither rule nor record: %s", c.url, f.Required)
			}
		}
	}
}

// What a crawl of ours tells of its verdict follows from the text that held, or is found.
func TestTheVerdictThatACrawlTellsIsRecomputed(t *testing.T) {
	right := storage.Line{Decision: storage.DecisionAllow, RobotsLine: 3, RobotsRule: "Allow: /private/open",
		RobotsGroup: "*", RunnerUp: "Disallow: /private", Standard: "rfc9309"}
	for name, c := range map[string]struct {
		spoil func(*storage.Line)
		found string
	}{
		"right":          {func(*storage.Line) {}, ""},
		"other text":     {func(l *storage.Line) { l.RobotsSHA256 = strings.Repeat("0", 64) }, "verdict"},
		"no text":        {func(l *storage.Line) { l.RobotsSHA256 = "" }, "verdict"},
		"other line":     {func(l *storage.Line) { l.RobotsLine = 2 }, "verdict"},
		"other rule":     {func(l *storage.Line) { l.RobotsRule = "Allow: /" }, "verdict"},
		"other runner":   {func(l *storage.Line) { l.RunnerUp = "Disallow: /" }, "verdict"},
		"other document": {func(l *storage.Line) { l.Standard = "draft1996" }, "verdict"},
		"no allowance":   {func(l *storage.Line) { *l = storage.Line{Decision: storage.DecisionRobots} }, ""},
	} {
		a := newArchive(t, policyOurs)
		a.hears(0, "a.test/robots.txt", 200, forbids+"Allow: /private/open\n")
		sha := a.host("http://a.test").policy.text.SHA256
		x := a.got(1, "a.test/private/open", 200, "")
		line := right
		line.RobotsSHA256 = hex.EncodeToString(sha[:])
		c.spoil(&line)
		x.Exchange.Line = &line
		x.Exchange.LineAt = finding.Place{File: "1.warc.gz", Offset: 77}
		found := a.judge(x)
		if got := policyCodes(found); got != c.found {
			t.Errorf("%s: %q, want %q: %+v", name, got, c.found, found)
		}
		if len(found.Findings) > 0 && found.Findings[0].Offset != 77 {
			t.Errorf("%s: the finding does not stand where the line is", name)
		}
	}
}

// A refusal is held to the text that it names: the one that holds, the one before it, or any in the files.
func TestARefusalIsRecomputedFromTheTextThatItNames(t *testing.T) {
	a := newArchive(t, policyOurs)
	for _, text := range []string{"\n\n" + forbids, "\n" + forbids, forbids} {
		a.hears(0, "a.test/robots.txt", 200, text)
	}
	shas := map[string]string{"unknown": strings.Repeat("0", 64), "no digest": "zz"}
	for name, text := range map[string]string{"oldest": "\n\n" + forbids, "older": "\n" + forbids, "valid": forbids} {
		at, err := a.texts.Put([]byte(text))
		must(t, err)
		shas[name] = hex.EncodeToString(at.SHA256[:])
	}
	for _, c := range []struct {
		text  string
		line  int
		rule  string
		found string
	}{
		{"valid", 2, "Disallow: /private", ""},
		{"older", 3, "Disallow: /private", ""},
		{"oldest", 4, "Disallow: /private", ""},
		{"valid", 3, "Disallow: /private", "verdict"},
		{"older", 2, "Disallow: /private", "verdict"},
		{"valid", 2, "Disallow: /", "verdict"},
		{"unknown", 2, "Disallow: /private", "verdict?"},
		{"no digest", 2, "Disallow: /private", "verdict?"},
		{"unknown", 0, "", ""}, // full disallow: there is no line to compare
	} {
		l := &storage.Line{URL: "http://a.test/private", RobotsSHA256: shas[c.text], RobotsLine: c.line,
			RobotsRule: c.rule, RobotsGroup: "*"}
		p, err := evidence.ParseURL(l.URL)
		must(t, err)
		found, err := a.j.Refusal(l, a.host("http://a.test"), p, finding.Place{}, policyOurs)
		if got := policyCodes(found); got != c.found || err != nil {
			t.Errorf("%+v: %q, error %v: %+v", c, got, err, found)
		}
	}
}

// A record without its exchange does not say how it was had; that the archive holds what is forbidden is a violation
// all the same.
func TestARecordWithoutItsExchangeIsHeldToTheRules(t *testing.T) {
	for _, c := range []struct{ kind, url, want string }{
		{"resource", "a.test/private", "disallowed"},
		{"conversion", "a.test/private", "disallowed?"}, // made at some time, of what an older text may have allowed
		{"resource", "a.test/x", "gap?"},
		{"response", "a.test/robots.txt", "robots-missing?"},
	} {
		a := newArchive(t, policyForeign)
		a.hears(0, "a.test/robots.txt", 200, "")
		a.hears(1, "a.test/robots.txt", 200, forbids)
		x := a.got(2, c.url, 200, "")
		x.Alone = c.kind
		found, err := a.j.Alone(x, a.host("http://a.test"), policyForeign)
		if got := policyCodes(found); got != c.want || err != nil {
			t.Errorf("%s of %s: %q, error %v", c.kind, c.url, got, err)
		}
	}
}

func TestThePauseThatRobotsTxtAsksFor(t *testing.T) {
	const text = "User-agent: lantern\nCrawl-delay: 3\nDisallow: /1\n" +
		"User-agent: curtsy\nCrawl-delay: 7\nDisallow: /2\n" +
		"User-agent: *\nCrawl-delay: 99999999999999\n" // more nanoseconds than a Duration holds
	for agent, want := range map[string]time.Duration{"lantern/1": 3 * time.Second, "moth/1": 365 * day} {
		a := newArchive(t, policyForeign)
		host := a.hears(0, "a.test/robots.txt", 200, text)
		if delay, rate := a.j.Asks(host, policyForeign, agent); delay != want || rate != 0 {
			t.Errorf("%s: %v, %v; want %v", agent, delay, rate, want)
		}
	}
	a := newArchive(t, policyOurs)
	host := a.hears(0, "a.test/robots.txt", 200, text)
	if delay, _ := a.j.Asks(host, policyOurs, "lantern/1"); delay != 7*time.Second {
		t.Errorf("ours: %v, want the longer one", delay)
	}
	if delay, rate := a.j.Asks(a.hears(1, "a.test/robots.txt", 404, ""), policyOurs, "lantern/1"); delay+rate != 0 {
		t.Errorf("without a text: %v, %v", delay, rate)
	}
}

// A kill may have made a crawl forget what its last exchanges brought, and no others.
func TestAKillForgetsOnlyWhatWasJustLearned(t *testing.T) {
	for heard := 1; heard <= evidence.AtKill+4; heard++ {
		a := newArchive(t, policyOurs)
		host := a.hears(0, "a.test/robots.txt", 200, forbids)
		for range heard {
			host.Heard(false)
		}
		host.policy.used = true
		host.Killed()
		if host.Forgotten() != (heard <= evidence.AtKill) || host.policy.used != (heard > evidence.AtKill+1) {
			t.Errorf("after %d exchanges: forgotten %v, used %v", heard, host.Forgotten(), host.policy.used)
		}
		if host.Heard(true); host.Forgotten() != (heard <= evidence.AtKill) {
			t.Errorf("after %d exchanges: a robots.txt alone does not use what was forgotten", heard)
		}
		if host.Heard(false); host.Forgotten() {
			t.Errorf("after %d exchanges: a page was asked for since", heard)
		}
	}
}

func TestAClockThatIsSetBackKeepsTheLifeOfRobotsTxt(t *testing.T) {
	for to, shift := range map[time.Duration]time.Duration{-time.Hour: -time.Hour, time.Hour: 0} {
		a := newArchive(t, policyOurs)
		host := a.hears(0, "a.test/robots.txt", 200, forbids)
		host.SetBack(noon.Add(to))
		if p := host.policy; !p.since.Equal(noon.Add(shift)) || p.expires.Sub(p.since) != day {
			t.Errorf("set to %v: since %v, until %v", to, p.since, p.expires)
		}
	}
	if (&policyHost{}).Kind() != "not requested" || !(&policyHost{}).Unasked() {
		t.Error("the zero Host was asked")
	}
}
