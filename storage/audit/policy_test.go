package audit

import (
	"testing"
	"time"

	"curtsy/storage/audit/evidence"
)

// RFC 9309 2.3.1 says what each answer for robots.txt means; the promises of this crawler and the draft of 1996 bind
// more.
func TestAnAnswerForRobotsTxtBindsByItsStatus(t *testing.T) {
	for _, c := range []struct {
		m          evidence.Measure
		status     int
		kind, page string // of the host, and of a page that the text forbids
	}{
		{policyForeign, 200, "rules", "disallowed"},
		{policyForeign, 404, "none", ""},
		{policyForeign, 403, "none", ""},
		{policyForeign, 429, "none", ""},
		{strict, 429, "unreachable", "robots-unreachable"},
		{policyOurs, 429, "unreachable", "robots-unreachable"},
		{policyOurs, 408, "unreachable", "robots-unreachable"},
		{policyOurs, 425, "unreachable", "robots-unreachable"},
		{policyOurs, 401, "none", ""},
		{draft, 401, "closed", "disallowed"},
		{draft, 403, "closed", "disallowed"},
		{draft, 404, "none", ""},
		{std1994, 403, "none", ""},
		{policyForeign, 500, "unreachable", "robots-unreachable"},
		{policyForeign, 0, "unreachable", "robots-unreachable"},
		{policyForeign, 600, "unreachable", "robots-unreachable"},
		{policyForeign, 304, "unknown", "disallowed?"},
		{policyOurs, 304, "unreachable", "robots-unreachable"},
		{policyForeign, 206, "not requested", "robots-missing"},
		{policyOurs, 206, "unreachable", "robots-unreachable"},
	} {
		a := newArchive(t, c.m)
		host := a.hears(0, "a.test/robots.txt", c.status, forbids)
		if page := a.asks(time.Second, "a.test/private"); host.Kind() != c.kind || page != c.page {
			t.Errorf("status %d: %s, page %q; want %s, %q", c.status, host.Kind(), page, c.kind, c.page)
		}
	}
}

func TestRobotsTxtMustBeAskedForFirstOfEachAuthority(t *testing.T) {
	a := newArchive(t, policyOurs)
	a.hears(0, "a.test/robots.txt", 404, "")
	for url, want := range map[string]string{
		"a.test/x":               "",
		"a.test:8080/x":          "robots-missing",
		"www.a.test/x":           "robots-missing",
		"b.test/x/../robots.txt": "robots-missing", // to the byte: this is a page
		"c.test/robots.txt?":     "robots-missing",
	} {
		if got := a.asks(time.Second, url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	head := a.got(0, "d.test/robots.txt", 200, forbids)
	head.Exchange.Method = "HEAD"
	a.judge(head)
	if got := a.asks(time.Second, "d.test/x"); got != "robots-missing" {
		t.Errorf("after HEAD: %q", got)
	}
}

// A page of another crawler's archive that stands behind robots.txt, but is dated before it, was asked for before.
func TestAPageDatedBeforeTheFirstRobotsTxtWasAskedForBeforeIt(t *testing.T) {
	for after, want := range map[time.Duration]string{0: "", -2 * time.Second: "", -3 * time.Second: "robots-missing"} {
		a := newArchive(t, policyForeign)
		a.hears(0, "a.test/robots.txt", 200, forbids)
		if got := a.asks(after, "a.test/x"); got != want {
			t.Errorf("%v: %q, want %q", after, got, want)
		}
	}
	a := newArchive(t, policyForeign) // whose records do not stand in the order of their dates
	a.hears(0, "a.test/robots.txt", 200, forbids)
	a.hears(-time.Hour, "a.test/robots.txt", 200, forbids)
	if got := a.asks(-time.Minute, "a.test/x"); got != "" {
		t.Errorf("behind the earlier of two: %q", got)
	}
}

// RFC 9309 2.4: 24 h at most. A minute is left for what lies between a verdict and its request.
func TestRobotsTxtHoldsForADayAndNoLonger(t *testing.T) {
	for _, m := range []evidence.Measure{policyForeign, policyOurs} {
		for _, status := range []int{200, 404} {
			a := newArchive(t, m)
			a.hears(0, "a.test/robots.txt", status, forbids)
			last := day + grace
			for _, c := range []struct {
				after time.Duration
				want  string
			}{{time.Second, ""}, {last, ""}, {last + 1, "robots-expired"}} {
				if got := a.asks(c.after, "a.test/x"); got != c.want {
					t.Errorf("status %d, after %v: %q, want %q", status, c.after, got, c.want)
				}
			}
			a.hears(last+2, "a.test/robots.txt", status, forbids)
			if got := a.asks(2*last, "a.test/x"); got != "" {
				t.Errorf("status %d, asked for again: %q", status, got)
			}
		}
	}
}

// The promise of politeness rule 4: fields of freshness shorten the day, down to five minutes, and never lengthen it.
func TestFieldsOfFreshnessShortenTheDay(t *testing.T) {
	at := func(d time.Duration) string { return noon.Add(d).Format("Mon, 02 Jan 2006 15:04:05 GMT") }
	for _, c := range []struct {
		control            []string
		age, date, expires string
		want               time.Duration
	}{
		{nil, "", "", "", day},
		{[]string{"public"}, "", "", "", day},
		{[]string{"max-age=3600"}, "", "", "", time.Hour},
		{[]string{"max-age=3600"}, "600", "", "", 50 * time.Minute},
		{[]string{"max-age=3600"}, "999999", "", "", minLife},
		{[]string{`PUBLIC, Max-Age="3600"`}, "", "", "", time.Hour},
		{[]string{"max-age=7200", "x, max-age=3600", "max-age=9000"}, "", "", "", time.Hour},
		{[]string{"max-age=0"}, "", "", "", minLife},
		{[]string{"max-age=3600, no-store"}, "", "", "", minLife},
		{[]string{"no-cache"}, "", "", at(time.Hour), minLife},
		{[]string{"max-age=31536000"}, "", "", "", day},
		{nil, "", at(0), at(2 * time.Hour), 2 * time.Hour},
		{nil, "", at(-time.Hour), at(time.Hour), 2 * time.Hour}, // by the server's own clock
		{nil, "", "", at(2 * time.Hour), 2 * time.Hour},
		{nil, "", "", "0", minLife}, // RFC 9111 5.3: what is no date is past
		{[]string{"max-age=3600"}, "", at(0), at(9 * time.Hour), time.Hour},
	} {
		x := &evidence.Joined{}
		x.Answer.CacheControl, x.Answer.Age.Value = c.control, c.age
		x.Answer.Date.Value, x.Answer.Expires.Value = c.date, c.expires
		a := newArchive(t, policyOurs)
		a.j.m = policyOurs
		if got := a.j.life(x, noon); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		if a.j.m = policyForeign; a.j.life(x, noon) != day {
			t.Errorf("%+v: RFC 9309 does not ask it of others", c)
		}
	}
}

// What was just learned is used once, however short its life.
func TestAShortLifeIsUsedOnceAndThenHolds(t *testing.T) {
	a := newArchive(t, policyOurs)
	x := a.got(0, "a.test/robots.txt", 200, forbids)
	x.Answer.CacheControl = []string{"max-age=0"}
	a.judge(x)
	for i, want := range []string{"", "robots-expired"} {
		if got := a.asks(time.Hour+time.Duration(i), "a.test/x"); got != want {
			t.Errorf("page %d: %q, want %q", i, got, want)
		}
	}
}

// RFC 9309 2.4 lets a text be used for longer while robots.txt cannot be reached; this crawler goes by it until it
// expires, and no longer.
func TestAFailureLeavesTheTextThatHolds(t *testing.T) {
	for _, c := range []struct {
		name string
		m    evidence.Measure
		at   time.Duration // of the failure
		kind string
		ends time.Duration // after noon
	}{
		{"ours, before its end", policyOurs, time.Hour, "rules", day},
		{"ours, at its end", policyOurs, day, "unreachable", 0},
		{"others", policyForeign, 2 * day, "rules", 32 * day},
	} {
		a := newArchive(t, c.m)
		a.hears(0, "a.test/robots.txt", 200, forbids)
		host := a.hears(c.at, "a.test/robots.txt", 503, "")
		if host.Kind() != c.kind || c.ends > 0 && !host.policy.expires.Equal(noon.Add(c.ends)) {
			t.Errorf("%s: %s until %v", c.name, host.Kind(), host.policy.expires)
		}
	}
	a := newArchive(t, policyOurs)
	a.hears(0, "a.test/robots.txt", 404, "")
	if host := a.hears(1, "a.test/robots.txt", 503, ""); host.Kind() != "unreachable" {
		t.Errorf("after 404, which is no text: %s", host.Kind())
	}
}

// Behind a step of the clock a crawl of ours takes a text from before it for expired until it has it anew: a failure leaves nothing
// of it. Past its own date again it is as old as that says.
func TestAFailureBehindAStepOfTheClockEndsTheText(t *testing.T) {
	for at, want := range map[time.Duration]string{time.Hour + time.Minute: "unreachable", 2*time.Hour + time.Minute: "rules"} {
		a := newArchive(t, policyOurs)
		a.hears(2*time.Hour, "a.test/robots.txt", 200, forbids).SetBack(noon.Add(time.Hour))
		if host := a.hears(at, "a.test/robots.txt", 503, ""); host.Kind() != want {
			t.Errorf("503 after %v: %s, want %s", at, host.Kind(), want)
		}
	}
}

func TestNotModifiedRenewsTheTextAtHand(t *testing.T) {
	a := newArchive(t, policyOurs)
	a.hears(0, "a.test/robots.txt", 200, forbids)
	a.hears(day, "a.test/robots.txt", 304, "")
	if got := a.asks(2*day, "a.test/private"); got != "disallowed" {
		t.Errorf("%q", got)
	}
	if host := a.hears(2*day, "a.test/robots.txt", 503, ""); host.Kind() != "unreachable" {
		t.Errorf("503 after a day: %s", host.Kind())
	}
	a.hears(2*day+1, "a.test/robots.txt", 304, "") // RFC 9111 4.3.4: an outage leaves the stored response
	if got := a.asks(2*day+2, "a.test/private"); got != "disallowed" {
		t.Errorf("304 after an outage: %q", got)
	}
	a.hears(2*day, "a.test/robots.txt", 404, "")
	if host := a.hears(2*day+1, "a.test/robots.txt", 304, ""); host.Kind() != "unreachable" {
		t.Errorf("304 after 404: %s", host.Kind())
	}
}

// A text that is not whole, or not there, is never taken for an empty one, which would allow everything.
func TestATextThatIsNotThereAllowsNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		m     evidence.Measure
		spoil func(*evidence.Joined)
		kind  string
	}{
		{"connection lost", policyForeign, func(x *evidence.Joined) { x.Exchange.Cut = "disconnect" }, "unreachable"},
		{"out of time", policyForeign, func(x *evidence.Joined) { x.Exchange.Cut = "time" }, "unreachable"},
		{"cut at its length", policyForeign, func(x *evidence.Joined) { x.Exchange.Cut = "length" }, "unknown"},
		{"cut at its length, ours", policyOurs, func(x *evidence.Joined) { x.Exchange.Cut = "length" }, "rules"},
		{"breaks HTTP", policyOurs, func(x *evidence.Joined) { x.Exchange.Cut = evidence.CutUnread }, "unreachable"},
		{"shorter than it says", policyForeign, func(x *evidence.Joined) { x.Incomplete = "why" }, "unreachable"},
		{"left out", policyForeign, func(x *evidence.Joined) { x.Incomplete, x.Text.Length = "why", 0 }, "unknown"},
		{"coding", policyForeign, func(x *evidence.Joined) { x.TextFault = "why" }, "unknown"},
		{"coding, ours", policyOurs, func(x *evidence.Joined) { x.TextFault = "why" }, "unreachable"},
		{"not kept", policyForeign, func(x *evidence.Joined) { x.Kept = false }, "unknown"},
		{"revisit of nothing", policyForeign, func(x *evidence.Joined) { x.Bodyless, x.Exchange.Revisit = true, "same" },
			"unknown"},
	} {
		a := newArchive(t, c.m)
		x := a.got(0, "a.test/robots.txt", 200, forbids)
		c.spoil(x)
		a.judge(x)
		if got := a.host("http://a.test").Kind(); got != c.kind {
			t.Errorf("%s: %s, want %s", c.name, got, c.kind)
		}
		if got := a.asks(time.Second, "a.test/private"); got == "" {
			t.Errorf("%s: a page is found to be allowed", c.name)
		}
	}
}

func TestARevisitWithTheDigestOfTheTextAtHandIsThatText(t *testing.T) {
	for digest, kind := range map[string]string{"sha256:a": "rules", "sha256:b": "unknown"} {
		a := newArchive(t, policyOurs)
		first := a.got(0, "a.test/robots.txt", 200, forbids)
		first.Exchange.Payload = "sha256:a"
		a.judge(first)
		again := a.got(day, "a.test/robots.txt", 200, "")
		again.Exchange.Payload, again.Exchange.Revisit, again.Bodyless = digest, "same", true
		a.judge(again)
		if got := a.host("http://a.test").Kind(); got != kind {
			t.Errorf("%s: %s, want %s", digest, got, kind)
		}
		if got := a.asks(2*day, "a.test/private"); kind == "rules" && got != "disallowed" {
			t.Errorf("%s: %q", digest, got)
		}
	}
}
