package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/finding"

	"github.com/stretchr/testify/assert"
)

func TestClock_KillBeforeSetBackForgets(t *testing.T) {
	for name, c := range map[string]struct {
		first []time.Duration // of the answers before the kill
		pace  time.Duration   // as the next run records it
		want  string
	}{
		"the last one, which was slow":  {first: []time.Duration{s / 10, 2 * s}, pace: s},
		"the last two, which were slow": {first: []time.Duration{s / 10, 2 * s, 2 * s}, pace: s},
		"none":                          {first: []time.Duration{s / 10, 2 * s}, pace: 10 * s},
		"one that a commit holds":       {first: []time.Duration{2 * s, 2 * s, 2 * s}, pace: s, want: "gap gap-told"},
	} {
		for _, back := range []time.Duration{0, time.Hour} {
			before, at := ours(t), 2*time.Hour
			for i, first := range c.first {
				before.add(answered([]string{"/robots.txt", "/1", "/2"}[i], at, first, ""))
				at += 30 * s
			}
			then, by := before.after(), storage.ByFloor
			if c.pace > s {
				by = storage.ByResponseTime
			}
			at -= back
			then.add(answered("/robots.txt", at, s/10, ""))
			then.add(fetch{url: site + "/y", at: at + s/10 + 10*time.Millisecond + c.pace, meta: fmt.Sprintf("gapMs: %d\r\n", c.pace/time.Millisecond) + saysPace(c.pace, by)})
			r := then.audit(Options{Files: []string{before.file()}})
			others, noted := strings.CutSuffix(codes(r), string(finding.ClockStep))
			if noted != (back > 0) || strings.TrimSpace(others) != c.want {
				t.Errorf("%s, set back by %v: found %q, want %q%s", name, back, codes(r), c.want, shown(r))
			}
		}
	}
}

func TestClock_StepKeepsCrawlDelay(t *testing.T) {
	five := saysPace(5*s, storage.ByCrawlDelay)
	for pages, want := range map[int]string{1: "clock-step", 2: "gap-told clock-step"} {
		before := ours(t)
		before.add(fetch{url: site + "/robots.txt", at: time.Hour, body: "User-agent: *\nCrawl-delay: 5\n"})
		for i := range 3 { // so that no kill takes it back
			before.add(fetch{url: site + "/" + fmt.Sprint(i), at: time.Hour + time.Duration(i+1)*6*s, meta: five})
		}
		then := before.after()
		then.add(fetch{url: site + "/robots.txt", meta: five})
		for i := range pages {
			then.add(fetch{url: site + "/x", at: time.Duration(i+1) * 6 * s, meta: five})
		}
		expect(t, want, then.audit(Options{Files: []string{before.file()}}), pages)
	}
}

func TestClock_ForgottenRulesBindNoDelay(t *testing.T) {
	const delay = "User-agent: *\nCrawl-delay: 60\n"
	for page, want := range map[time.Duration]string{250 * s: "", 220 * s: "gap"} {
		before := ours(t)
		before.robots(delay)
		then := before.after()
		then.add(fetch{url: site + "/robots.txt", at: 100 * s, status: 500})
		then.add(fetch{url: site + "/robots.txt", at: 140 * s, status: 500})
		then.add(fetch{url: site + "/robots.txt", at: 180 * s, body: delay})
		then.add(fetch{url: site + "/y", at: page})
		expect(t, want, then.audit(Options{Files: []string{before.file()}}), page)
	}
}

type lives struct {
	t     *testing.T
	files []string
	n     int // of the records so far
	now   *archive
}

func (l *lives) next(at time.Duration) *archive {
	l.end()
	l.now = oursFrom(l.t, l.n, day0.Add(at), "run-began: "+day0.Add(at).Format("2006-01-02T15:04:05.000000Z"))
	return l.now
}

func (l *lives) end() {
	if l.now != nil {
		l.files, l.n = append(l.files, l.now.file()), l.now.n
	}
}

func (l *lives) audit() *Result {
	last := l.now
	l.now = nil
	return last.audit(Options{Files: l.files})
}

func by(record, text string) string {
	return fmt.Sprintf("decision: allow\r\nrobotsRecord: <%s>\r\nrobotsSha256: %s\r\nrobotsStandard: rfc9309\r\n", record, sha(text))
}

func TestClock_BackAndForthKeepsRobotsYoung(t *testing.T) {
	const h, old, fresh = time.Hour, "User-agent: *\nDisallow: /old\n", "User-agent: *\nDisallow: /new\nCrawl-delay: 9\n"
	robots := func(body string) func(a *archive, first string) {
		return func(a *archive, _ string) { a.add(fetch{url: site + "/robots.txt", at: -25*h + 5*s, body: body}) }
	}
	for name, c := range map[string]struct {
		between func(a *archive, first string) // requests to the host while the clock was behind
		at      time.Duration                  // of the page behind it
		path    string
		latest  bool // that page goes by the robots.txt that was had last
		want    string
	}{
		"no request to the host in between":      {at: h},
		"and its robots.txt is old by all dates": {at: 25 * h, want: "robots-expired"},
		"nor is it older than it was":            {at: -h / 2, want: "robots-expired"},
		"a kill lost the requests in between":    {between: robots(old), at: h},
		"and robots.txt changed in between":      {between: robots(fresh), at: h, path: "/new"},
		"a URL that the old one forbids":         {between: robots(fresh), at: h, path: "/old", want: "disallowed verdict"},
		"the one in between is old":              {between: robots(old), at: h, latest: true, want: "robots-expired"},
		"more requests in between than a kill loses": {between: func(a *archive, _ string) {
			id := a.add(fetch{url: site + "/robots.txt", at: -25*h + 5*s, body: old})
			for i := range 2 {
				a.add(fetch{url: fmt.Sprintf("%s/%d", site, i), at: -25*h + time.Duration(10+5*i)*s, meta: by(id, old)})
			}
		}, at: h, want: "robots-expired"},
		"pages were requested in between, and no robots.txt": {between: func(a *archive, first string) {
			for i := range 3 {
				a.add(fetch{url: fmt.Sprintf("%s/%d", site, i), at: -25*h + time.Duration(5+5*i)*s, meta: by(first, old)})
			}
		}, at: h, want: "robots-expired"},
	} {
		l := &lives{t: t}
		one := l.next(0)
		first := one.add(fetch{url: site + "/robots.txt", at: 5 * s, body: old})
		one.add(fetch{url: site + "/0", at: 10 * s, meta: by(first, old)})
		one.add(fetch{url: site + "/1", at: 15 * s, meta: by(first, old)})
		two, last := l.next(-25*h), first
		two.add(fetch{url: "http://other.test/robots.txt", at: -25*h + s})
		if c.between != nil {
			was := two.n
			c.between(two, first)
			last = fmt.Sprintf("urn:test:%d", was+2)
		}
		three := l.next(c.at - s)
		if !c.latest {
			last = first
		}
		if c.path == "" {
			c.path = "/x"
		}
		three.add(fetch{url: site + c.path, at: c.at, meta: by(last, old)})
		r := l.audit()
		assert.Equalf(t, c.want, strings.TrimSpace(strings.ReplaceAll(codes(r), string(finding.ClockStep), "")), "%s%s", name, shown(r))
	}
}

func TestClock_BackAndForthKeepsProofYoung(t *testing.T) {
	const h, own = time.Hour, "https://own.test"
	proof := func(a *archive, at time.Duration) {
		a.add(fetch{url: own + "/robots.txt", at: at})
		a.add(fetch{url: own + "/.well-known/curtsy-owner.txt", at: at + 5*s, body: "curtsy-owner=" + sha("v") + "\n", meta: "decision: owner\r\n"})
	}
	for name, c := range map[string]struct {
		meanwhile, at time.Duration // times of pages requested while the clock was behind, and of the two after
		requests      int
		proved        bool
		want          string
	}{
		"no request in between":             {at: h},
		"proved again, and killed":          {at: h, proved: true},
		"proved again, and pages requested": {at: h, proved: true, requests: 2, want: "gap"},
		"old by all dates":                  {at: 25 * h, want: "gap"},
	} {
		l := &lives{t: t}
		proof(l.next(0), 0)
		two := l.next(-25 * h)
		two.add(fetch{url: "http://other.test/robots.txt", at: -25*h + s})
		if c.proved {
			proof(two, -25*h+5*s)
		}
		for i := range c.requests {
			two.add(fetch{url: fmt.Sprintf("%s/%d", own, i), at: -25*h + time.Duration(20+5*i)*s})
		}
		three := l.next(c.at - s)
		three.add(fetch{url: own + "/robots.txt", at: c.at})
		for i := range 2 {
			three.add(fetch{url: own + "/x", at: c.at + 200*time.Millisecond*time.Duration(i+1)})
		}
		r := l.audit()
		assert.Equalf(t, c.want, strings.TrimSpace(strings.ReplaceAll(codes(r), string(finding.ClockStep), "")), "%s%s", name, shown(r))
	}
}
