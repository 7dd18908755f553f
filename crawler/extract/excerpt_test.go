package extract

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// toldOf is a mention as it can be compared.
func toldOf(m Mention) string {
	return fmt.Sprintf("%d %v %q %q %q %q %+v", m.Fate, m.URL, m.Raw, m.Words, m.Text, m.Reason, m.Link.Element+m.Link.Attr+fmt.Sprint(m.Rel, m.Embed, m.Refresh))
}

// excerpted reads a page as a crawl that keeps an excerpt does, and then the mentions of that; ok is false where there
// is none. want are the mentions of the page itself, and what it says.
func excerpted(t testing.TB, x *Extractor, in Input, body []byte) (got, want []string, of, page Page, ok bool) {
	t.Helper()
	read := func(in Input) Page {
		in.Body, in.Size = bytes.NewReader(body), int64(len(body))
		p, err := x.HTML(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var kept Excerpt
	crawling := in
	crawling.Excerpt = &kept
	plain, found := read(in), read(crawling)
	if !slices.Equal(plain.Links, found.Links) || plain.Title != found.Title {
		t.Fatalf("%q: an excerpt changes what is found", body)
	}
	telling := in
	telling.Mention = func(m Mention) { want = append(want, toldOf(m)) }
	page = read(telling)
	if kept.Empty() {
		return nil, want, of, page, false
	}
	telling.Mention = func(m Mention) { got = append(got, toldOf(m)) }
	of, err := x.Excerpt(context.Background(), telling, kept)
	return got, want, of, page, err == nil
}

// alikeByExcerpt fails unless the mentions of an excerpt are those of its page.
func alikeByExcerpt(t testing.TB, x *Extractor, in Input, body []byte) (used bool) {
	t.Helper()
	got, want, of, page, ok := excerpted(t, x, in, body)
	if ok && (!slices.Equal(got, want) || of.Unparsed != page.Unparsed || of.Robots.NoFollow != page.Robots.NoFollow || of.Base != page.Base || of.Charset != page.Charset) {
		t.Fatalf("%.2000q:\n got %s\nwant %s\n%q, want %q", body, strings.Join(got, "\n"), strings.Join(want, "\n"), of.Unparsed, page.Unparsed)
	}
	return ok
}

// What is read of an excerpt is what is read of its page, whatever that is.
func TestExcerpt_SaysWhatThePageSays(t *testing.T) {
	x := New()
	used := 0
	for _, body := range prunable(t) {
		if alikeByExcerpt(t, x, input(t, nil), []byte(body)) {
			used++
		}
	}
	for seed := range 3000 {
		body := randomPage(rand.New(rand.NewPCG(uint64(seed), 7)))
		if alikeByExcerpt(t, x, input(t, nil), body) {
			used++
		}
	}
	if used < 2000 {
		t.Errorf("only %d had an excerpt", used)
	}
	if !alikeByExcerpt(t, x, input(t, nil), usual()) {
		t.Error("a usual page has none")
	}
	latin := input(t, nil)
	latin.ContentType = "text/html; charset=windows-1252"
	if !alikeByExcerpt(t, x, latin, []byte("x<a href='?q=\xe9'>caf\xe9</a>")) {
		t.Error("a page in another encoding has none")
	}
	for name, body := range map[string]string{"application/xhtml+xml": "<html><a href=x/></html>", "text/html": strings.Repeat("x", largeTree+1)} {
		in := input(t, nil)
		in.ContentType = name
		if _, _, _, _, ok := excerpted(t, x, in, []byte(body)); ok {
			t.Errorf("%s of %d bytes has one", name, len(body))
		}
	}
}

// The same of a well-kept manual: all of its pages with CURTSY_LONG, else a fifth.
func TestExcerpt_OfAManual(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads much, for long under the race detector")
	}
	pages, used, raw, kept := 0, 0, 0, 0
	x := New()
	for i, path := range corpus(t) {
		if i%5 > 0 && os.Getenv("CURTSY_LONG") == "" {
			continue
		}
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		raw += len(body)
		in := input(t, body)
		in.Excerpt = new(Excerpt)
		if _, err := x.HTML(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		kept += len(in.Excerpt.Text)
		if alikeByExcerpt(t, x, input(t, nil), body) {
			used++
		}
	}
	t.Logf("%d of %d pages have an excerpt; %d of %d bytes", used, pages, kept, raw)
	if used < pages*9/10 {
		t.Errorf("%d of %d pages have an excerpt", used, pages)
	}
}

func FuzzExcerpt_SaysWhatThePageSays(f *testing.F) {
	for _, seed := range prunable(f) {
		f.Add(seed)
	}
	f.Add(string(usual()))
	x := New()
	f.Fuzz(func(t *testing.T, body string) { alikeByExcerpt(t, x, input(t, nil), []byte(body)) })
}

// To keep an excerpt takes no memory anew for each page.
func TestExcerpt_Allocations(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts allocations, which the race detector adds to")
	}
	x := New()
	body := usual()
	var kept Excerpt
	allocs := func(e *Excerpt) float64 {
		return testing.AllocsPerRun(50, func() {
			in := input(t, body)
			in.Excerpt = e
			if _, err := x.HTML(context.Background(), in); err != nil {
				t.Fatal(err)
			}
		})
	}
	if without, with := allocs(nil), allocs(&kept); with > without+0.5 {
		t.Errorf("%v allocations with an excerpt, %v without", with, without)
	}
}
