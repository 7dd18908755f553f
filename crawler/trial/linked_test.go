package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The crawl obeys the latest robots.txt in its archive, however it was fetched.
func TestRFC9309_2_4_LinkedRobotsRenews(t *testing.T) {
	const first = "User-agent: *\nDisallow: /no\nSitemap: /sitemap.xml\n"
	body := func(text string) func(*answer) { return func(a *answer) { a.body = []byte(text) } }
	status := func(code int, fields ...string) func(*answer) {
		return func(a *answer) {
			a.status = code
			for i := 0; i < len(fields); i += 2 {
				a.field(fields[i], fields[i+1])
			}
		}
	}
	ways := []string{"link", "spelling", "redirect", "sitemap", "as sitemap", "other host"}
	for i, c := range []struct {
		name   string
		second func(*answer)
		pages  bool // are requested after it
	}{
		{"same text", func(*answer) {}, true},
		{"another comment", body(first + "# 2\n"), true},
		{"max-age=0", func(a *answer) { body(first + "# 2\n")(a); a.field("Cache-Control", "max-age=0") }, true},
		{"Crawl-delay added", body("User-agent: *\nCrawl-delay: 7\n"), true},
		{"own group forbids all", body("User-agent: curtsy\nDisallow: /\n"), false},
		{"404", status(404), true},
		{"403", status(403), true},
		{"500", status(500), true},
		{"503 with Retry-After", status(503, "Retry-After", "20"), true},
		{"200 with Retry-After", status(200, "Retry-After", "20"), true},
		{"304", status(304), true},
		{"redirect within the host", status(301, "Location", "/rules"), true},
		{"redirect to another host", status(301, "Location", "http://h1.test/robots.txt"), true},
		{"redirect to itself", status(301, "Location", "/robots.txt"), true},
		{"cut body", func(a *answer) { a.cut = 5 }, true},
		{"no answer", func(a *answer) { a.hangUp = true }, true},
	} {
		for j, way := range ways {
			// Each answer comes in one way, and those that change the rules for pages come in all; with CURTSY_LONG, all do.
			if i%len(ways) != j && !strings.HasSuffix(c.name, "all") && !strings.HasSuffix(c.name, "added") && os.Getenv("CURTSY_LONG") == "" {
				continue
			}
			t.Run(c.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				renewed, after := 0, 0
				w := &web{seed: 5, hosts: 2}
				w.fixed = func(h *trialHost, target string, n int) *answer {
					a := &answer{status: 200, media: "text/html"}
					switch {
					case target == "/robots.txt":
						a.media, a.body = "text/plain", []byte(first)
						if h.n == 0 && n > 0 {
							renewed++
							c.second(a)
						}
					case target == "/rules":
						a.media, a.body = "text/plain", []byte("User-agent: *\nDisallow: /p2\n")
					case target == "/sitemap.xml":
						a.media, a.body = "application/xml", []byte("<urlset><url><loc>http://h0.test/robots.txt</loc></url></urlset>")
						switch way {
						case "as sitemap":
							a.body = []byte("<sitemapindex><sitemap><loc>http://h0.test/robots.txt</loc></sitemap></sitemapindex>")
						case "sitemap":
						default:
							a.status = 404
						}
					case target == "/" && h.n == 0:
						for i := range 6 {
							a.body = fmt.Appendf(a.body, `<a href="/p%d">x</a><a href="/no/%d">x</a>`, i, i)
							if i == 3 {
								a.body = append(a.body, map[string]string{
									"link": `<a href="/robots.txt">x</a>`, "spelling": `<a href="/%72obots.txt">x</a>`, "redirect": `<a href="/moved">x</a>`,
									"other host": `<a href="http://h1.test/">x</a>`,
								}[way]...)
							}
						}
					case target == "/" && h.n == 1:
						a.body = []byte(`<a href="http://h0.test/robots.txt">x</a>`)
					case target == "/moved":
						a.status = 302
						a.field("Location", "/robots.txt")
					default:
						if renewed > 0 {
							after++
						}
						if len(target) < 12 {
							a.body = fmt.Appendf(nil, `<a href="%s/q">x</a>`, target)
						}
					}
					return a
				}
				x := &trial{web: w, seeds: 1, set: settings{own: "none", delay: time.Second, ipDelay: 500 * time.Millisecond, workers: 4}, dice: throw(1, way), logs: map[string][]logged{}}
				root := t.TempDir()
				x.dir = filepath.Join(root, "0")
				x.firstKey(t, root)
				synctest.Test(t, func(t *testing.T) { x.live(t, 0, "", 0, 20*time.Minute, false) })
				x.judge(t, c.name, root)
				x.prove(t, root)
				if renewed == 0 || c.pages != (after > 0) {
					t.Errorf("robots.txt requested %d times more, %d pages after it, want %v", renewed, after, c.pages)
				}
			})
		}
	}
}
