package crawltest

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"image"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/andybalholm/brotli"

	"curtsy/crawler/crawltest/visitor"
)

// Whatever the pages of the ordeal refer to is there, unless it is said to be absent; and whatever is there is referred
// to.
func TestOrdealLacksNothingAndHasNothingToSpare(t *testing.T) {
	o := Torture()
	absent := map[string]bool{}
	for _, a := range o.Absent {
		absent[a.URL] = true
	}
	referred := map[place]bool{{tortureHost, "/"}: true, {tortureHost, RobotsPath}: true, {closedHost, RobotsPath}: true}
	for _, h := range o.order {
		for k, l := range h.now().pages {
			for _, ref := range slices.Concat(l.Links, l.Embeds, []string{l.Redirect}) {
				to, ok := o.resolve(place{h.name, k}, ref)
				if ref == "" || !ok {
					continue
				}
				referred[to] = true
				if there := o.hosts[to.host].now().pages[to.key]; there == nil && !absent[to.String()] {
					t.Errorf("%s refers to %s, which is not there", place{h.name, k}, to)
				}
			}
		}
	}
	for _, a := range o.Absent {
		if to, ok := o.resolve(place{tortureHost, "/"}, a.URL); ok {
			referred[to] = true
		}
	}
	for _, h := range o.order {
		for k := range h.now().pages {
			if !referred[place{h.name, k}] && !strings.HasPrefix(k, "/robots") && !(h.name == neighbourHost) {
				t.Errorf("nothing refers to %s", place{h.name, k})
			}
		}
	}
}

// All pages in scope can be reached from the seed by links and embeds.
func TestOrdealIsReachedFromItsSeed(t *testing.T) {
	o := Torture()
	reached := o.Reach("curtsy", "http://"+tortureHost+"/")
	for k := range o.hosts[tortureHost].now().pages {
		u := place{tortureHost, k}.String()
		if slices.Contains(reached, u) || strings.HasPrefix(k, "/private/") || k == RobotsPath {
			continue
		}
		t.Errorf("%s cannot be reached", u)
	}
	if len(reached) < 300 {
		t.Errorf("%d URLs", len(reached))
	}
}

// What tells a picture from all others is so.
func TestOrdealsPicturesAreWhatPagesExpect(t *testing.T) {
	r := newRack(tortureHost)
	seen := map[string]place{}
	for _, ext := range []string{".png", ".gif", ".jpg", ".svg", ".wav", ".woff", ".ttf", ".vtt", "", ".png"} {
		for _, name := range []string{"a", "b"} {
			at := place{tortureHost, "/" + name + ext}
			want := r.want(at)
			if other, known := seen[want]; known && other != at && ext != ".vtt" {
				t.Errorf("%s and %s are both %s", at, other, want)
			}
			seen[want] = at
			p := r.sites[tortureHost].Pages[at.key]
			if !strings.HasPrefix(p.Type, "image/") || ext == ".svg" {
				continue
			}
			c, kind, err := image.DecodeConfig(strings.NewReader(p.Body))
			if err != nil || sizeOf(c.Width, c.Height) != want || !strings.HasSuffix(p.Type, kind) {
				t.Errorf("%s: %s %+v, %v; want %s", at, kind, c, err, want)
			}
		}
	}
	if n := len(r.sites[tortureHost].Pages); n != 18 {
		t.Errorf("%d resources", n)
	}
}

func TestOrdealsDrawingsAreXML(t *testing.T) {
	n := 0
	for _, h := range Torture().order {
		for k, l := range h.now().pages {
			if l.Type != "image/svg+xml" {
				continue
			}
			n++
			for d := xml.NewDecoder(bytes.NewReader(l.body)); ; {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Errorf("%s: %v", k, err)
					break
				}
			}
		}
	}
	if n < 5 {
		t.Errorf("%d drawings", n)
	}
}

// The names are what they are there for: each a page of its own, and hard in all the ways that are promised.
func TestOrdealsNamesAreHard(t *testing.T) {
	targets := nameTargets()
	keys, folded := map[string]string{}, map[string]bool{}
	var long, alike, bad int
	for _, target := range targets {
		k := key(target)
		if other, ok := keys[k]; ok {
			t.Errorf("%q and %q are one", target, other)
		}
		keys[k] = target
		path, _, _ := strings.Cut(k, "?")
		if folded[strings.ToLower(path)] {
			alike++
		}
		folded[strings.ToLower(path)] = true
		for segment := range strings.SplitSeq(path, "/") {
			name := unescape(segment)
			if len(name) > 240 {
				long++
			}
			if !utf8.ValidString(name) {
				bad++
			}
		}
	}
	if long < 4 || alike < 5 || bad < 2 {
		t.Errorf("%d long names, %d alike but for case, %d not UTF-8", long, alike, bad)
	}
}

func unescape(s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			b = append(b, nibble(s[i+1])<<4|nibble(s[i+2]))
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

// Bodies are sent coded to those alone who accept that, and come to the same.
func TestCodedPages(t *testing.T) {
	body := strings.Repeat("bread ", 500)
	web := New(&Site{Name: "a.test", Pages: map[string]Page{"/gzip": {Body: body, Gzip: true}, "/br": {Body: body, Brotli: true}}})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		for target, coding := range map[string]string{"/gzip": "gzip", "/br": "br"} {
			if a := c.Get("a.test"+target, "Accept-Encoding", "identity"); a.Body != body || a.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s: %q", target, a.Header)
			}
			a := c.Get("a.test"+target, "Accept-Encoding", "gzip, br")
			var in io.Reader = brotli.NewReader(strings.NewReader(a.Body))
			if coding == "gzip" {
				var err error
				if in, err = gzip.NewReader(strings.NewReader(a.Body)); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := io.ReadAll(in); err != nil || string(got) != body || a.Header.Get("Content-Encoding") != coding {
				t.Errorf("%s: %d octets, %v, %q", target, len(got), err, a.Header)
			}
		}
	})
}

// Two ordeals are alike to the octet: what is said of one holds of the next.
func TestOrdealIsTheSameEachTime(t *testing.T) {
	a, b := Torture(), Torture()
	for i, h := range a.order {
		same := maps.EqualFunc(h.now().pages, b.order[i].now().pages, func(x, y *leaf) bool { return bytes.Equal(x.body, y.body) })
		if !same {
			t.Errorf("%s differs", h.name)
		}
	}
}
