package text

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endless repeats a piece up to a number of bytes.
type endless struct {
	piece string
	at    int
	left  int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && n < e.left {
		m := copy(p[n:min(len(p), e.left)], e.piece[e.at:])
		e.at = (e.at + m) % len(e.piece)
		n += m
	}
	e.left -= n
	return n, nil
}

// hostile are pages of any size that are as costly as possible.
var hostile = map[string]struct{ begin, piece, cut, noMain string }{
	"text":                        {"<p>", "word and word, ", CutText, NoRoom},
	"one word":                    {"<p>", "a", CutText, NoRoom},
	"text without an element":     {"", "日本語の", CutText, NoRoom},
	"elements":                    {"", "<p>a", CutText, NoElements},
	"nesting":                     {"", "<div>", CutLong, NoText},
	"nesting with text":           {"", "<div>a", CutText, NoElements},
	"formatting left open":        {strings.Repeat("<b class=a>", 400), "<p>a", CutText, NoElements},
	"links left open":             {"", "<a href=/><table><td>x", CutAttrs, NoElements},
	"attributes of one element":   {"<p ", "a ", CutAttrs, NoText},
	"attributes of many elements": {"", "<p a b c d e f>a", CutAttrs, NoElements},
	"a long attribute":            {"<p class='", "abc ", CutLong, NoText},
	"a long name":                 {"<", "a", CutLong, NoText},
	"a script":                    {"<p>text<script>", "a=1;", CutLong, NoArticle},
	"a title":                     {"<title>", "word ", CutText, NoRoom},
	"templates":                   {"<p>text", "<template>", CutLong, NoArticle},
	"svg":                         {"<p>text", "<svg>", CutLong, NoArticle},
	"references":                  {"<p>", "&amp;", CutText, NoRoom},
	"no UTF-8":                    {"<meta charset=utf-8><p>", "\xff", CutLong, NoRoom},
	"white space":                 {"<pre>a", " \n", CutLong, NoRoom},
	"line breaks":                 {"a", "<br>", CutLong, NoElements},
	"comments":                    {"a<!--", "--", CutLong, NoArticle},
	"control characters":          {"a", "\x01", CutLong, NoRoom},
}

func TestHostile_PageCostIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	size := 12 << 20
	if os.Getenv("CURTSY_LONG") != "" {
		size = 100 << 20
	}
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			body := &endless{piece: c.piece, left: size}
			p, err := Read(t.Context(), Input{ContentType: "text/html", Body: io.MultiReader(strings.NewReader(c.begin), body)})
			require.NoError(t, err)
			runtime.ReadMemStats(&after)
			sound(t, p)
			if p.Main != "" { // a short text may be one
				p.NoMain = NoArticle
			}
			if p.Cut != c.cut || p.NoMain != c.noMain {
				t.Errorf("cut %q, no main text: %q; want %q, %q", p.Cut, p.NoMain, c.cut, c.noMain)
			}
			all := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%d MiB in all, %d MiB read", all, (size-body.left)>>20)
			if all > 100 || size-body.left > MaxRead+1<<20 {
				t.Errorf("%d MiB in all, %d MiB read", all, (size-body.left)>>20)
			}
		})
	}
}

func TestHostile_TheExtractorIsGivenLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds, and counts octets that the race detector adds to")
	}
	fill := func(piece, end string, n int) string { return strings.Repeat(piece, n) + strings.Repeat(end, n) }
	lines := 4500
	if os.Getenv("CURTSY_LONG") != "" {
		lines = 18_000
	}
	deep := fill("<div class=article>", "</div>", 490)
	for name, page := range map[string]string{
		"paragraphs":       fill("<p>A line, with a comma, and more.", "", 19_000),
		"deep":             fill("<div>text, and text", "</div>", 490),
		"deep and wide":    strings.Replace(deep, "</div>", strings.Repeat("<p>A line, with a comma, and another.</p>", lines)+"</div>", 1),
		"lists":            fill("<ul><li><a href=/>a</a>", "", 200) + fill("<li><a href=/>link</a> text", "", 8_000),
		"tables":           fill("<table><tr><td>a, b", "</table>", 100) + fill("<table><tr><td>text, text", "</table>", 300),
		"rows":             "<table>" + fill("<tr><td colspan=99999999 rowspan=99999999>a, b and c", "", 9_000),
		"line breaks":      "<div>" + fill("a<br><br>", "", 9_000),
		"divs of one":      fill("<div><div><p>a, b, c, d, e, f, g, h</p></div></div>", "", 6_000),
		"classes":          fill(`<p class="`+strings.Repeat("comment ", 30)+`">a, b`, "", 3_000),
		"one long text":    "<p>" + fill("a, ", "", 300_000),
		"hidden":           fill("<div style='display:none'>a, b, c", "</div>", 400),
		"headings":         "<title>" + fill("a word ", "", 2_000) + "</title>" + fill("<h2>"+fill("a word ", "", 10)+"</h2>", "", 5_000),
		"one long heading": "<title>" + fill("a word ", "", 20_000) + "</title>" + "<h1>" + fill("a word ", "", 50_000) + "</h1><p>text",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p := read(t, "text/html", page)
			runtime.ReadMemStats(&after)
			sound(t, p)
			all := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%d MiB in all, main text of %d bytes, %s", all, len(p.Main), p.NoMain)
			if all > 400 {
				t.Errorf("%d MiB in all", all)
			}
		})
	}
}

func sound(t testing.TB, p Page) {
	t.Helper()
	for what, s := range map[string]string{"whole": p.Whole, "main": p.Main} {
		switch {
		case !utf8.ValidString(s):
			t.Errorf("the %s text is not UTF-8", what)
		case len(s) > MaxText:
			t.Errorf("the %s text has %d bytes", what, len(s))
		case strings.Contains(s, "\n\n") || strings.HasPrefix(s, "\n") || strings.HasSuffix(s, "\n"):
			t.Errorf("the %s text has an empty line", what)
		case strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) >= 0:
			t.Errorf("the %s text has a control character", what)
		}
	}
	assert.Equalf(t, (p.NoMain != ""), (p.Main == ""), "a main text of %d bytes, and %q", len(p.Main), p.NoMain)
	for _, tag := range []string{p.Declared.HTML, p.Declared.Meta, p.Declared.Header} {
		assert.Equal(t, languageTag(tag), tag, "declared")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("text/html", page())
	f.Add("application/xhtml+xml", "<html xml:lang='de'><title/><p>a</p></html>")
	f.Add("text/plain; charset=utf-16", "a\x00b\x00")
	for _, c := range hostile {
		f.Add("text/html", c.begin+strings.Repeat(c.piece, 20))
	}
	f.Fuzz(func(t *testing.T, contentType, body string) {
		in := Input{ContentType: contentType, ContentLanguage: contentType, Body: strings.NewReader(body)}
		p, err := Read(t.Context(), in)
		require.NoError(t, err)
		sound(t, p)
		if p.NoMain == NoExtract {
			t.Logf("the extractor failed")
		}
		in.Body, in.WholeOnly = strings.NewReader(body), true
		if w, err := Read(t.Context(), in); err != nil || w.Whole != p.Whole || fmt.Sprint(w.Language) != fmt.Sprint(p.Language) {
			t.Errorf("the whole text differs without the main text: %q, %q, %v", w.Whole, p.Whole, err)
		}
	})
}
