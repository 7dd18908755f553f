package text

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/check"
	"curtsy/storage/htmlpage"
)

// linksHostile has hostile text wherever a site can write.
func linksHostile() *check.Result {
	const evil = "\x1b[2J\n::error::x\r\n\"'><script>alert(1)</script>]]>&\u202e\x00%0A,file=x"
	f := check.Finding{
		URL: "javascript:alert(1)//" + evil, Reason: evil, Kind: check.KindLink, Count: 9,
		On: []check.Place{{Page: "javascript:" + evil, Element: evil, Attribute: evil, Text: evil, Line: 1, Column: 2}, {Page: "http://x/" + evil}},
	}
	all := []check.Finding{f}
	return &check.Result{
		Broken: all, Insecure: all, Mixed: all, Duplicates: all, Untested: all, Undecided: all, Ignored: []check.Ignored{{Finding: f, Why: evil}},
		Since: &check.Since{Earlier: evil, New: all, Repaired: all}, Known: all,
		Redirects: []check.Redirect{{Finding: f, To: evil, Via: []string{evil}}},
	}
}

func TestLinkcheck_EscapesSiteText(t *testing.T) {
	r := linksHostile()
	if text := Links(r); strings.ContainsAny(text, "\x1b\x00\r\u202e") || strings.Contains(text, "\n::error") {
		t.Errorf("text: %q", text)
	}
	for _, files := range []bool{false, true} {
		lines := strings.Split(strings.TrimSuffix(Annotations(r, files), "\n"), "\n")
		for _, line := range lines {
			if !strings.HasPrefix(line, "::error ") || strings.ContainsAny(line, "\x1b\x00\r\u202e") || strings.Contains(strings.Split(line, "::")[1], ",file=x") {
				t.Errorf("annotation: %q", line)
			}
		}
		assert.Len(t, lines, 2, "annotations")
	}
	var junit strings.Builder
	require.NoError(t, WriteJUnit(&junit, r))
	elements := 0
	for d := xml.NewDecoder(strings.NewReader(junit.String())); ; {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoErrorf(t, err, "in %s", junit.String())
		if _, ok := tok.(xml.StartElement); ok {
			elements++
		}
	}
	if elements != 5 || !strings.Contains(junit.String()[:200], JUnitMark) {
		t.Errorf("%d elements in %s", elements, junit.String())
	}
	var page strings.Builder
	require.NoError(t, WriteLinksPage(&page, r))
	if text := page.String(); strings.Count(text, "<script") != 1 || strings.Contains(text, `href="javascript:`) || strings.ContainsAny(text, "\x1b\x00\u202e") || !strings.Contains(text[:200], htmlpage.Mark("curtsy linkcheck")) {
		t.Error(text)
	}
}

// The policy of the page allows only its own script, by digest.
func TestThePagesPolicyIsForItsOwnScript(t *testing.T) {
	var b strings.Builder
	require.NoError(t, WriteLinksPage(&b, linksHostile()))
	_, script, _ := strings.Cut(b.String(), "<script>")
	script, _, _ = strings.Cut(script, "</script>")
	sum := sha256.Sum256([]byte(script))
	assert.Contains(t, html.UnescapeString(b.String()), "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "the policy")
}

// An id that is twice on each page is listed once.
func TestLinkcheck_SharedIDReportedOnce(t *testing.T) {
	r := &check.Result{}
	for i := range 40 {
		page := fmt.Sprintf("http://a.test/%d", i)
		r.Duplicates = append(r.Duplicates, check.Finding{URL: page, Reason: "id menu", Count: 1, On: []check.Place{{Page: page, Line: 3, Column: 5}}})
	}
	r.Duplicates = append(r.Duplicates, check.Finding{URL: "http://a.test/x", Reason: "id own", Count: 2, On: []check.Place{{Page: "http://a.test/x"}}})
	_, got, _ := strings.Cut(Links(r), "DUPLICATE IDS IN A PAGE\n")
	want := "  id menu in 40 pages\n"
	for i := range maxPlaces {
		want += fmt.Sprintf("      http://a.test/%d:3:5\n", i)
	}
	want += "      … and 35 more\n  id own in http://a.test/x\n      http://a.test/x\n      … and 1 more\n"
	assert.Equalf(t, want, got, "got\n%s\nwant\n%s", got, want)
}
