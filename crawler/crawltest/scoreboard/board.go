package scoreboard

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/storage/audit/pauses"
	"curtsy/storage/plainly"
)

// Board is the web of the scoreboard: each site tests one rule of politeness. A
// polite crawler of one exchange a second needs three minutes. Crawlers without hooks begin at Seed and stay on ports of
// 127.0.0.1.
type Board struct {
	*crawltest.Web
	Keys   *crawltest.Directory // to verify the crawler's signatures; nil for none
	token  string
	rules  []rule
	spared map[string]bool // hosts that a polite crawler may leave early
}

type rule struct {
	number int // of the rule of politeness; 0 for others
	rule   crawltest.Rule
	source string
	judge  func(t *crawltest.Trial) crawltest.Row
}

// indexHost links to all other sites.
const indexHost = "index.test"

// fewIll are the sites that misbehave on each scoreboard.
var fewIll = []string{
	"endless.test", "gzip.test", "huge-head.test", "huge-robots.test", "html-robots.test", "chunks.test", "control.test",
	"nested.test",
}

// slowest is the time of slow responses.
const slowest = 20 * time.Second

// hostileNumber is the rule of politeness for sites that misbehave.
const hostileNumber = 24

// New returns the scoreboard for a product token; empty means "curtsy". Some robots.txt files have groups for the token
// as given, and up to its first invalid byte (RFC 9309 2.2.1), so that a crawler that looks for "example2" is judged
// fairly. A few sites that misbehave are always included; all makes it all of them, which adds some minutes.
func New(token string, all bool) *Board {
	token = cmp.Or(token, crawltest.DefaultToken)
	b := &Board{token: token, spared: map[string]bool{}}
	if end := strings.IndexFunc(token, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	}); end > 0 {
		b.token = token[:end]
	}
	sites, links := b.read(token)
	index := &crawltest.Site{Name: indexHost, Pages: map[string]crawltest.Page{}}
	sites = append([]*crawltest.Site{index}, sites...)
	b.rules = slices.Concat(everywhere, b.rules, reached)
	for _, s := range Sites(slowest)[1:] {
		if all || slices.Contains(fewIll, s.Name) {
			sites = append(sites, s)
			links = append(links, "http://"+s.Name+"/")
		}
	}
	index.Pages["/"] = crawltest.Page{Title: "The scoreboard", Links: links}
	index.Pages["/for-others/moved-robots.txt"] = crawltest.Page{Body: "User-agent: *\nDisallow: /depot/\n"}
	b.Web = crawltest.New(sites...)
	return b
}

// Seed returns the loopback URL that a crawl begins with: "" unless the web is started with Start.
func (b *Board) Seed() string { return b.LoopbackURL(indexHost) }

// Rules returns the names of the scoreboard's rows in order.
func (b *Board) Rules() []crawltest.Rule {
	var names []crawltest.Rule
	for _, row := range b.judge(b.Referee().Trial(crawltest.Rules{}), Ending{}) {
		names = append(names, row.Rule)
	}
	return names
}

// Score has a row for each rule of politeness.
type Score struct{ crawltest.Report }

const scorePace = time.Second

// Ending describes the end of a crawl of the scoreboard.
type Ending struct {
	// Shown reports that the ending is known, unlike that of a web served by hand.
	Shown bool
	// Cut is the time after which the crawl was ended from outside, which counts against it instead of missing pages;
	// zero if it ended without that.
	Cut time.Duration
}

// Judge judges the crawl.
func (b *Board) Judge(e Ending) Score {
	t := b.Referee().Trial(crawltest.Rules{Token: b.token, Pace: scorePace, Keys: b.Keys, Spared: b.spared, Partial: e.Cut > 0})
	if len(t.All) == 0 && !e.Shown {
		t.Rules.Partial = true // no crawler has come
	}
	s := Score{crawltest.Report{Rows: b.judge(t, e), Requests: len(t.All), Elapsed: t.Elapsed()}}
	for _, h := range t.Web.Hosts() {
		s.Hosts = append(s.Hosts, t.Summary(h))
	}
	return s
}

// judge returns the rows in order of their numbers; those without one come last.
func (b *Board) judge(t *crawltest.Trial, e Ending) (rows []crawltest.Row) {
	add := func(row crawltest.Row, rule crawltest.Rule, number int, source string) {
		row.Rule, row.Number, row.Source = rule, number, source
		rows = append(rows, row)
	}
	for _, r := range b.rules {
		add(r.judge(t), r.rule, r.number, r.source)
	}
	for _, row := range t.Hostile() {
		add(row, row.Rule, hostileNumber, "curtsy")
	}
	slices.SortStableFunc(rows, func(a, c crawltest.Row) int {
		return cmp.Or(cmp.Compare(min(c.Number, 1), min(a.Number, 1)), cmp.Compare(a.Number, c.Number))
	})
	add(e.judge(), Ends, 0, "curtsy")
	return rows
}

// Ends is the rule that a crawl ends.
const Ends crawltest.Rule = "the crawl ends"

func (e Ending) judge() crawltest.Row {
	switch {
	case e.Cut > 0:
		return crawltest.Sum(Ends, 1, "",
			[]crawltest.Finding{{Text: fmt.Sprintf("still going after %v, and ended from outside", e.Cut.Round(time.Second))}})
	case !e.Shown:
		return crawltest.Row{Rule: Ends, Verdict: crawltest.Unshown, Evidence: "judged only by curtsy crawltest score -- COMMAND"}
	}
	return crawltest.Sum(Ends, 1, "by itself", nil)
}

const (
	numberWidth  = 2
	ruleWidth    = 32
	verdictWidth = 9
)

var verdicts = map[crawltest.Verdict]string{crawltest.Kept: "pass", crawltest.Broken: "FAIL",
	crawltest.Unshown: "not shown"}

// Word returns the scoreboard's word for a verdict: "pass", "FAIL", "not shown".
func Word(v crawltest.Verdict) string { return cmp.Or(verdicts[v], string(v)) }

// WriteTable prints a line for each row, the first findings of failed rows and the sum, as plain text of at most 100
// columns.
func (s Score) WriteTable(w io.Writer) error {
	var b bytes.Buffer
	line := func(number, rule, verdict, evidence string) {
		fmt.Fprintf(&b, "%*s  %-*s  %-*s  %s\n", numberWidth, number, ruleWidth, crawltest.Shorten(rule, ruleWidth), verdictWidth,
			verdict, evidence)
	}
	line("", "RULE", "VERDICT", "EVIDENCE")
	for _, row := range s.Rows {
		number := ""
		if row.Number > 0 {
			number = strconv.Itoa(row.Number)
		}
		evidence := row.Evidence
		if n := len(row.Findings); n > 0 {
			evidence = plainly.Count(n, "finding") + ", see below"
		}
		line(number, string(row.Rule), Word(row.Verdict), evidence)
	}
	for _, row := range s.Rows {
		row.WriteFindings(&b, fmt.Sprintf("%s (%s)", row.Rule, row.Source), mostScored)
	}
	fmt.Fprintf(&b, "\n%s in %s: %d of %d rules kept, %d broken, %d not shown\n", plainly.Count(s.Requests, "request"),
		crawltest.Seconds(s.Elapsed),
		s.Count(crawltest.Kept), len(s.Rows), s.Count(crawltest.Broken), s.Count(crawltest.Unshown))
	_, err := w.Write(b.Bytes())
	return err
}

const mostScored = 3

//go:embed board.txt
var boardText string

// read makes the sites of the text and their rows, and returns the index's links.
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

// row parses a rule and its judge.
func row(host, line string) rule {
	f := strings.Split(line, "|")
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	f = append(f, "", "") // optional arguments
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
			return t.Spaced(crawltest.Gaps(t.Hosts[host]), need, pauses.Slack(need))
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

// silentTime is how long mute.test keeps the connection.
const silentTime = 10 * time.Second

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
			_ = http.NewResponseController(w).Flush() // an error means that the client disconnected
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

// everywhere are the rules for all sites.
var everywhere = []rule{
	{1, "identity", "RFC 9309 2.2.1", own(crawltest.Identity)},
	{1, crawltest.Signatures, "draft-ietf-webbotauth-httpsig-protocol", own(crawltest.Signatures)},
	{2, "contact", "RFC 9110 10.1.2, 10.1.5", contact},
	{4, crawltest.RobotsFirst, "RFC 9309 2.3", own(crawltest.RobotsFirst)},
	{4, "robots.txt cached", "RFC 9309 2.4", robotsCached},
	{9, "one request at a time", "cbcp", own(crawltest.InFlight)},
	{9, "pace of 1 s", "curtsy", gaps(func(g crawltest.Gap) bool { return !g.Last.ForRobots && !g.Last.Redirected() })},
	{9, "pace: after robots.txt", "curtsy", gaps(func(g crawltest.Gap) bool { return g.Last.ForRobots })},
	{9, "pace: after a redirect", "curtsy",
		gaps(func(g crawltest.Gap) bool { return !g.Last.ForRobots && g.Last.Redirected() })},
}

// gaps judges the gaps that pick selects, as an audit does.
func gaps(pick func(crawltest.Gap) bool) func(t *crawltest.Trial) crawltest.Row {
	return func(t *crawltest.Trial) crawltest.Row {
		all := slices.DeleteFunc(t.AllGaps(), func(g crawltest.Gap) bool { return !pick(g) })
		return t.Spaced(all, t.Rules.Pace, pauses.Slack(t.Rules.Pace))
	}
}

var reached = []rule{
	{0, crawltest.Scope, "curtsy", own(crawltest.Scope)},
	{0, crawltest.Once, "curtsy", func(t *crawltest.Trial) crawltest.Row {
		return t.Only(slices.DeleteFunc(t.Web.Hosts(), func(h string) bool { return h == spelled })...).Judge(crawltest.Once)
	}},
	{0, crawltest.Coverage, "curtsy", own(crawltest.Coverage)},
}

// own judges by one of the referee's rules.
func own(rule crawltest.Rule) func(t *crawltest.Trial) crawltest.Row {
	return func(t *crawltest.Trial) crawltest.Row { return t.Judge(rule) }
}

// links judges that all of must were fetched from a host without an error, and that none of not was requested.
func links(host string, must, not []string) func(t *crawltest.Trial) crawltest.Row {
	return func(t *crawltest.Trial) crawltest.Row {
		var found []crawltest.Finding
		for _, target := range not {
			for _, x := range t.Hosts[host] {
				if x.Asks(target) {
					found = append(found, t.Find(x, "though %s", cmp.Or(t.Forbids(x), "the page or the link asks not to follow")))
				}
			}
		}
		for _, target := range must {
			had := func(x *crawltest.Exchange) bool { return x.Asks(target) && x.Status >= 200 && x.Status < 400 }
			if !t.Rules.Partial && !slices.ContainsFunc(t.Hosts[host], had) {
				found = append(found, crawltest.Finding{Host: host, Target: target, Text: "never fetched, though it may be"})
			}
		}
		if len(t.Hosts[host]) == 0 {
			return crawltest.Sum("", 0, "", nil)
		}
		return crawltest.Sum("", len(must)+len(not),
			fmt.Sprintf("%d allowed fetched, %s not requested", len(must), plainly.Count(len(not), "other")), crawltest.InOrder(found))
	}
}

// nothing judges that only robots.txt was requested from a host.
func nothing(host string) func(t *crawltest.Trial) crawltest.Row {
	return func(t *crawltest.Trial) crawltest.Row {
		var found []crawltest.Finding
		tries := 0
		why := "was not requested"
		for _, x := range t.Hosts[host] {
			if x.ForRobots {
				tries++
				why = x.AsRobots()
				continue
			}
			found = append(found, t.Find(x, "though robots.txt %s", why))
		}
		return crawltest.Sum("", tries+len(found), plainly.Count(tries, "request")+" for robots.txt, and nothing else", found)
	}
}

// reachable matches a URL or a mailbox.
var reachable = regexp.MustCompile(`https?://[^\s)]+\.[^\s)]+|[\w.+-]+@[\w-]+(\.[\w-]+)+`)

func contact(t *crawltest.Trial) crawltest.Row {
	var found []crawltest.Finding
	evidence := ""
	for _, x := range t.All {
		by := reachable.FindString(x.UserAgent + " " + x.Header.Get("From"))
		if by == "" {
			found = append(found, t.Find(x, "as %s, without an address to write to, and no From field", crawltest.Quote(x.UserAgent)))
		}
		evidence = "always " + crawltest.Quote(by)
	}
	return crawltest.Sum("", len(t.All), evidence, found)
}

// robotsCached judges that a robots.txt is not requested again: no crawl of the scoreboard lasts a day. An unavailable one
// may be, and so may one whose redirects form a loop or lead nowhere: a crawler that follows a loop (RFC 9309 2.3.1.2)
// requests it several times.
func robotsCached(t *crawltest.Trial) crawltest.Row {
	var found []crawltest.Finding
	for _, h := range t.Web.Hosts() {
		var last *crawltest.Exchange
		for _, x := range t.Hosts[h] {
			if !x.Asks(crawltest.RobotsPath) {
				continue
			}
			if last != nil && last.Before(x) && t.HadRobots(x) {
				found = append(found, t.Find(x, "again: at %s it was answered with %d", t.When(last.Start), last.Status))
			}
			last = x
		}
	}
	return crawltest.Sum("", len(t.Hosts), "asked once at "+plainly.Count(len(t.Hosts), "host"), crawltest.InOrder(found))
}

func methods(t *crawltest.Trial) crawltest.Row {
	var found []crawltest.Finding
	for _, x := range t.All {
		if x.Method != http.MethodGet && x.Method != http.MethodHead {
			found = append(found, t.Find(x, "is neither GET nor HEAD"))
		}
	}
	return crawltest.Sum("", len(t.All), plainly.Count(len(t.All), "request"), found)
}

// cookiesKept judges that no request has cookies or credentials. host sets a cookie; on loopback all ports share it.
func cookiesKept(t *crawltest.Trial, host string) crawltest.Row {
	var found []crawltest.Finding
	setBy := slices.IndexFunc(t.Hosts[host], func(x *crawltest.Exchange) bool { return x.Answer.Get("Set-Cookie") != "" })
	checked := 0
	for _, x := range t.All {
		for _, field := range []string{"Cookie", "Authorization"} {
			if x.Header.Get(field) != "" {
				found = append(found, t.Find(x, "with a %s field", field))
			}
		}
		if setBy >= 0 && t.Hosts[host][setBy].Before(x) {
			checked++
		}
	}
	return crawltest.Sum("", checked, plainly.Count(checked, "request")+" after a cookie was set, none with it", found)
}

// backOffLeast is the least back-off without a Retry-After.
const backOffLeast = 10 * time.Second

// backedOff judges that the crawler backs off after so many responses in a row of that status.
func backedOff(t *crawltest.Trial, host string, status, times int) crawltest.Row {
	var found []crawltest.Finding
	checked, inRow := 0, 0
	for _, failed := range t.Hosts[host] {
		if inRow++; failed.Status != status || failed.ForRobots {
			inRow = 0
		}
		if inRow < times {
			continue
		}
		checked++
		for _, x := range t.Hosts[host] {
			if failed.Before(x) && x.Start.Sub(failed.End) < backOffLeast {
				found = append(found, t.Find(x, "began %s after %d, the response %d in a row; at least %v are required",
					crawltest.Seconds(x.Start.Sub(failed.End)), status, inRow, backOffLeast))
				break
			}
		}
	}
	return crawltest.Sum("", checked, fmt.Sprintf("at least %v of rest after %s", backOffLeast,
		plainly.Count(checked, "such answer")), crawltest.InOrder(found))
}

// refused judges that a host gets no request after it refused most pages in a row.
func refused(t *crawltest.Trial, host string, most int) crawltest.Row {
	var found []crawltest.Finding
	var refusals []*crawltest.Exchange
	for _, x := range t.Hosts[host] {
		if x.ForRobots {
			continue
		}
		if len(refusals) >= most && refusals[most-1].Before(x) {
			found = append(found, t.Find(x, "though %s had been refused, the last at %s", plainly.Count(most, "page"),
				t.When(refusals[most-1].End)))
		}
		if x.Status == http.StatusForbidden {
			refusals = append(refusals, x)
		}
	}
	return crawltest.Sum("", len(refusals), "not contacted after "+plainly.Count(len(refusals), "refusal"), found)
}

// atMost bounds the requests for targets with a prefix.
func atMost(t *crawltest.Trial, host, prefix string, most int) crawltest.Row {
	var found []crawltest.Finding
	n := 0
	for _, x := range t.Hosts[host] {
		if !strings.HasPrefix(x.Key, prefix) {
			continue
		}
		if n++; n > most {
			found = append(found, t.Find(x, "is request %d there; %d are forgiven", n, most))
		}
	}
	return crawltest.Sum("", n, "left after "+plainly.Count(n, "request"), found)
}
