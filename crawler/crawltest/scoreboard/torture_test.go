package scoreboard

import (
	"encoding/xml"
	"image"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest"
)

func TestTorture_HasAllResourcesAndNoOthers(t *testing.T) {
	o := NewTorture()
	absent := map[string]bool{}
	for _, a := range o.Absent {
		absent[a.URL] = true
	}
	referred := map[string]bool{
		place{tortureHost, "/"}.String(): true, place{tortureHost, crawltest.RobotsPath}.String(): true, place{closedHost, crawltest.RobotsPath}.String(): true,
	}
	there := map[string]bool{}
	for _, h := range o.Hosts() {
		for k := range o.Web.Pages(h) {
			there[place{h, k}.String()] = true
		}
	}
	for _, h := range o.Hosts() {
		for k, p := range o.Web.Pages(h) {
			for _, ref := range slices.Concat(p.Links, p.Embeds, []string{p.Redirect}) {
				to, ok := o.Leads(place{h, k}.String(), ref)
				if ref == "" || !ok {
					continue
				}
				referred[to] = true
				if !there[to] && !absent[to] {
					t.Errorf("%s refers to %s, which is not there", place{h, k}, to)
				}
			}
		}
	}
	for _, a := range o.Absent {
		if to, ok := o.Leads("http://"+tortureHost+"/", a.URL); ok {
			referred[to] = true
		}
	}
	for _, h := range o.Hosts() {
		for k := range o.Web.Pages(h) {
			if !referred[place{h, k}.String()] && !strings.HasPrefix(k, "/robots") && !(h == neighbourHost) {
				t.Errorf("nothing refers to %s", place{h, k})
			}
		}
	}
}

func TestTorture_IsReachedFromItsSeed(t *testing.T) {
	o := NewTorture()
	reached := o.Reach("curtsy", "http://"+tortureHost+"/")
	for k := range o.Web.Pages(tortureHost) {
		u := place{tortureHost, k}.String()
		if slices.Contains(reached, u) || strings.HasPrefix(k, "/private/") || k == crawltest.RobotsPath {
			continue
		}
		t.Errorf("%s cannot be reached", u)
	}
	assert.GreaterOrEqual(t, len(reached), 300, "URLs")
}

func TestTorture_PicturesHaveExpectedSizes(t *testing.T) {
	r := newBuilder(tortureHost)
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
	assert.Equal(t, 18, len(r.sites[tortureHost].Pages), "resources")
}

func TestTorture_DrawingsAreXML(t *testing.T) {
	n := 0
	o := NewTorture()
	for _, h := range o.Hosts() {
		for k, l := range o.Web.Pages(h) {
			if l.Type != "image/svg+xml" {
				continue
			}
			n++
			for d := xml.NewDecoder(strings.NewReader(l.Body)); ; {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Errorf("%s: %v", k, err)
					break
				}
			}
		}
	}
	assert.GreaterOrEqual(t, n, 5, "drawings")
}

func TestTorture_NamesAreDifficult(t *testing.T) {
	var targets []string
	for k := range NewTorture().Web.Pages(tortureHost) {
		if target, ok := strings.CutPrefix(k, "/names/"); ok && target != "" {
			targets = append(targets, target)
		}
	}
	keys, folded := map[string]string{}, map[string]bool{}
	var long, alike, bad int
	for _, target := range targets {
		k := crawltest.Key(target)
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
			name, err := url.PathUnescape(segment)
			assert.NoError(t, err, segment)
			if len(name) > 240 {
				long++
			}
			if !utf8.ValidString(name) {
				bad++
			}
		}
	}
	if long < 4 || alike < 5 || bad < 2 {
		t.Errorf("%d long names, %d that differ only in case, %d not UTF-8", long, alike, bad)
	}
}

func TestTorture_IsDeterministic(t *testing.T) {
	a, b := NewTorture(), NewTorture()
	for _, h := range a.Hosts() {
		same := maps.EqualFunc(a.Web.Pages(h), b.Web.Pages(h), func(x, y crawltest.Page) bool { return x.Body == y.Body })
		assert.Truef(t, same, "%s differs", h)
	}
}
