package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage"
)

// line parses a ledger line like "DECISION OUTCOME STATUS URL REASON".
func line(t *testing.T, text string) *storage.Line {
	t.Helper()
	f := strings.SplitN(text, " ", 5)
	l := storage.Line{Decision: storage.Decision(f[0]), Outcome: storage.Outcome(f[1]), URL: f[3], Kind: storage.KindLink, Via: "https://site.test/", Depth: 1}
	_, err := fmt.Sscan(f[2], &l.Status)
	require.Truef(t, err == nil && len(f) >= 5, "%v %v", text, err)
	l.Reason = f[4]
	return &l
}

// ledgerOf returns the state after such lines, and one of a seed before them.
func ledgerOf(t *testing.T, lines ...string) *ledgerIndex {
	t.Helper()
	ledger := newLedgerIndex()
	ledger.line(&storage.Line{Decision: storage.DecisionAllow, Outcome: storage.OutcomeFetched, URL: "https://site.test/", Kind: storage.KindSeed}, 1)
	for _, text := range lines {
		ledger.line(line(t, text), 1)
	}
	ledger.judge(1)
	return ledger
}

func TestVerdict_ByTheLedger(t *testing.T) {
	const u = "https://site.test/x"
	tests := []struct {
		name  string
		lines []string
		want  verdict
		why   string
	}{
		{"404", []string{"allow gone 404 " + u + " status 404"}, broken, "status 404"},
		{"a status of 5xx", []string{"allow failed 500 " + u + " status 500"}, broken, "status 500"},
		{"no such host", []string{"allow failed 0 " + u + " nxdomain"}, broken, "nxdomain"},
		{"too many requests are not a fault of the link", []string{"allow failed 429 " + u + " status 429"}, untested, "the host requires a delay"},
		{"a failure of the crawler", []string{"allow failed 0 " + u + " panic"}, untested, "panic"},
		{"an answer that is not wanted", []string{"allow dropped 200 " + u + " scope:reject"}, good, ""},
		{"robots.txt", []string{"disallow disallowed 0 " + u + " disallow rule"}, untested, "robots.txt forbids it"},
		{"still to come", []string{"allow deferred 0 " + u + " timeout"}, untested, "not answered yet: timeout"},
		{"failed at first, then fetched", []string{"allow deferred 0 " + u + " timeout", "allow fetched 200 " + u + " no rules"}, good, ""},
		{"fetched, and refused where another page links to it", []string{"allow fetched 200 " + u + " x", "refuse dropped 0 " + u + " scope:nofollow"}, good, ""},
		{"gone, and refused where another page links to it", []string{"allow gone 404 " + u + " status 404", "refuse dropped 0 " + u + " scope:nofollow"}, broken, "status 404"},
		{"too deep", []string{"refuse dropped 0 " + u + " scope:depth"}, untested, "scope:depth"},
		{"a redirect to a page", []string{"allow redirected 301 " + u + " to https://site.test/"}, moved, ""},
		{"a redirect to a missing page", []string{"allow redirected 301 " + u + " to https://site.test/y", "allow gone 404 https://site.test/y status 404"}, broken, "redirects to https://site.test/y: status 404"},
		{"a redirect to another host", []string{"allow redirected 302 " + u + " to https://other.test/y", "refuse dropped 0 https://other.test/y scope:host"}, untested, "redirects to https://other.test/y, on another host"},
		{"a redirect to an unrequested URL", []string{"allow redirected 302 " + u + " to https://site.test/y"}, untested, "redirects to https://site.test/y, which was not requested"},
		{"a redirect to nowhere", []string{"allow failed 302 " + u + " redirect: malformed"}, broken, "redirect: malformed"},
		{"a loop", []string{"allow redirected 301 " + u + " to https://site.test/y", "allow redirected 301 https://site.test/y to " + u}, broken, "redirect loop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, why := good, ""
			if s := ledgerOf(t, tt.lines...).of(u); s != nil {
				got, why = s.verdict, s.why
			}
			assert.Truef(t, got == tt.want && why == tt.why, "%q: %d %q, want %d %q", tt.lines, got, why, tt.want, tt.why)
		})
	}
}

func TestFindingsOfOnePage(t *testing.T) {
	ledger := ledgerOf(t, "allow fetched 200 http://site.test/both x", "allow fetched 200 https://site.test/both x", "allow fetched 200 http://site.test/plain x",
		"allow gone 404 https://site.test/gone status 404")
	tests := []struct{ name, in, want string }{
		{"http where https answers", "<a href=http://site.test/both>", "insecure http://site.test/both 1:9"},
		{"http where https fails", "<a href=http://site.test/plain>", ""},
		{"mixed content", "<img src=http://site.test/plain>", "mixed http://site.test/plain 1:10"},
		{"a link by http is not mixed content", "<a href=http://site.test/plain>", ""},
		{"an id twice", "<p id=a>\n<p id=a><p id=A>", "duplicate a 2:7"},
		{"a name twice", "<a name=a><a name=a>", ""},
		{"an invalid URL", "<a href='http://[x'>", "malformed http://[x 1:10"},
		{"schemes that were mistyped", "<a href=htps://a/><a href=ttps://b/><a href=' HTPP://c/'><a href=httsp://d/><a href=httpss:/e><a href=htttps://f>",
			"malformed  HTPP://c/ 1:46; malformed htps://a/ 1:9; malformed httpss:/e 1:85; malformed httsp://d/ 1:66; malformed htttps://f 1:103; malformed ttps://b/ 1:27"},
		{"schemes that only look like them", "<a href=shttp://a/><a href=ftp://b/><a href=http4://c/><a href=htp:x><a href=httpsx>", "malformed http4://c/ 1:45"},
		{"fragments of a page in an attribute", `<iframe srcdoc="<a href='#x'>x</a><p id=x><a href='/both#y'>"></iframe>`, "fragment https://site.test/both#y 1:17"},
		{"schemes that are not of the web", "<a href=mailto:x@y><a href=tel:1><a href='javascript:x'><img src='data:,'>", ""},
		{"a fragment", "<a href='#x'><a href='both#'>", "fragment https://site.test/page#x 1:10"},
		{"lazy loading", "<img data-src=gone>", "ledger https://site.test/gone 1:15"},
		{"a quotation's source is nothing to follow", "<q cite=gone>", ""},
		{"many of one", strings.Repeat("<a href=gone>\n", 100), "ledger https://site.test/gone 1:9 of 100"},
	}
	names := [...]string{"ledger", "malformed", "fragment", "insecure", "mixed", "duplicate"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := canon.Parse("https://site.test/page")
			require.NoError(t, err)
			d := &document{ledger: ledger, url: u, reading: &reading{url: u.String(), page: ledger.sum(u.Key()), found: map[subject]*mentioned{}}}
			d.document("text/html", []byte(tt.in))
			var got []string
			for _, s := range d.order {
				m := d.found[s]
				text := fmt.Sprintf("%s %s %d:%d", names[s.what], s.url, m.places[0].Line, m.places[0].Column)
				if m.count > 1 {
					text += fmt.Sprintf(" of %d", m.count)
				}
				if s.what != ofLedger || ledger.of(s.url) != nil {
					got = append(got, text)
				}
			}
			if slices.Sort(got); strings.Join(got, "; ") != tt.want {
				t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestFindings_AboutURLsOfTheLedgerAreBounded(t *testing.T) {
	const beyond = 100
	url := func(kind, n int) string { return fmt.Sprintf("https://site.test/%d/%d", kind, n) }
	var lines []string
	for n := range maxStates + beyond {
		lines = append(lines, "refuse dropped 0 "+url(0, n)+" scope:depth", "allow redirected 301 "+url(1, n)+" to https://site.test/", "allow gone 404 "+url(2, n)+" status 404",
			"refuse dropped 0 "+url(2, n)+" scope:nofollow")
	}
	lines = append(lines, "allow fetched 200 "+url(2, maxStates)+" x")
	ledger := ledgerOf(t, lines...)
	if len(ledger.amiss) != 3*maxStates || len(ledger.rest) != 2*beyond-1 || ledger.asked != 2*(maxStates+beyond)+1 {
		t.Errorf("%d states, %d beyond, %d requested", len(ledger.amiss), len(ledger.rest), ledger.asked)
	}
	j := &judging{ledger: ledger, fragments: newFragments(t.TempDir()), findings: map[subject]*Finding{}, r: &Result{Left: int64(len(ledger.rest))}}
	d := &reading{found: map[subject]*mentioned{}}
	for kind := range 3 {
		for n := range maxStates {
			s := subject{ofLedger, url(kind, n)}
			d.order, d.found[s] = append(d.order, s), &mentioned{key: ledger.sum(s.url), kind: KindLink, places: make([]Place, pagePlaces), count: pagePlaces}
		}
	}
	for range 2 {
		require.NoError(t, j.take(d))
	}
	r, _ := j.result(nil)
	if len(r.Untested) != maxUnasked || len(r.Redirects) != maxStates || len(r.Broken) != maxStates || r.Left != 2*beyond-1+2*(maxStates-maxUnasked) {
		t.Errorf("%d untested, %d redirects, %d broken, %d left", len(r.Untested), len(r.Redirects), len(r.Broken), r.Left)
	}
	places, mentions := 0, int64(0)
	for _, f := range j.findings {
		places, mentions = places+len(f.On), mentions+f.Count
	}
	n := len(j.findings)
	assert.Truef(t, places == n+maxRepeated && mentions == int64(2*pagePlaces*n), "%d places of %d findings, %d mentions", places, n, mentions)
}
