package sitemap

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

type written struct {
	body string
	urls []string
}

func write(r *rand.Rand) written {
	var w written
	for range r.IntN(40) {
		w.urls = append(w.urls, fmt.Sprintf("http://a.test/%d?x=%d&y=%c", r.IntN(1000), r.IntN(10), 'a'+rune(r.IntN(26))))
	}
	prefix := []string{"", "", "sm:"}[r.IntN(3)]
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	noise := func() string {
		return pick("", "", "\n\t", "<!-- <loc>http://a.test/no</loc> -->", "<?p q?>", "<x:y><x:loc>http://a.test/no</x:loc></x:y>", "<unclosed>", "</stray>")
	}
	address := func(u string) string {
		var b bytes.Buffer
		xml.EscapeText(&b, []byte(u))
		return pick("", " ", "\n") + pick(b.String(), "<![CDATA["+u+"]]>", u) + pick("", "\r\n ")
	}
	var b strings.Builder
	switch r.IntN(5) {
	case 0:
		for _, u := range w.urls {
			b.WriteString(pick("", " ") + u + pick("\n", "\r\n", "\n\n"))
		}
		if len(w.urls) == 0 {
			b.WriteString("<urlset/>")
		}
	case 1, 2:
		root, name := pick("urlset url", "sitemapindex sitemap"), ""
		root, name, _ = strings.Cut(root, " ")
		fmt.Fprintf(&b, "%s<%s%s xmlns=%q>", pick("", "<?xml version='1.0' encoding='UTF-8'?>\n"), prefix, root, pick("", "x"))
		for _, u := range w.urls {
			fmt.Fprintf(&b, "%s<%s%s>%s<%sloc>%s</%sloc>%s%s", noise(), prefix, name, pick("", "\n<!-- x -->"), prefix, address(u), prefix, noise(),
				pick(fmt.Sprintf("</%s%s>", prefix, name), fmt.Sprintf("</%s%s>", prefix, name), ""))
		}
		fmt.Fprintf(&b, "</%s%s>", prefix, root)
	case 3:
		b.WriteString("<rss version='2.0'><channel><link>http://a.test/no</link>")
		for _, u := range w.urls {
			fmt.Fprintf(&b, "<item>%s<%s>%s</%s>%s</item>", pick("", "<title>x</title>"), "link", address(u), "link", pick("", "<guid isPermaLink='false'>1</guid>"))
		}
		b.WriteString("</channel></rss>")
	default:
		b.WriteString("<feed xmlns='http://www.w3.org/2005/Atom'>")
		for _, u := range w.urls {
			fmt.Fprintf(&b, "<entry>%s<link %s href=\"%s\"/></entry>", pick("", "<title>x</title>", "<link rel='self' href='/no'/>"), pick("", "rel='alternate'"), pick(u, strings.ReplaceAll(u, "&", "&amp;")))
		}
		b.WriteString("</feed>")
	}
	w.body = b.String()
	if r.IntN(4) == 0 {
		w.body = "\uFEFF" + w.body
	}
	if r.IntN(3) == 0 {
		w.body = zip(w.body)
	}
	return w
}

// A file that is cut gives a beginning of its addresses.
func FuzzRead_FindsAllThatIsListed(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seed, seed*977)
	}
	f.Fuzz(func(t *testing.T, seed, cut uint64) {
		w := write(rand.New(rand.NewPCG(seed, 1)))
		urls, report := read(t, w.body, "")
		if !slices.Equal(urls, w.urls) || report.Finding != nil && len(w.urls) > 0 {
			t.Fatalf("%q:\n got %q, %v\nwant %q", w.body, urls, report.Finding, w.urls)
		}
		part := w.body[:cut%uint64(len(w.body)+1)]
		urls, report = read(t, part, "")
		if report.Format == Text && len(urls) > 0 {
			urls = urls[:len(urls)-1] // a cut line cannot be recognized
		}
		if len(urls) > len(w.urls) || !slices.Equal(urls, w.urls[:len(urls)]) {
			t.Fatalf("%q, cut:\n got %q, %v\nwant a beginning of %q", part, urls, report.Finding, w.urls)
		}
	})
}

func FuzzRead_DoesNotDependOnHowTheOctetsCome(f *testing.F) {
	for seed := range uint64(16) {
		f.Add([]byte(write(rand.New(rand.NewPCG(seed, 2))).body), "text/xml")
	}
	for _, s := range []string{"", "<", "\x1f\x8b", "\xff\xfe<\x00", "http://a.test/\x7f", oneURL[:90], "<urlset><url><loc>&#0;</loc>", "<feed><entry><link href=''"} {
		f.Add([]byte(s), "text/plain; charset=utf-16")
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		slow, one := read(t, string(body), contentType)
		var whole []string
		report, err := Read(Input{URL: urlOf(t, at), ContentType: contentType, Body: iotest.DataErrReader(bytes.NewReader(body))}, func(e Entry) error {
			require.Equal(t, e.URL, urlOf(t, e.URL.String()))
			whole = append(whole, e.URL.String())
			return nil
		})
		if err != nil || !slices.Equal(slow, whole) || text(nil, one) != text(nil, report) {
			t.Fatalf("%q: octet by octet %q, %+v; at once %q, %+v, %v", body, slow, one, whole, report, err)
		}
		if report.Finding == nil && report.Format == None || report.Entries > MaxEntries {
			t.Fatalf("%q: %+v", body, report)
		}
	})
}

// flood is a large file: begin, then piece repeated. At every MiB it measures the heap.
type flood struct {
	begin, piece string
	size         int64
	out, next    int64
	most         uint64
}

func (w *flood) Read(p []byte) (int, error) {
	if w.out >= w.size {
		return 0, io.EOF
	}
	if w.out >= w.next {
		w.next += 1 << 20
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w.most = max(w.most, m.HeapAlloc)
	}
	for i := range p {
		if at := w.out + int64(i); at < int64(len(w.begin)) {
			p[i] = w.begin[at]
		} else {
			p[i] = w.piece[(at-int64(len(w.begin)))%int64(len(w.piece))]
		}
	}
	w.out += int64(len(p))
	return len(p), nil
}

func TestRead_MemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	for name, w := range map[string]*flood{
		"entries":           {begin: set, piece: "<url><loc>http://a.test/1</loc></url>"},
		"entries not ended": {begin: set, piece: "<url>"},
		"elements":          {begin: set, piece: "<a>"},
		"elements, other":   {begin: set, piece: "<a></b>"},
		"attributes":        {begin: set + "<a", piece: " a"},
		"text":              {begin: set, piece: "x"},
		"address":           {begin: set + "<url><loc>", piece: "x"},
		"address in pieces": {begin: set + "<url><loc>", piece: "x<!---->"},
		"comment":           {begin: set + "<!--", piece: "x"},
		"document type":     {begin: "<!DOCTYPE x [", piece: "<!ENTITY a 'b'>"},
		"lines":             {begin: "", piece: "http://a.test/1\n"},
		"one line":          {begin: "http://a.test/", piece: "x"},
		"blank":             {begin: "", piece: " "},
		"no characters":     {begin: set, piece: "\xFF\xFE</x>"},
	} {
		w.size = 3 << 20
		if os.Getenv("CURTSY_LONG") != "" {
			w.size = 2 * MaxSize
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if _, err := Read(Input{URL: urlOf(t, at), Body: w}, func(Entry) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if held := int64(w.most) - int64(m.HeapAlloc); held > 1<<20 {
			t.Errorf("%s: %d KiB were held", name, held>>10)
		}
	}
}
