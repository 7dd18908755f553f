package sitemap

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"curtsy/frontier/canon"
)

const at = "http://a.test/maps/s.xml"

func urlOf(t testing.TB, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	require.NoError(t, err)
	return u
}

func read(t testing.TB, body, contentType string) ([]string, Report) {
	t.Helper()
	got, report := entriesOf(t, body, contentType)
	urls := make([]string, len(got))
	for i, e := range got {
		urls[i] = e.URL.String()
	}
	return urls, report
}

func entriesOf(t testing.TB, body, contentType string) ([]Entry, Report) {
	t.Helper()
	var got []Entry
	in := Input{URL: urlOf(t, at), ContentType: contentType, Body: iotest.OneByteReader(strings.NewReader(body))}
	report, err := Read(in, func(e Entry) error {
		got = append(got, e)
		return nil
	})
	require.NoError(t, err)
	assert.Equalf(t, report.Entries, len(got), "%d entries came, %d are reported", len(got), report.Entries)
	return got, report
}

func text(urls []string, r Report) string {
	s := fmt.Sprintf("%s %s", r.Format, strings.Join(urls, " "))
	for _, reason := range slices.Sorted(maps.Keys(r.Refused)) {
		s += fmt.Sprintf(" -%d %s", r.Refused[reason], reason)
	}
	if f := r.Finding; f != nil {
		s += " !" + f.Reason
	}
	return s
}

func zip(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

func utf16(s string, e unicode.Endianness, mark unicode.BOMPolicy) string {
	b, err := unicode.UTF16(e, mark).NewEncoder().String(s)
	if err != nil {
		panic(err)
	}
	return b
}

const (
	set    = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`
	oneURL = set + `<url><loc>http://a.test/1</loc></url></urlset>`
)

func TestRead_Formats(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"urlset", `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + set + "\n<url>\n<loc>\n http://a.test/1 \n</loc></url>\n<url><loc>/2?x=1&amp;y=2</loc></url></urlset>\n",
			"urlset http://a.test/1 http://a.test/2?x=1&y=2"},
		{"index", `<sitemapindex><sitemap><loc>http://a.test/s1.xml.gz</loc><lastmod>2024-01-01</lastmod></sitemap></sitemapindex>`, "index http://a.test/s1.xml.gz"},
		{"rss 2.0", `<rss version="2.0"><channel><link>http://a.test/</link><image><link>http://a.test/no</link></image>` +
			`<item><title>x</title><link>http://a.test/1</link><guid>http://a.test/no</guid></item>` +
			`<item><guid>http://a.test/2</guid></item><item><guid isPermaLink="false">tag:3</guid></item></channel></rss>`,
			"rss http://a.test/1 http://a.test/2 -1 no address"},
		{"rss 1.0", `<rdf:RDF xmlns:rdf="x"><channel><link>http://a.test/</link></channel><item rdf:about="y"><link>http://a.test/1</link></item></rdf:RDF>`, "rss http://a.test/1"},
		{"rss with links of Atom", `<rss><channel><atom:link rel="self" href="http://a.test/no"/><item><atom:link href="http://a.test/no"/><link>http://a.test/1</link></item></channel></rss>`, "rss http://a.test/1"},
		{"rss with an article", `<rss><channel><item><link>http://a.test/1</link><content:encoded><![CDATA[<item><link>http://a.test/no</link></item>]]></content:encoded></item></channel></rss>`, "rss http://a.test/1"},
		{"atom", `<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://a.test/"/><entry><link rel="edit" href="/no"/><link href="/1"/><link href="/no"/></entry>` +
			`<entry><link rel=" ALTERNATE " href="2"/></entry><entry><link rel="self" href="/no"/></entry><entry><link href=""/></entry></feed>`,
			"atom http://a.test/1 http://a.test/maps/2 -2 no address"},
		{"atom with bases", `<feed xml:base="http://a.test/f/"><entry><link href="1"/></entry><entry xml:base="g/"><link href="2"/></entry><entry><link href="3"/></entry></feed>`,
			"atom http://a.test/f/1 http://a.test/f/g/2 http://a.test/f/3"},
		{"text", "\nhttp://a.test/1\r\n\r\n \thttp://a.test/2 \t\nhttp://a.test/3#x\nftp://a.test/\n/relative\nrunning text\nhttp://a.test/4", "text http://a.test/1 http://a.test/2 http://a.test/3 http://a.test/4 -2 malformed -1 scheme"},
		{"text with old line ends", "http://a.test/1\rhttp://a.test/2", "text http://a.test/1 http://a.test/2"},
		{"no text", "a letter\nto nobody", "text  -2 malformed !no sitemap"},
		{"html", "<!DOCTYPE html>\n<html><body><url><loc>http://a.test/</loc></url></body></html>", "  !no sitemap"},
		{"another XML", `<svg><url><loc>http://a.test/</loc></url></svg>`, "  !no sitemap"},
		{"binary", "%PDF-1.5\x00\x01", "  !no sitemap"},
		{"empty", "", "text  !no sitemap"},
		{"XML without elements", "<?xml version='1.0'?> <!-- nothing -->", "  !no sitemap"},
		{"empty set", set + "</urlset>", "urlset "},
		{"set closed at once", "<urlset/>", "urlset "},
	} {
		assert.Equal(t, tt.want, text(read(t, tt.body, "")), tt.name)
	}
}

func TestRead_XMLAsItIsFound(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"no namespace", `<urlset><url><loc>http://a.test/1</loc></url></urlset>`, "urlset http://a.test/1"},
		{"a wrong one", `<urlset xmlns="http://www.google.com/schemas/sitemap/0.84"><url><loc>http://a.test/1</loc></url></urlset>`, "urlset http://a.test/1"},
		{"prefixes", `<sm:urlset xmlns:sm="x"><sm:url><sm:loc>http://a.test/1</sm:loc></sm:url></sm:urlset>`, "urlset http://a.test/1"},
		{"case", `<URLSET><Url><LOC>http://a.test/1</LOC></Url></URLSET>`, "urlset http://a.test/1"},
		{"extensions", set + `<url><image:image><image:loc>http://a.test/no.png</image:loc><image:url>x</image:url></image:image><loc>http://a.test/1</loc><xhtml:link rel="alternate" href="/no"/></url></urlset>`, "urlset http://a.test/1"},
		{"an extension of the same name", set + `<url><loc>http://a.test/1</loc><v:url>x</v:url><v:loc><b>http://a.test/no</b></v:loc></url></urlset>`, "urlset http://a.test/1"},
		{"bare ampersands", set + `<url><loc>http://a.test/?a=1&b=2&copy=3&c</loc></url></urlset>`, "urlset http://a.test/?a=1&b=2&copy=3&c"},
		{"character references", set + `<url><loc>http://a.test/&#x41;&#66;&apos;</loc></url></urlset>`, "urlset http://a.test/AB'"},
		{"CDATA", set + `<url><loc><![CDATA[http://a.test/?a=1&b=2]]></loc></url></urlset>`, "urlset http://a.test/?a=1&b=2"},
		{"comments", set + `<!-- <url><loc>http://a.test/no</loc></url> --><url><loc>http://a<!-- x -->.test/1</loc></url></urlset>`, "urlset http://a.test/1"},
		{"two addresses", set + `<url><loc>http://a.test/1</loc><loc>http://a.test/2</loc></url></urlset>`, "urlset http://a.test/1 -1 second address"},
		{"no address", set + `<url><lastmod>2020</lastmod></url><url><loc> </loc></url><url><loc/></url></urlset>`, "urlset  -3 no address"},
		{"entities do not grow", `<!DOCTYPE urlset [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>` + set + `<url><loc>http://a.test/&b;&f;</loc></url></urlset>`, "urlset  -1 encoding"},
		{"another version", `<?xml version="1.1" encoding="UTF-8"?>` + oneURL, "urlset http://a.test/1"},
		{"blank lines first", "\n\n <?xml version='1.0'?>" + oneURL, "urlset http://a.test/1"},
		{"after the end", oneURL + "<junk", "urlset http://a.test/1"},
		{"elements that are not closed", set + `<url><loc>http://a.test/1<lastmod>2020</lastmod></url><url><loc>http://a.test/2</loc><url><loc>http://a.test/3</loc></url></urlset>`, "urlset http://a.test/1 http://a.test/2 http://a.test/3"},
		{"end tags without a start tag", set + `</a><url></b><loc>http://a.test/1</loc></url></urlset>`, "urlset http://a.test/1"},
		{"bad addresses", set + `<url><loc>http://[x/</loc></url><url><loc>mailto:x@a.test</loc></url><url><loc>http://a.test/` + strings.Repeat("x", 9000) + `</loc></url></urlset>`, "urlset  -1 malformed -1 scheme -1 url too long"},
	} {
		assert.Equal(t, tt.want, text(read(t, tt.body, "")), tt.name)
	}
}

func TestRead_Encodings(t *testing.T) {
	const cyrillic = set + `<url><loc>http://a.test/мир</loc></url></urlset>`
	const escaped = "urlset http://a.test/%D0%BC%D0%B8%D1%80"
	old := strings.NewReplacer("мир", "\xEC\xE8\xF0").Replace(cyrillic) // windows-1251
	for _, tt := range []struct{ name, body, contentType, want string }{
		{"UTF-8", cyrillic, "", escaped},
		{"UTF-8 with a mark", "\uFEFF<?xml version='1.0'?>" + cyrillic, "", escaped},
		{"the mark wins", "\uFEFF<?xml version='1.0' encoding='windows-1251'?>" + cyrillic, "text/xml; charset=windows-1251", escaped},
		{"by declaration", `<?xml version="1.0" encoding="windows-1251"?>` + old, "", escaped},
		{"by field", old, `text/xml; charset="Windows-1251"`, escaped},
		{"the field wins", `<?xml version="1.0" encoding="windows-1251"?>` + cyrillic, "text/xml;charset=UTF-8", escaped},
		{"an unknown encoding", `<?xml version="1.0" encoding="klingon"?>` + cyrillic, "text/xml; charset=romulan", escaped},
		{"UTF-16, little, marked", utf16(cyrillic, unicode.LittleEndian, unicode.UseBOM), "", escaped},
		{"UTF-16, big, marked", utf16(`<?xml version="1.0" encoding="UTF-16"?>`+cyrillic, unicode.BigEndian, unicode.UseBOM), "", escaped},
		{"UTF-16, little", utf16(cyrillic, unicode.LittleEndian, unicode.IgnoreBOM), "", escaped},
		{"UTF-16, big", utf16(cyrillic, unicode.BigEndian, unicode.IgnoreBOM), "", escaped},
		{"not in fact UTF-16", `<?xml version="1.0" encoding="UTF-16"?>` + cyrillic, "text/xml; charset=utf-16", escaped},
		{"text with a mark", "\uFEFFhttp://a.test/1\n", "", "text http://a.test/1"},
		{"text in UTF-16", utf16("http://a.test/1\n", unicode.LittleEndian, unicode.UseBOM), "", "text http://a.test/1"},
		{"invalid bytes", set + "<x>\xFF\x01</x><url><loc>http://a.test/\xE9</loc></url><url><loc>http://a.test/1</loc></url></urlset>", "", "urlset http://a.test/1 -1 encoding"},
		{"characters that XML does not allow", set + "<url><loc>http://a.test/\uFFFE</loc></url></urlset>", "", "urlset  -1 encoding"},
	} {
		assert.Equal(t, tt.want, text(read(t, tt.body, tt.contentType)), tt.name)
	}
}

func TestRead_GzipInside(t *testing.T) {
	whole := zip(oneURL)
	many := zip(set + strings.Repeat(`<url><loc>http://a.test/1</loc></url>`, 5000))
	for _, tt := range []struct {
		name, body, want string
	}{
		{"whole", whole, "urlset http://a.test/1"},
		{"two members", zip(oneURL[:70]) + zip(oneURL[70:]), "urlset http://a.test/1"},
		{"padding behind", whole + "\x00\x00\x00\x00", "urlset http://a.test/1"},
		{"text", zip("http://a.test/1\n"), "text http://a.test/1"},
		{"no gzip behind its first octets", "\x1f\x8bxxxxxxxxxxxxxxxx", "text  !gzip"},
		{"a text that is cut", zip("http://a.test/1\nhttp://a.test/2\n")[:30], "text http://a.test/1 !gzip"},
	} {
		urls, report := read(t, tt.body, "application/xml")
		if tt.name == "a text that is cut" { // the decoder decides how much is read
			if report.Finding == nil || report.Finding.Reason != FoundGzip {
				t.Errorf("%s: %+v", tt.name, report.Finding)
			}
			continue
		}
		assert.Equal(t, tt.want, text(urls, report), tt.name)
	}
	urls, report := read(t, many[:len(many)/2], "")
	if len(urls) == 0 || report.Finding == nil || report.Finding.Reason != FoundGzip {
		t.Errorf("cut in the middle: %d entries, %v", len(urls), report.Finding)
	}
}

func TestRead_DamagedXMLKeepsEarlierEntries(t *testing.T) {
	const good = set + `<url><loc>http://a.test/1</loc></url>`
	for _, tt := range []struct {
		name, rest, want string
		at               int // bytes into rest
	}{
		{"cut off", "", "cut off", 0},
		{"cut in an address", "<url><loc>http://a.test/2", "cut off", 25},
		{"cut in a tag", "<url><lo", "cut off", 8},
		{"cut behind an address", "<url><loc>http://a.test/2</loc>", "2 cut off", 31},
		{"no name", "<url>< loc>http://a.test/2</loc></url></urlset>", "damaged", 7},
		{"deep", strings.Repeat("<a>", 100), "too deep", 3 * 64},
		{"a long comment", "<!--" + strings.Repeat("x", maxToken+1), "too long", maxToken},
		{"a long text", strings.Repeat("x", maxToken+1), "too long", maxToken},
		{"a long tag", "<a" + strings.Repeat(" a", maxToken), "too long", maxToken},
	} {
		urls, report := read(t, good+tt.rest, "")
		want := []string{"http://a.test/1"}
		reason, second := strings.CutPrefix(tt.want, "2 ")
		if second {
			want = append(want, "http://a.test/2")
		}
		if !slices.Equal(urls, want) || report.Finding == nil || report.Finding.Reason != reason {
			t.Errorf("%s: %q, %v", tt.name, urls, report.Finding)
			continue
		}
		if got := int(report.Finding.Offset) - len(good); got < tt.at-3 || got > tt.at+3 {
			t.Errorf("%s: the finding is at byte %d of the rest, want about %d", tt.name, got, tt.at)
		}
	}
}

func TestRead_FindingsQuotePrintableText(t *testing.T) {
	for _, body := range []string{"<a\u202Eb\u009Bc>", "<urlset><a\u202E\u009B\u0085>", "<urlset><\u202E>", "<urlset><a b=\u202E></" + strings.Repeat("é", 500) + "\u202E>x</"} {
		_, report := read(t, body, "")
		s := report.Finding.String()
		if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) || len(s) > 200 {
			t.Errorf("%q: %q", body, s)
		}
	}
}

func TestRead_LimitsOfTheProtocol(t *testing.T) {
	many := set + strings.Repeat(`<url><loc>http://a.test/1</loc></url>`, MaxEntries+10) + "</urlset>"
	n := 0
	report, err := Read(Input{URL: urlOf(t, at), Body: strings.NewReader(many)}, func(Entry) error { n++; return nil })
	if err != nil || n != MaxEntries || report.Refused[ReasonTooMany] != 10 || report.Finding != nil {
		t.Errorf("%d entries, %+v, %v", n, report, err)
	}
	body := io.MultiReader(strings.NewReader(set+`<url><loc>http://a.test/1</loc></url>`), io.LimitReader(blanks{}, MaxSize), strings.NewReader(`<url><loc>http://a.test/2</loc></url></urlset>`))
	if testing.Short() {
		return
	}
	n = 0
	report, err = Read(Input{URL: urlOf(t, at), Body: body}, func(Entry) error { n++; return nil })
	if err != nil || n != 1 || report.Finding == nil || report.Finding.Reason != FoundLarge {
		t.Errorf("%d entries, %+v, %v, %v", n, report, report.Finding, err)
	}
}

type blanks struct{}

var piece = "<x/>" + strings.Repeat(" ", 252)

func (blanks) Read(p []byte) (int, error) {
	n := 0
	for n+len(piece) <= len(p) {
		n += copy(p[n:], piece)
	}
	return n, nil
}

func TestRead_ClaimsOfEntries(t *testing.T) {
	got, _ := entriesOf(t, set+`<url><loc>/1</loc><lastmod>2024-02-03T04:05:06+01:00</lastmod><changefreq> Daily</changefreq></url>`+
		`<url><loc>/2</loc><lastmod>yesterday</lastmod><changefreq>hardly</changefreq></url></urlset>`, "")
	want := []Entry{
		{LastMod: time.Date(2024, 2, 3, 3, 5, 6, 0, time.UTC), ChangeFreq: "daily"}, {},
	}
	for i := range got {
		got[i].URL = canon.URL{}
	}
	assert.Equal(t, want, got)
	for in, want := range map[string]string{
		"2024": "2024-01-01 00:00:00", "2024-05": "2024-05-01 00:00:00", "2024-05-06": "2024-05-06 00:00:00",
		"2024-05-06T07:08Z": "2024-05-06 07:08:00", "2024-05-06T07:08:09.5-02:00": "2024-05-06 09:08:09.5",
		"Mon, 06 May 2024 07:08:09 GMT": "2024-05-06 07:08:09", "6 May 24 07:08:09 +0100": "2024-05-06 06:08:09", "06 May 2024 07:08:09 +0100": "2024-05-06 06:08:09",
		"": "", "0000-00-00": "", "2024-13-01": "",
	} {
		got := ""
		if d := dateOf(in); !d.IsZero() {
			got = d.Format("2006-01-02 15:04:05.999")
		}
		assert.Equal(t, want, got, in)
	}
}

func TestRead_OnlyBodyFailuresAreErrors(t *testing.T) {
	broken := errors.New("the disk")
	for _, body := range []string{oneURL[:80], zip(oneURL)[:20], "http://a.test/\n", ""} {
		in := Input{URL: urlOf(t, at), Body: io.MultiReader(strings.NewReader(body), iotest.ErrReader(broken))}
		if _, err := Read(in, func(Entry) error { return nil }); !errors.Is(err, broken) {
			t.Errorf("%q: %v", body, err)
		}
	}
	stop := errors.New("enough")
	for _, body := range []string{oneURL, "http://a.test/1\nhttp://a.test/2"} {
		n := 0
		_, err := Read(Input{URL: urlOf(t, at), Body: strings.NewReader(body)}, func(Entry) error { n++; return stop })
		assert.ErrorIs(t, err, stop, body)
		assert.Equal(t, 1, n, body)
	}
}
