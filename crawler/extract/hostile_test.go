package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"curtsy/frontier/canon"
	"curtsy/storage/markup"
)

func TestRule22_LinksBeyondTheLimitAreCounted(t *testing.T) {
	skipShort(t)
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, `<a href="/%d"></a>`, i)
	}
	b.WriteString(`<a href="/0"><img src="/0"><a href="mailto:x">`)
	page := extract(t, b.String())
	if len(page.Links) != MaxLinks || page.Links[MaxLinks-1].URL.Path() != "/5999" {
		t.Errorf("%d links, the last %s", len(page.Links), page.Links[len(page.Links)-1].URL)
	}
	// A requisite of a full page is also dropped; a further mention of a link is still a repeat.
	assert.Equal(t, 100_000-MaxLinks+2, page.Dropped)
	assert.Equal(t, 1, page.Repeats)
}

func TestRefused_AreCountedOnceTheLimitOfMemoryIsReachedToo(t *testing.T) {
	var b strings.Builder
	for i := range maxRemembered + 100 {
		fmt.Fprintf(&b, `<a href="mailto:%d"><img src="data:,%d">`, i, i)
	}
	b.WriteString(`<a href=x><a href=x><img src="http://"><a href="/` + strings.Repeat("x", canon.MaxLength) + `">`)
	page := extract(t, b.String())
	want := map[canon.Reason]int{canon.Scheme: 2 * (maxRemembered + 100), canon.NoHost: 1, canon.TooLong: 1}
	for reason, n := range want {
		assert.Equal(t, n, page.Refused[reason], reason)
	}
	if len(page.Refused) != len(want) || lines(page) != "a href /dir/x" || page.Repeats != 1 {
		t.Errorf("%v, %q, %d repeats", page.Refused, lines(page), page.Repeats)
	}
}

func TestUnparsed_TooDeep(t *testing.T) {
	for _, n := range []int{600, 100_000} {
		head := `<head><meta name=robots content=noarchive><base href=/b/></head><body><a href=x>`
		page := extract(t, head+strings.Repeat("<div>", n), "X-Robots-Tag", "noindex", "Refresh", "0; url=y")
		if page.Unparsed != UnparsedDeep || len(page.Links) != 0 || page.Base.String() != pageURL || page.Charset != "utf-8" {
			t.Errorf("%d: %q, %q, %s, %s", n, page.Unparsed, lines(page), page.Base, page.Charset)
		}
		assert.Equalf(t, "noindex, noarchive", page.Robots.String(), "%d: the directives of the page are lost", n)
	}
	if page := extract(t, strings.Repeat("<div>", 500)+"<a href=x>"); page.Unparsed != "" || len(page.Links) != 1 {
		t.Errorf("500 elements: %q, %d links", page.Unparsed, len(page.Links))
	}
}

func TestUnparsed_TooLong(t *testing.T) {
	skipShort(t)
	const first = "<a href=first>"
	fill := func(n int) string { return first + strings.Repeat(" ", n-len(first)) }
	for _, tt := range []struct{ rule, body, want, unparsed string }{
		{"exactly the limit", fill(MaxParse-14) + "<a href=/last>", "a href /dir/first; a href /last", ""},
		{"one octet more", fill(MaxParse-13) + "<a href=/last>", "a href /dir/first", UnparsedLong},
		{"behind the limit", fill(MaxParse) + "<a href=/last>", "a href /dir/first", UnparsedLong},
	} {
		if page := extract(t, tt.body); lines(page) != tt.want || page.Unparsed != tt.unparsed {
			t.Errorf("%s: %q, %q; want %q, %q", tt.rule, lines(page), page.Unparsed, tt.want, tt.unparsed)
		}
	}
}

func TestHostile_OddOctets(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	for _, tt := range []struct{ rule, body, want string }{
		{"NUL", "<a\x00 href=x><a href=\"a\x00b\"><a hr\x00ef=y>\x00", "a href /dir/a%EF%BF%BDb"},
		{"a huge attribute", "<a href=" + big + "><a title=" + big + " href=x>", "a href /dir/x"},
		{"many attributes", "<a " + strings.Repeat("x=y ", 1<<16) + "href=x>", "a href /dir/x"},
		{"an attribute twice: the first wins", "<a href=x href=y>", "a href /dir/x"},
		{"a cut tag", "<a href=x><a href=y", "a href /dir/x"},
		{"nothing", "", ""},
		{"noise", "\xff\xfe\x00<a href=x>", ""},
		{"a huge srcset", "<img srcset='" + strings.Repeat("x 1x,", 1<<18) + "'>", "+img srcset /dir/x"},
	} {
		page := extract(t, tt.body)
		assert.Equal(t, tt.want, lines(page), tt.rule)
	}
}

func TestUnparsed_TooManyAttributes(t *testing.T) {
	full := "<a href=first>x</a><p" + strings.Repeat(" attr", markup.Max-2) // a large page, which is not pruned
	for _, tt := range []struct{ rule, body, want, unparsed string }{
		{"exactly the limit", full + "><a href=last>", "a href /dir/first; a href /dir/last", ""},
		{"one more", full + " x><a href=last>", "a href /dir/first", UnparsedAttrs},
		{"no quote in a comment hides them", "<!-- <p a=\" -->" + full + " x><a href=last>", "a href /dir/first", UnparsedAttrs},
	} {
		if page := extract(t, tt.body); lines(page) != tt.want || page.Unparsed != tt.unparsed {
			t.Errorf("%s: %q, %q; want %q, %q", tt.rule, lines(page), page.Unparsed, tt.want, tt.unparsed)
		}
	}
}

func TestTitle_IsCollapsedAndBounded(t *testing.T) {
	for html, want := range map[string]string{
		"<title> a\n\t b &lt;i&gt; </title><title>c</title>":    "a b <i>",
		"<title></title><title>c</title>":                       "",
		"<svg><title>s</title></svg><title>a</title>":           "a",
		"<title>\xff\xfea</title>":                              "a",
		"<title>" + strings.Repeat("é", 1<<20) + "</title>":     strings.Repeat("é", maxTitle/2),
		"<title>" + strings.Repeat(" \n", 100_000) + "</title>": "",
		"no title": "",
	} {
		assert.Equalf(t, want, extract(t, html).Title, "%.50q", html)
	}
}

func TestHTML_OnlyBodyFailuresAreErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	for name, size := range map[string]int{"in the head": 10, "behind the head": headSize + 5000, "at its end": headSize} {
		body := faulty{strings.NewReader(strings.Repeat(" ", size)), broken}
		page, err := New().HTML(context.Background(), Input{URL: parse(t, pageURL), Body: body})
		if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "extract: read the body of "+pageURL) || page.Links != nil || page.Charset != "" {
			t.Errorf("%s: %v, %+v", name, err, page)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := New().HTML(ctx, Input{URL: parse(t, pageURL)}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	if page, err := New().HTML(context.Background(), Input{URL: parse(t, pageURL)}); err != nil || page.Unparsed != "" {
		t.Errorf("no body: %v, %q", err, page.Unparsed)
	}
}

func TestHTML_IsCancelledBetweenReads(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	reads := 0
	body := readFunc(func(p []byte) (int, error) {
		if reads++; reads == 10 {
			cancel()
		}
		return copy(p, strings.Repeat("<p>", 1000)), nil
	})
	if _, err := New().HTML(ctx, Input{URL: parse(t, pageURL), Body: body}); !errors.Is(err, context.Canceled) || reads != 10 {
		t.Errorf("%v after %d reads; want it cancelled after 10", err, reads)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestLargeTrees_WaitBySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New()
		gate := make(chan struct{})
		var within, most, done atomic.Int32
		large := func() io.Reader { // its head comes at once, the rest when the gate opens
			return io.MultiReader(strings.NewReader(strings.Repeat(" ", headSize)), readFunc(func([]byte) (int, error) {
				now := within.Add(1)
				for m := most.Load(); m < now && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				<-gate
				within.Add(-1)
				return 0, io.EOF
			}))
		}
		for i := range 6 {
			size := int64(0)
			if i%2 == 0 {
				size = MaxParse
			}
			go func() {
				if _, err := x.HTML(context.Background(), Input{Body: large(), Size: size}); err == nil {
					done.Add(1)
				}
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		stopped := make(chan error, 1)
		go func() {
			_, err := x.HTML(ctx, Input{Body: large(), Size: 1 << 20})
			stopped <- err
		}()
		synctest.Wait()
		assert.EqualValues(t, 1, within.Load(), "large pages are being read; want 1")
		cancel()
		assert.ErrorIs(t, <-stopped, context.Canceled, "the wait was cancelled")
		for _, size := range []int64{0, 100, largeTree} { // a body counts with its size
			body := strings.Repeat("x", int(size))
			if _, err := x.HTML(context.Background(), Input{Body: strings.NewReader(body), Size: size}); err != nil {
				t.Error(err)
			}
		}
		close(gate)
		synctest.Wait()
		assert.EqualValues(t, 6, done.Load())
		assert.EqualValues(t, 1, most.Load())
	})
}
