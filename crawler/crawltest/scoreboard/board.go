package scoreboard

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/storage/plainly"
)

// Board is the web of the scoreboard: each of its sites gives a crawler the occasion to keep one rule of politeness, or
// to break it. It is small enough for a polite crawler of one exchange a second to be done in three minutes, and made
// for crawlers that know no hook: they begin at Seed and stay on ports of 127.0.0.1.
type Board struct {
	*crawltest.Web
	Keys   *crawltest.Directory // of the crawler, to verify its signatures by; nil for none
	token  string
	rules  []rule
	spared map[string]bool // hosts that a polite crawler may leave before it has seen all of them
}

// rule is a rule and how it is judged.
type rule struct {
	number int // of the rule of politeness; 0 for what is asked beside these
	rule   crawltest.Rule
	source string // what the rule rests on
	judge  func(t *crawltest.Trial) crawltest.Row
}

// indexHost is where a crawl of the scoreboard begins: it links to all other sites.
const indexHost = "index.test"

// fewIll are the sites that misbehave which each scoreboard has.
var fewIll = []string{
	"endless.test", "gzip.test", "huge-head.test", "huge-robots.test", "html-robots.test", "chunks.test", "control.test",
	"nested.test",
}

// slowest is how long the slow sites that misbehave take on a scoreboard that has them all.
const slowest = 20 * time.Second

// hostileNumber is the rule of politeness that the sites that misbehave stand for, most of them.
const hostileNumber = 24

// New returns the web of the scoreboard for the crawler of a product token; empty means "curtsy". The token
// stands in some of the robots.txt files: as it is given, and read up to the first byte that cannot be in one (RFC
// 9309 2.2.1), so that a crawler which looks for "example2" is judged fairly. A few sites that misbehave are always
// there, and all of them if all says so: a crawl then takes some minutes more.
func New(token string, all bool) *Board {
	token = cmp.Or(token, crawltest.DefaultToken)
	b := &Board{token: token, spared: map[string]bool{}}
	if end := strings.IndexFunc(token, notInToken); end > 0 {
		b.token = token[:end]
	}
	sites, links := b.read(token)
	index := &crawltest.Site{Name: indexHost, Pages: map[string]crawltest.Page{}}
	sites = append([]*crawltest.Site{index}, sites...)
	b.rules = slices.Concat(everywhere, b.rules, b.reached())
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

func notInToken(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
}

// Seed returns the URL that a crawl begins with, under which it needs no hook: "" unless the web is started with Start.
func (b *Board) Seed() string { return b.LoopbackURL(indexHost) }

// Rules returns the names of the scoreboard's rows, in their order.
func (b *Board) Rules() []crawltest.Rule {
	var names []crawltest.Rule
	for _, row := range b.judge(b.Referee().Trial(crawltest.Rules{}), Ending{}) {
		names = append(names, row.Rule)
	}
	return names
}

// Score is what the scoreboard shows of a crawler: a row for each rule of politeness.
type Score struct{ crawltest.Report }

// scorePace is what the scoreboard holds every crawler to.
const scorePace = time.Second

// Ending is how a crawl of the scoreboard came to its end.
type Ending struct {
	// Shown says that it is known how the crawl ended: who serves the web by hand does not see that.
	Shown bool
	// Cut is after how long the crawl was ended from outside; zero if it ended by itself. The pages that it did not reach
	// are then not held against it, but the ending is.
	Cut time.Duration
}

// Judge says how the crawl kept the rules.
func (b *Board) Judge(e Ending) Score {
	t := b.Referee().Trial(crawltest.Rules{Token: b.token, Pace: scorePace, Keys: b.Keys, Partial: e.Cut > 0})
	if len(t.All()) == 0 && !e.Shown {
		t.Rules.Partial = true // nobody has come
	}
	s := Score{crawltest.Report{Rows: b.judge(t, e), Requests: len(t.All()), Elapsed: t.Elapsed()}}
	for _, h := range t.Hosts() {
		s.Hosts = append(s.Hosts, t.Summary(h))
	}
	return s
}

// judge returns the rows in order of the rules' numbers; those without one come last.
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

// Ends is the rule that a crawl comes to its end by itself.
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

// The widths of the columns of a Score's table, except that of the evidence, which is last and not cut.
const (
	numberWidth  = 2
	ruleWidth    = 32
	verdictWidth = 9
)

// verdicts are the words that a Score has for what the referee says.
var verdicts = map[crawltest.Verdict]string{crawltest.Kept: "pass", crawltest.Broken: "FAIL",
	crawltest.Unshown: "not shown"}

// Word says a verdict as the scoreboard does: "pass", "FAIL", "not shown".
func Word(v crawltest.Verdict) string { return cmp.Or(verdicts[v], string(v)) }

// WriteTable prints the score: a line for each row, the findings of those that failed and the sum. It is plain text of
// at most 100 columns.
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

// mostScored is how many findings of a row Score.WriteTable prints.
const mostScored = 3
