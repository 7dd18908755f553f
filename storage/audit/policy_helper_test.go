package audit

import (
	"strings"
	"testing"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// noon is when each story begins.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Who made an archive, and by which document.
var (
	policyForeign = evidence.Measure{}
	strict        = evidence.Measure{Told: evidence.Told{Strict: true}}
	policyOurs    = madeBy("rfc9309")
	draft         = madeBy("draft1996")
	std1994       = madeBy("std1994")
)

func madeBy(standard string) evidence.Measure {
	return evidence.Measure{Info: &evidence.Info{Ours: true, Standard: standard}}
}

const forbids = "User-agent: *\nDisallow: /private\n"

// policyArchive is an archive that is judged exchange by exchange.
type policyArchive struct {
	t     *testing.T
	m     evidence.Measure
	j     *judge
	texts *evidence.Store
	hosts map[string]*policyHost
}

func newArchive(t *testing.T, m evidence.Measure) *policyArchive {
	t.Helper()
	texts, err := evidence.NewStore(t.TempDir())
	must(t, err)
	t.Cleanup(texts.Close)
	a := &policyArchive{t: t, m: m, texts: texts, hosts: map[string]*policyHost{}}
	a.j = newJudge(texts, a.host, func(*evidence.Joined) {})
	return a
}

func (a *policyArchive) host(authority string) *policyHost {
	if a.hosts[authority] == nil {
		a.hosts[authority] = &policyHost{}
	}
	return a.hosts[authority]
}

// got is an exchange with http://URL some time after noon. What follows a status is a body, or where it redirects.
func (a *policyArchive) got(after time.Duration, url string, status int, said string) *evidence.Joined {
	a.t.Helper()
	p, err := evidence.ParseURL("http://" + url)
	must(a.t, err)
	x := &evidence.Joined{HasRequest: true, HasAnswer: status > 0, Kept: true}
	x.Exchange = evidence.Exchange{Place: finding.Place{File: "1.warc.gz", Record: "urn:" + url}, URL: "http://" + url,
		Authority: p.Authority, Target: p.Target, Began: noon.Add(after), Method: "GET", Agent: "lantern/1", Status: status,
		Answered: status > 0, Ended: true}
	if status >= 300 && status < 400 {
		x.Answer.Location.Value = said
	} else if x.Text, err = a.texts.Put([]byte(said)); err != nil {
		a.t.Fatal(err)
	}
	return x
}

// judge judges an exchange as the audit does.
func (a *policyArchive) judge(x *evidence.Joined) finding.List {
	a.t.Helper()
	one := a.j.Page
	if a.j.IsRobots(&x.Exchange) {
		one = a.j.Robots
	}
	found, err := one(x, a.host(x.Exchange.Authority), a.m)
	must(a.t, err)
	return found
}

// hears judges got.
func (a *policyArchive) hears(after time.Duration, url string, status int, said string) *policyHost {
	a.t.Helper()
	x := a.got(after, url, status, said)
	a.judge(x)
	return a.host(x.Exchange.Authority)
}

// asks judges a page, and returns the codes of what was found.
func (a *policyArchive) asks(after time.Duration, url string) string {
	a.t.Helper()
	return policyCodes(a.judge(a.got(after, url, 200, "")))
}

// policyCodes writes what was found: notes with a "note ", doubts with a question mark.
func policyCodes(found finding.List) string {
	var all []string
	for _, f := range found.Findings {
		word := string(f.Code)
		if f.Note {
			word = "note " + word
		}
		all = append(all, word)
	}
	for _, d := range found.Doubts {
		all = append(all, string(d.What)+"?")
	}
	return strings.Join(all, " ")
}
