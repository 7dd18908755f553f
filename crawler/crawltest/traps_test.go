package crawltest

import (
	"strings"
	"testing"
)

// What looks like a trap has so many URLs that can be reached, as its name says.
func TestWholeSitesAreLinkedThroughout(t *testing.T) {
	for _, tt := range []struct {
		site *Site
		kind string // in the URLs that there are so many of
		want int
	}{
		{Forum("a.test", 120), "viewtopic.php?t=", 120},
		{Tiles("a.test", 1200), ".png", 1200},
		{OlderPosts("a.test", 300), "/", 300},
		{Shop("a.test", 100), "/p/", 100},
		{Wiki("a.test", 100), "/wiki/", 100},
		{Wiki("a.test", 100), "action=history", 100},
	} {
		reached := New(tt.site).Reach("curtsy", "http://a.test/")
		n := 0
		for _, u := range reached {
			if strings.Contains(u, tt.kind) {
				n++
			}
		}
		if n != tt.want || len(reached) != len(tt.site.Pages) {
			t.Errorf("%s: %d of %d; %d of %d pages can be reached", tt.kind, n, tt.want, len(reached), len(tt.site.Pages))
		}
	}
}

// No two topics, articles or products have one text.
func TestWholeSitesSayEverythingOnce(t *testing.T) {
	for _, site := range []*Site{Forum("a.test", 500), Wiki("b.test", 300), Shop("c.test", 300), OlderPosts("d.test", 300)} {
		texts := map[string]string{}
		for target, p := range site.Pages {
			if other, there := texts[p.Text]; there && p.Text != "" {
				t.Errorf("%s: %s and %s say the same", site.Name, target, other)
			}
			texts[p.Text] = target
		}
	}
}

// Sites without end lead on from every page, to what was not there before.
func TestEndlessSitesHaveNoEnd(t *testing.T) {
	for _, site := range []*Site{
		Calendar("a.test", false, 1), Calendar("a.test", true, 1), Sessions("a.test", 3, 1),
		Mirrored("a.test", 1), Facets("a.test", 1), SoftNotFound("a.test", 1),
	} {
		w, trap := New(site), site.Traps[0]
		queue, met := []string{site.Pages["/"].Links[0]}, map[string]bool{}
		for len(queue) > 0 && len(met) < 300 {
			target := queue[0]
			if queue = queue[1:]; met[target] {
				continue
			}
			met[target] = true
			p := trap.Page(target)
			if !strings.HasPrefix(target, trap.Prefix) || p.Type != "" || p.Status != 0 && p.Status != 200 || p.Redirect != "" {
				t.Fatalf("%s: %s is no page of the trap", trap.Prefix, target)
			}
			for _, ref := range p.Links {
				if to, ok := w.Leads("http://a.test"+target, ref); ok && to != "http://a.test/" {
					queue = append(queue, strings.TrimPrefix(to, "http://a.test"))
				}
			}
		}
		if len(met) < 300 {
			t.Errorf("%s ends after %d pages", trap.Prefix, len(met))
		}
	}
}
