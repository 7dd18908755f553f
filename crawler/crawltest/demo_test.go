package crawltest

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest/visitor"
)

func TestDemoCatchesARudeCrawler(t *testing.T) {
	web := Demo(1)
	visitor.Bubble(t, web, func(c *visitor.Client) {
		c.Agent = "rude"
		seen := map[string]bool{}
		for queue := slices.Clone(web.Seeds()); len(queue) > 0 && len(seen) < 300; queue = queue[1:] {
			u, err := url.Parse(queue[0])
			if err != nil || u.Scheme != "http" || seen[u.String()] {
				continue
			}
			seen[u.String()] = true
			a := c.Get(u.String())
			if to, err := u.Parse(a.Header.Get("Location")); err == nil {
				queue = append(queue, to.String())
			}
			if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
				a.Header.Del("X-Robots-Tag")
				a.Body = strings.NewReplacer(`rel="nofollow"`, "", `name="robots"`, "").Replace(a.Body)
				links, _ := references(t, u, a)
				queue = append(queue, links...)
			}
		}
	})
	r := web.Referee().Judge(Rules{Pace: second})
	for _, rule := range []Rule{RobotsFirst, Pace, Identity, NoFollow, Traps, Coverage} {
		assert.Equal(t, Broken, r.Row(rule).Verdict, rule)
	}
	table(t, r) // checks its width
}

func TestDemoIsDeterministic(t *testing.T) {
	total, pictures := 0, 0
	one, same, other := Demo(7), Demo(7), Demo(8)
	for i, h := range one.order {
		a, b, c := h.now(), same.order[i].now(), other.order[i].now()
		differ := false
		for k, l := range a.pages {
			total++
			if l.Type == "image/png" {
				pictures++
			}
			if b.pages[k] == nil || !bytes.Equal(l.body, b.pages[k].body) {
				t.Errorf("%s%s: two pages of one seed", h.name, k)
			}
			if c.pages[k] == nil || !slices.Equal(l.Links, c.pages[k].Links) || l.Status != c.pages[k].Status {
				t.Errorf("%s%s: the seed changes links or status", h.name, k)
				continue
			}
			differ = differ || !bytes.Equal(l.body, c.pages[k].body)
		}
		assert.Truef(t, differ, "%s: the same for another seed", h.name)
	}
	if n := len(one.order); n < 8 || n > 12 {
		t.Errorf("%d authorities", n)
	}
	if total < 120 || total > 200 || pictures < 3 {
		t.Errorf("%d resources, %d pictures", total, pictures)
	}
}

func TestDeclaredLinksAreInThePages(t *testing.T) {
	web := New(append([]*Site{Tree("tree.test", 50)}, sitesOf(Demo(3))...)...)
	pages := 0
	for _, h := range web.order {
		for k, l := range h.now().pages {
			if !l.links() {
				continue
			}
			pages++
			at := place{h.name, k}
			u, err := url.Parse(at.String())
			require.NoError(t, err)
			header := http.Header{"Content-Type": {l.Type}}
			for name, value := range l.Header {
				header.Set(name, value)
			}
			links, embeds := references(t, u, visitor.Answer{Status: 200, Header: header, Body: string(l.body)})
			read := map[place]bool{}
			for _, ref := range append(links, embeds...) {
				if to, ok := web.resolve(at, ref); ok {
					read[to] = true
				}
			}
			declared := map[place]bool{}
			k := walk{web: web, token: DefaultToken}
			for _, to := range k.leads(at) {
				declared[to.place] = true
			}
			assert.Equal(t, inPlaces(declared), inPlaces(read))
		}
	}
	require.GreaterOrEqualf(t, pages, 100, "only %d pages compared", pages)
}

func sitesOf(w *Web) (sites []*Site) {
	for _, h := range w.order {
		sites = append(sites, &h.now().Site)
	}
	return sites
}
