package scoreboard

import (
	_ "embed"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"curtsy/crawler/crawltest"
)

//go:embed board.txt
var boardText string

// read makes the sites of the text and their rows, and returns what the index links to.
func (b *Board) read(token string) (sites []*crawltest.Site, links []string) {
	var s *crawltest.Site
	linked, rootless := false, false
	for e := range crawltest.Entries(strings.NewReplacer("$TOKEN", token, "$NAME", b.token).Replace(boardText)) {
		if e.Site {
			s = &crawltest.Site{Name: e.Words[0], Pages: map[string]crawltest.Page{}, Traps: boardTraps[e.Words[0]]}
			e.Fill(s)
			if made := handlers[s.Name]; made != nil {
				s.Handler = made()
			}
			for _, f := range e.Fields {
				if f[0] == "Row" {
					b.rules = append(b.rules, row(s.Name, f[1]))
				}
			}
			linked, rootless, b.spared[s.Name] = false, e.Field("Rootless") != "", e.Field("Spared") != ""
			if sites = append(sites, s); !rootless {
				links, s.Pages["/"] = append(links, "http://"+s.Name+"/"), crawltest.Page{}
			}
			continue
		}
		for _, target := range e.Words {
			switch s.Pages[target] = e.Page(); {
			case target == "/":
				linked = e.Field("Links") != ""
			case target == crawltest.RobotsPath || linked || e.Field("Aside") != "":
			case rootless:
				links = append(links, "http://"+s.Name+target)
			default:
				root := s.Pages["/"]
				root.Links = append(root.Links, target)
				s.Pages["/"] = root
			}
		}
	}
	return sites, links
}

// row is a rule and its judge, as a line of the text has them.
func row(host, line string) rule {
	f := strings.Split(line, "|")
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	f = append(f, "", "") // what a judge goes by may be left out
	number, _ := strconv.Atoi(f[0])
	n, _ := strconv.Atoi(f[4])
	m, _ := strconv.Atoi(f[5])
	r := rule{number: number, rule: crawltest.Rule(f[1]), source: f[2]}
	switch f[3] {
	case "links":
		r.judge = links(host, strings.Fields(f[4]), strings.Fields(f[5]))
	case "nothing":
		r.judge = nothing(host)
	case "rule":
		r.judge = func(t *crawltest.Trial) crawltest.Row { return t.Only(host).Judge(crawltest.Rule(f[4])) }
	case "spaced":
		need, _ := time.ParseDuration(f[4])
		r.judge = func(t *crawltest.Trial) crawltest.Row {
			return spaced(t, crawltest.Gaps(t.Host(host)), need, func(crawltest.Gap) bool { return true })
		}
	case "backed off":
		r.judge = func(t *crawltest.Trial) crawltest.Row { return backedOff(t, host, n, m) }
	case "refused":
		r.judge = func(t *crawltest.Trial) crawltest.Row { return refused(t, host, n) }
	case "at most":
		r.judge = func(t *crawltest.Trial) crawltest.Row { return atMost(t, host, f[4], m) }
	case "methods":
		r.judge = methods
	case "cookies":
		r.judge = func(t *crawltest.Trial) crawltest.Row { return cookiesKept(t, host) }
	}
	return r
}

// boardTraps are the parts of sites that have no end.
var boardTraps = map[string][]crawltest.Trap{
	"hops.test": {{Prefix: "/on/", Most: 12, Page: onward}},
	"shelf.test": {{Prefix: "/shelf/", Most: 15, Page: func(string) crawltest.Page {
		return crawltest.Page{Title: "A box on a shelf", Text: "Dust.", Links: []string{"shelf/box/"}}
	}}},
	"months.test": {{Prefix: monthPrefix, Most: 30, Page: func(target string) crawltest.Page {
		month, err := time.Parse("2006-01", strings.TrimPrefix(target, monthPrefix))
		if err != nil {
			return crawltest.Page{Status: http.StatusNotFound}
		}
		return crawltest.Page{Title: month.Format("January 2006"), Text: "No events.",
			Links: []string{monthPrefix + month.AddDate(0, 1, 0).Format("2006-01")}}
	}}},
}

const monthPrefix = "/calendar?month="

// silentTime is how long the server with the silent robots.txt keeps the connection.
const silentTime = 10 * time.Second

// handlers make what answers for sites whose answers are code.
var handlers = map[string]func() http.Handler{
	"mute.test": func() http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			crawltest.Wait(r.Context(), silentTime)
			panic(http.ErrAbortHandler)
		})
	},
	"cut.test": func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /a"))
			_ = http.NewResponseController(w).Flush() // an error means that nobody is listening any more
			panic(http.ErrAbortHandler)
		})
	},
	"away.test": func() http.Handler {
		var asked atomic.Bool
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path != "/away.html":
				http.NotFound(w, r)
			case asked.CompareAndSwap(false, true):
				w.Header().Set("Retry-After", time.Now().Add(25*time.Second).UTC().Format(http.TimeFormat))
				http.Error(w, "back soon", http.StatusTooManyRequests)
			default:
				_, _ = fmt.Fprintln(w, "back again")
			}
		})
	},
}

const spelled = "spelled.test"
