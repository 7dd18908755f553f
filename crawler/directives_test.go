package crawler

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest"
	"curtsy/robots"
	"curtsy/storage"
)

// lineOf returns the last line on a URL with an outcome.
func (w *world) lineOf(url string) (last storage.Line) {
	w.t.Helper()
	for _, l := range w.ledger.all {
		if l.URL == url && l.Outcome != "" {
			last = l
		}
	}
	if last.URL == "" {
		w.t.Fatalf("no line on %s", url)
	}
	return last
}

// bodyOf returns the archived body of a URL, and why it is truncated.
func (w *world) bodyOf(url string) (body, truncated string) {
	w.t.Helper()
	for _, r := range w.archive.records {
		if r.URL == url {
			_, body, _ = strings.Cut(r.response, "\r\n\r\n")
			return body, r.Truncated
		}
	}
	w.t.Fatalf("no record of %s", url)
	return "", ""
}

func TestRule19_NoIndexIsKeptAndFlagged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/":      {Robots: "noindex, max-snippet:-1", Links: []string{"/b", "/c.pdf", "/gone"}},
			"/b":     {Header: map[string]string{"X-Robots-Tag": "otherbot: noindex, unavailable_after: 25 Jun 2027 15:00:00 PST"}},
			"/c.pdf": {Body: "%PDF", Header: map[string]string{"X-Robots-Tag": "curtsy: noindex, unavailable_after: 25 Jun 2027 15:00:00 PST"}},
			"/gone":  {Status: 410, Robots: "noindex", Header: map[string]string{"X-Robots-Tag": "nosnippet"}},
		}}
		w := newWorld(t, []string{"http://a.test/"}, site)
		s := w.run()
		for url, want := range map[string][2]string{
			"http://a.test/":      {"noindex", "meta robots: noindex, max-snippet:-1"},
			"http://a.test/b":     {"", ""},
			"http://a.test/c.pdf": {"noindex, unavailable_after: 25 Jun 2027 15:00:00 PST", "X-Robots-Tag: curtsy: noindex, unavailable_after: 25 Jun 2027 15:00:00 PST"},
			"http://a.test/gone":  {"noindex", "X-Robots-Tag: nosnippet\nmeta robots: noindex"},
		} {
			if l := w.lineOf(url); l.Directives != want[0] || l.Asked != want[1] {
				t.Errorf("%s: directives %q, asked %q", url, l.Directives, l.Asked)
			}
			if body, cut := w.bodyOf(url); body == "" || cut != "" {
				t.Errorf("%s: a body of %d octets, truncated %q", url, len(body), cut)
			}
		}
		if s.Manners.NoIndex != 3 || s.Manners.NoArchive != 0 {
			t.Errorf("%+v", s.Manners)
		}
		w.judged(crawltest.Rules{Pace: Floor})
	})
}

// The crawler archives only the head, with the digest of the body, unless the operator sets --keep-noarchive.
func TestRule19_NoArchiveLeavesTheBodyOut(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
				"/":        {Robots: "NOARCHIVE", Links: []string{"/field", "/other", "/missing", "/token"}},
				"/field":   {Body: "plain", Type: "text/plain", Header: map[string]string{"X-Robots-Tag": "nocache"}},
				"/other":   {Header: map[string]string{"X-Robots-Tag": "otherbot: noarchive"}},
				"/missing": {Status: 404, Robots: "noarchive"},
				"/token":   {Body: `<meta name=Curtsy content=noarchive>text`},
			}}
			w := newWorld(t, []string{"http://a.test/"}, site)
			w.cfg.KeepNoArchive = keep
			s := w.run()
			for path, left := range map[string]bool{"": true, "field": true, "other": false, "missing": true, "token": true} {
				body, cut := w.bodyOf("http://a.test/" + path)
				if left = left && !keep; left != (body == "") || left != (cut == "unspecified") {
					t.Errorf("keep %v: %q: a body of %d octets, truncated %q", keep, path, len(body), cut)
				}
			}
			for _, r := range w.archive.records[1:] {
				if r.HeadOnly != (r.Truncated == "unspecified") || r.Line.Payload == "" {
					t.Errorf("%s: head only: %v, truncated %q, digest %q", r.URL, r.HeadOnly, r.Truncated, r.Line.Payload)
				}
				if !r.HasPayload || r.PayloadDigest == [32]byte{} || !strings.HasSuffix(r.response[:strings.Index(r.response, "\r\n\r\n")+4], "\r\n\r\n") {
					t.Errorf("%s: no digest or no head", r.URL)
				}
			}
			if s.Manners.Kept != keep || s.Manners.NoArchive != 4 || s.Status.Pages != 3 {
				t.Errorf("%+v, %d pages", s.Manners, s.Status.Pages)
			}
			w.judged(crawltest.Rules{Pace: Floor})
		})
	}
}

func TestRule19_DirectivesForOurTokens(t *testing.T) {
	for token, asked := range map[string]string{"mybot": "/robots.txt /", "curtsy": "/robots.txt / /link"} {
		playAll(t, []scenario{{
			name: token, set: func(w *world) { w.cfg.Identity.Token = token }, asked: map[string]string{"a.test": asked},
			sites: []*crawltest.Site{{Name: "a.test", Pages: pages{
				"/": {Links: []string{"/link"}, Header: map[string]string{"X-Robots-Tag": "otherbot: none, MyBot: nofollow"}}, "/link": {},
			}}},
		}})
	}
}

// rel=nofollow concerns one link: another link may add the URL. ugc and sponsored are followed by default.
func TestRule19_RelIsAboutOneLink(t *testing.T) {
	body := `<a rel=nofollow href=/n>n</a> <a rel="ugc noopener" href=/u>u</a> <a rel=Sponsored href=/s>s</a>
		<a rel="nofollow ugc" href=/nu>nu</a> <a rel=nofollow href=/twice>1</a> <a rel=ugc href=/twice>2</a>
		<a rel=nofollow href=/later>later</a> <a href=/plain>p</a>`
	for list, want := range map[string]string{
		"":                       "/later /plain /s /twice /u",
		"ugc,sponsored":          "/later /plain /s /twice /u",
		"none":                   "/later /plain",
		"ugc":                    "/later /plain /twice /u",
		"nofollow":               "/later /n /plain /twice",
		"nofollow,ugc,sponsored": "/later /n /nu /plain /s /twice /u",
	} {
		bubble(t, list, func(t *testing.T) {
			pages := map[string]crawltest.Page{"/": {Body: body}, "/plain": {Links: []string{"/later"}}}
			for _, p := range []string{"/n", "/u", "/s", "/nu", "/twice", "/later"} {
				pages[p] = crawltest.Page{}
			}
			w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{Name: "a.test", Pages: pages})
			if list != "" {
				w.cfg.FollowRel = strings.Split(list, ",")
			}
			s := w.run()
			got := w.asked("a.test")[2:]
			slices.Sort(got)
			assert.Equalf(t, want, strings.Join(got, " "), "requested %q", got)
			assert.Equal(t, int64(len(got))+1, s.Status.Discovered, "URLs are known: a link that is not followed enters no URL")
		})
	}
}

func TestRule19_WrongRelsAreRefused(t *testing.T) {
	for _, words := range [][]string{{"follow"}, {"none", "ugc"}, {""}, {"UGC"}} {
		assert.Errorf(t, CheckFollowRel(words), "%q is taken", words)
	}
}

func TestRule20_PreferencesAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/": {Links: []string{"/b", "/no"}, Header: map[string]string{
				"Content-Usage": "train-ai=n, search=Y;a", "TDM-Reservation": "1", "TDM-Policy": "https://a.test/policy.json",
				"Link": `</style.css>; rel=preload, <https://a.test/l?a,b>; title="x, y"; rel="next License", </rsl>; rel=licence`,
			}},
			"/b": {},
		}}
		site.Robots.Body = "License: https://a.test/license.xml\nUser-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /b train-ai=y\n" +
			"Content-Signal: search=yes,ai-train=no\nDisallow: /no\n\nUser-agent: otherbot\nContent-Signal: search=no\n"
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.run()
		common := "robots content-usage: train-ai=n\nrobots content-usage: /b train-ai=y\nrobots content-signal: search=yes,ai-train=no\n" +
			"robots license: https://a.test/license.xml"
		own := "\nheader content-usage: train-ai=n, search=Y;a\nheader tdm-reservation: 1\nheader tdm-policy: https://a.test/policy.json\n" +
			`header link: <https://a.test/l?a,b>; title="x, y"; rel="next License"`
		for url, want := range map[string]string{"http://a.test/": common + own, "http://a.test/b": common, "http://a.test/no": ""} {
			assert.Equal(t, want, w.lineOf(url).Prefs, url)
		}
		w.judged(crawltest.Rules{Pace: Floor})
	})
}

// The groups of the token and of curtsy both count; preferences in both are recorded once.
func TestRule20_OfAllGroupsThatBind(t *testing.T) {
	book := robots.Terms{}.Parse([]byte("User-agent: mybot\nContent-Signal: a=1\nContent-Usage: x\n\nUser-agent: curtsy\nContent-Signal: a=1\nContent-Signal: b=2\n"), "mybot", "curtsy")
	if got, want := usagePrefs(book, nil), "robots content-usage: x\nrobots content-signal: a=1\nrobots content-signal: b=2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	assert.Empty(t, usagePrefs(nil, nil))
}

func TestRule20_LinksToALicense(t *testing.T) {
	for value, want := range map[string]string{
		`<l>; rel=license`:                      `<l>; rel=license`,
		`<l>;REL="LICENSE"`:                     `<l>;REL="LICENSE"`,
		`<l>; rel = "a license b"`:              `<l>; rel = "a license b"`,
		`<a>; rel=next, <l>; rel=license`:       `<l>; rel=license`,
		`<l>; title="; rel=next"; rel=license`:  `<l>; title="; rel=next"; rel=license`,
		`<l>; title="\"; rel=x"; rel=license`:   `<l>; title="\"; rel=x"; rel=license`,
		`<l>; rel=next; rel=license`:            "", // RFC 8288 3.3: the first one counts
		`<l>; title="rel=license"`:              "",
		`<l?rel=license>; rel=next`:             "",
		`<l>; rel=licensed`:                     "",
		`l; rel=license`:                        "",
		`<l; rel=license`:                       "",
		`<l>`:                                   "",
		``:                                      "",
		`<l>; rel="license`:                     `<l>; rel="license`,
		`<a,b>; rel=license, <c>; rel=license,`: "<a,b>; rel=license\n<c>; rel=license",
	} {
		got := strings.ReplaceAll(usagePrefs(nil, http.Header{"Link": {value}}), "header link: ", "")
		assert.Equal(t, want, got, value)
	}
}

func TestRule20_WhatIsKeptIsBoundedAndTheRestIsCounted(t *testing.T) {
	h := http.Header{"Content-Usage": {strings.Repeat("é", 1000), "a\nb"}}
	for i := range 50 {
		h.Add("Tdm-Policy", "https://a.test/"+strings.Repeat("x", i))
	}
	said := strings.Split(usagePrefs(nil, h), "\n")
	if len(said) != maxPrefs+1 || said[maxPrefs] != "more: 36" || said[1] != "header content-usage: a b" {
		t.Errorf("%q", said)
	}
	if v := strings.TrimPrefix(said[0], "header content-usage: "); len(v) > maxPrefText || !strings.HasSuffix(v, "é…") {
		t.Errorf("%d octets: %q", len(v), v)
	}
}
