package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/htmlpage"
	"curtsy/storage/plainly"
)

//go:embed pages/*.html
var pages embed.FS

// Bounds of the lists on a page; the JSON form has more.
const (
	shownHosts = 200
	shownRules = 100
	shownWords = 30
)

type view struct {
	*Report
	Token string // product token
	By    *Identity
}

func (r *Report) WriteHTML(w io.Writer) error {
	t, err := htmlpage.New(template.FuncMap{
		"duration": duration, "measured": measured, "site": site, "size": plainly.RoughSize[int64], "n": plainly.Grouped, "plural": plural,
		"instant": instant, "moment": moment, "meaning": plainly.Meaning, "paceword": paceWord,
		"gapchart": gapChart, "timechart": timeChart, "add": func(a, b float64) float64 { return round(a + b) },
		"addresses": addresses, "add1": func(i int) int { return i + 1 }, "minus1": func(n int64) int64 { return n - 1 },
		"count":  func(r []Request) int64 { return int64(len(r)) },
		"short":  func(c []Count) []Count { return c[:min(len(c), shownWords)] },
		"tagged": func(t []Tag) []Tag { return t[:min(len(t), shownRules)] },
		"untold": func(t []Tag) int { return max(len(t)-shownRules, 0) },
		"over":   func(c []Count) int { return max(len(c)-shownWords, 0) },
	}).ParseFS(pages, "pages/*.html")
	if err != nil {
		return fmt.Errorf("report: read the page: %w", err)
	}
	v := view{Report: r, Token: "curtsy"}
	if n := len(r.Crawl.By); n > 0 {
		v.By = &r.Crawl.By[n-1]
		if token, _, ok := strings.Cut(v.By.Agent, "/"); ok && token != "" && strings.Trim(token, tokenChars) == "" {
			v.Token = token
		}
	}
	name := "crawl.html"
	if r.Host != "" {
		name = "host.html"
	}
	if err := t.ExecuteTemplate(w, name, v); err != nil {
		return fmt.Errorf("report: write the page: %w", err)
	}
	return nil
}

// tokenChars are the characters of a product token (RFC 9309 2.2.1).
const tokenChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"

func (v view) Title() string {
	if v.Host != "" {
		return "A crawler's visit to " + v.Host
	}
	return "Crawl report: " + v.Crawl.Name
}

// Operator names the operator at the start of a sentence.
func (v view) Operator() string {
	if v.By == nil || v.By.Operator == "" {
		return "An unnamed operator"
	}
	return v.By.Operator
}

// Mine returns the operator's own hosts.
func (v view) Mine() []Host { return v.split(true) }

// Shown returns the other hosts, as far as the page lists them.
func (v view) Shown() []Host {
	hosts := v.split(false)
	return hosts[:min(len(hosts), shownHosts)]
}

func (v view) split(own bool) []Host {
	return some(v.Hosts, len(v.Hosts), func(h Host) bool { return h.Own == own })
}

// some returns the first most wanted elements.
func some[T any](all []T, most int, wanted func(T) bool) (out []T) {
	for _, x := range all {
		if wanted(x) && len(out) < most {
			out = append(out, x)
		}
	}
	return out
}

// Unshown counts the hosts that are only in the JSON form.
func (v view) Unshown() int { return max(len(v.split(false))-shownHosts, 0) }

// Summed counts the hosts that are not listed.
func (v view) Summed() int64 {
	shown := int64(0)
	for _, h := range v.Hosts {
		if h.Name != noHost {
			shown++
		}
	}
	return v.Known - shown
}

// Rules returns the first rules.
func (v view) Rules() []Rule { return v.Robots.Rules[:min(len(v.Robots.Rules), shownRules)] }

// OtherRules counts the rules not on the page.
func (v view) OtherRules() int { return max(len(v.Robots.Rules)-shownRules, 0) }

// Silent returns the hosts with unavailable robots.txt.
func (v view) Silent() []Host {
	return some(v.Hosts, shownHosts, func(h Host) bool { return strings.HasPrefix(h.Robots, silentRobots) })
}

// Judgements draws the decisions of robots.txt.
func (v view) Judgements() []Part {
	return band(
		Part{Name: "allowed", Class: "good", N: v.Robots.Allowed},
		Part{Name: "disallowed by a rule", Class: "pace", N: v.Robots.Disallowed - v.Robots.Unreachable},
		Part{Name: "disallowed because robots.txt was unavailable", Class: "rest", N: v.Robots.Unreachable},
	)
}

// Seconds returns the time from the first to the last decision, in milliseconds.
func (v view) Seconds() float64 {
	if v.Crawl.First == nil {
		return 0
	}
	return float64(v.Crawl.Last.Sub(*v.Crawl.First).Milliseconds())
}

func (v view) Rate() string {
	if s := v.Seconds() / 1000; s >= 1 {
		return fmt.Sprintf("%.2f requests and %s a second", float64(v.Totals.Exchanges)/s,
			plainly.RoughSize(int64(float64(v.Totals.Octets)/s)))
	}
	return plural(v.Totals.Exchanges, "request")
}

// Unlisted counts the URLs forbidden by robots.txt that are not on the page.
func (v view) Unlisted() int64 {
	left := v.Robots.Disallowed
	for _, r := range v.Refused {
		left -= r.Count
	}
	return left
}

// Obeyed returns the rules that forbade URLs.
func (v view) Obeyed() []Rule {
	return some(v.Robots.Rules, shownRules, func(r Rule) bool { return !r.Allowed && r.Rule != "" })
}

// Opened returns the rules that allowed URLs.
func (v view) Opened() []Rule {
	return some(v.Robots.Rules, shownRules, func(r Rule) bool { return r.Allowed })
}

// IsOwn reports whether there are own hosts.
func (v view) IsOwn() bool { return len(v.Mine()) > 0 }

// Days describes the dates of the crawl.
func (v view) Days() string {
	if v.Crawl.First == nil {
		return "never"
	}
	if a, b := v.Crawl.First.Format("2 January 2006"), v.Crawl.Last.Format("2 January 2006"); a != b {
		return "from " + a + " to " + b
	}
	return "on " + v.Crawl.First.Format("2 January 2006")
}

// duration formats milliseconds, truncated.
func duration(ms float64) string {
	trim := func(f float64, digits int) string {
		scale := 1.0
		for range digits {
			scale *= 10
		}
		s := strconv.FormatFloat(float64(int64(f*scale+1e-6))/scale, 'f', digits, 64)
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	switch {
	case ms < 0:
		return "−" + duration(-ms)
	case ms == 0:
		return "0"
	case ms < 1000:
		return trim(ms, 1) + " ms"
	case ms < 120_000:
		return trim(ms/1000, 3) + " s"
	case ms < 2*3600_000:
		return trim(ms/60_000, 1) + " min"
	case ms < 48*3600_000:
		return trim(ms/3600_000, 1) + " h"
	}
	return trim(ms/86400_000, 1) + " days"
}

// measured formats milliseconds, truncated to the millisecond.
func measured(ms float64) string {
	if ms < 1000 || ms >= 120_000 {
		return duration(ms)
	}
	return strconv.FormatFloat(float64(int64(ms+1e-6))/1000, 'f', 3, 64) + " s"
}

// site returns an authority without its scheme's default port.
func site(authority string) string {
	for scheme, port := range map[string]string{"http://": ":80", "https://": ":443"} {
		if strings.HasPrefix(authority, scheme) {
			return strings.TrimSuffix(authority, port)
		}
	}
	return authority
}

func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return plainly.Grouped(n) + " " + thing + "s"
}

func addresses(n int64) string {
	if n == 1 {
		return "1 address"
	}
	return plainly.Grouped(n) + " addresses"
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// moment formats a time of archive or ledger; anything else remains as it is.
func moment(s string) string {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return instant(t)
	}
	return s
}

var paceWords = plainly.Words("delays")

// notSaid replaces a word that the ledger lacks.
const notSaid = "not recorded"

func paceWord(by string) string {
	if w := paceWords[by]; w != "" {
		return w
	}
	return by
}

// Sizes of a drawing and of the space for its labels, in user units.
const (
	chartWidth  = 720.0
	chartHeight = 190.0
	chartLeft   = 56.0
	chartRight  = 16.0
	chartTop    = 22.0
	chartFoot   = 34.0
)

// Chart is a drawing of bars, with coordinates for SVG.
type Chart struct {
	Label       string
	Bars        []Bar
	X, Y        []Tick
	Mark        *Tick // a line across, with its label
	MarkLeft    bool  // its label is left of it
	Under       string
	Width       float64
	Height      float64
	Left, Right float64
	Top, Base   float64
}

// Bar is a bar with its tooltip.
type Bar struct {
	X, Y, W, H float64
	Short      bool
	Title      string
}

// Tick is a place on an axis.
type Tick struct {
	At    float64
	Label string
}

func newChart(label, under string) *Chart {
	return &Chart{
		Label: label, Under: under, Width: chartWidth, Height: chartHeight,
		Left: chartLeft, Right: chartWidth - chartRight, Top: chartTop, Base: chartHeight - chartFoot,
	}
}

func round(f float64) float64 { return math.Round(f*10) / 10 }

// bar adds a bar of a share of the full height, visible unless it is 0.
func (c *Chart) bar(from, to, share float64, short bool, title string) {
	h := share * (c.Base - c.Top)
	if share > 0 {
		h = max(h, 2)
	}
	c.Bars = append(c.Bars, Bar{round(from), round(c.Base - h), round(max(to-from-1, 1)), round(h), short, title})
}

// heights adds ticks at round whole numbers up to most, at the full height.
func (c *Chart) heights(most int64) {
	step := tickStep(most)
	for n := int64(0); n <= most; n += step {
		c.Y = append(c.Y, Tick{round(c.Base - (c.Base-c.Top)*float64(n)/float64(max(most, 1))), plainly.Grouped(n)})
	}
}

// tickStep returns the least of 1, 2, 5, 10, 20, 50, … of which at most four fit into most.
func tickStep(most int64) int64 {
	for power := int64(1); ; power *= 10 {
		for _, step := range []int64{power, 2 * power, 5 * power} {
			if most/step <= 4 {
				return step
			}
		}
	}
}

// gapChart draws a histogram of gaps over a logarithmic axis, with a line at the delay due.
func gapChart(p Pauses) *Chart {
	unit, due := p.PaceMs/1000, "due: "+duration(p.PaceMs)
	label := "delay from the end of one response to the start of the next request"
	switch {
	case p.Varies:
		unit, due, label = 1, "due", "delay, as a multiple of the delay due"
	case unit <= 0:
		unit = 1
	}
	c := newChart("Histogram of delays", label)
	low, high := 0.5, 3.0
	var most int64
	for _, b := range p.Bins {
		low, high, most = min(low, b.From/1.2), max(high, b.To*1.2), max(most, b.Count)
	}
	x := func(ratio float64) float64 {
		return c.Left + (c.Right-c.Left)*math.Log(ratio/low)/math.Log(high/low)
	}
	write := func(ratio float64) string {
		if p.Varies {
			return strconv.FormatFloat(ratio, 'g', 4, 64) + "×"
		}
		return duration(ratio * unit * 1000)
	}
	for _, b := range p.Bins {
		if b.Count > 0 {
			c.bar(x(b.From), x(b.To), float64(b.Count)/float64(most), b.To <= 1 && (p.PaceMs > 0 || p.Varies),
				fmt.Sprintf("%s to %s: %s", write(b.From), write(b.To), plainly.Grouped(b.Count)))
		}
	}
	steps := []float64{1, 2, 5}
	if high/low > 1000 {
		steps = []float64{1}
	}
	for power := math.Pow(10, math.Floor(math.Log10(low*unit))); power <= high*unit; power *= 10 {
		for _, step := range steps {
			if at := power * step / unit; at >= low && at <= high {
				c.X = append(c.X, Tick{round(x(at)), write(at)})
			}
		}
	}
	c.heights(most)
	if p.PaceMs > 0 || p.Varies {
		c.Mark = &Tick{round(x(1)), due}
		c.MarkLeft = true
	}
	return c
}

func timeChart(tl Timeline) *Chart {
	slot := time.Duration(tl.SlotS) * time.Second
	c := newChart("Requests over time", "requests started in each "+duration(ms(slot))+", UTC")
	var most int64
	for _, s := range tl.Slots {
		most = max(most, s.Exchanges)
	}
	n := max(len(tl.Slots), 1)
	step := min((c.Right-c.Left)/float64(n), 40)
	at := func(i int) time.Time { return time.Unix(tl.Start.Unix()+int64(i)*tl.SlotS, 0).UTC() }
	for i, s := range tl.Slots {
		x := c.Left + float64(i)*step
		if s.Exchanges > 0 {
			c.bar(x, x+step, float64(s.Exchanges)/float64(most), false,
				fmt.Sprintf("%s: %s, %s", at(i).Format(time.DateTime), plural(s.Exchanges, "request"), plainly.RoughSize(s.Octets)))
		}
	}
	form := time.TimeOnly
	if int64(n)*tl.SlotS > 2*86400 {
		form = time.DateOnly
	}
	for every, i := max((n+4)/5, 1), 0; i < n; i += every {
		if i > 0 && step*float64(every) < 70 {
			break
		}
		c.X = append(c.X, Tick{round(c.Left + float64(i)*step), at(i).Format(form)})
	}
	c.heights(most)
	return c
}

// Part is a part of a band.
type Part struct {
	Name, Class string
	N           int64
	X, W        float64
}

// band draws shares side by side.
func band(parts ...Part) []Part {
	var all int64
	for _, p := range parts {
		all += p.N
	}
	x := 0.0
	for i := range parts {
		if all > 0 {
			parts[i].W = round(chartWidth * float64(parts[i].N) / float64(all))
		}
		parts[i].X = round(x)
		x += parts[i].W
	}
	return parts
}

// account counts the work on a host, or on several.
type account struct {
	Host
	gaps  gaps
	waits bool // the last line deferred a URL
	dumb  bool // the last robots.txt was unavailable
	mute  bool // the last attempt for a page had no response
	part  bool // only a part of the host opted out: later it had requests
}

// Bounds of one line, so that a forged ledger cannot overflow sums.
const (
	mostTimes  = 1 << 40
	mostOctets = 1 << 44
)

// times returns the number of URLs of a line.
func times(l *storage.Line) int64 { return min(max(l.Count, 1), mostTimes) }

func received(l *storage.Line) int64 { return min(max(l.Octets, 0), mostOctets) }

func attempted(l *storage.Line) bool { return l.Attempt > 0 }

// Sent reports whether a request was sent: something was transferred and has a record. The audit, which reads records,
// counts the same.
func Sent(l *storage.Line) bool { return attempted(l) && (l.Record != "" || l.Status != 0) }

func (a *account) add(l *storage.Line) {
	n := times(l)
	a.Lines += n
	a.Own = a.Own || l.Own
	a.count(l, n)
	if !attempted(l) {
		return
	}
	if Sent(l) {
		a.Exchanges++
		if ms(l.Pace) >= a.PaceMs && l.PaceBy != "" {
			a.PaceMs, a.PaceBy = ms(l.Pace), cleanTo(string(l.PaceBy), 40)
		}
		if l.Gap > 0 {
			a.gaps.add(l.Gap, l.Pace)
		}
	} else {
		a.Unreached++
	}
	a.part = a.part || a.OptedOut > 0
	a.Octets += received(l)
	if Failed(l) {
		a.Errors++
	}
	if l.Decision == storage.DecisionRobots {
		a.robots(l)
	} else {
		a.mute = l.Outcome == storage.OutcomeFailed && l.Status == 0 && l.Reason != storage.ReasonAborted
	}
}

func (a *account) count(l *storage.Line, n int64) {
	switch l.Decision {
	case storage.DecisionDisallow:
		a.Disallowed += n
		return
	case storage.DecisionRefuse:
		a.Refused += n
		return
	case storage.DecisionHold:
		a.Held += n
		return
	case storage.DecisionOptOut:
		a.OptedOut += n
		return
	}
	a.waits = l.Outcome == storage.OutcomeDeferred
	switch l.Outcome {
	case storage.OutcomeFetched:
		a.Fetched += n
		if l.Type == "text/html" || l.Type == "application/xhtml+xml" {
			a.Pages += n
		}
	case storage.OutcomeRedirected:
		a.Redirected += n
	case storage.OutcomeGone:
		a.Gone += n
	case storage.OutcomeFailed:
		a.Failed += n
	case storage.OutcomeDropped:
		a.Dropped += n
	case storage.OutcomeDeferred:
		a.Deferred += n
	}
}

// Failed reports whether an attempt had no usable response. A missing robots.txt is one, and an abort by the operator is
// not the host's fault.
func Failed(l *storage.Line) bool {
	if !attempted(l) {
		return false
	}
	if l.Decision == storage.DecisionRobots {
		return unavailable(l)
	}
	return l.Outcome == storage.OutcomeFailed || l.Outcome == storage.OutcomeDeferred &&
		l.Reason != "redirect to its own key" && l.Reason != storage.ReasonAborted
}

// unavailable reports whether an exchange for robots.txt left the site's rules unknown (RFC 9309 2.3.1.4).
func unavailable(l *storage.Line) bool {
	switch l.Status {
	case 0, 408, 425, 429:
		return true
	}
	broken := l.Status >= 200 && l.Status < 300 && l.Reason != "" && l.RobotsSHA256 == "" // truncated, or of unknown coding
	return broken || l.Status >= 500
}

func (a *account) robots(l *storage.Line) {
	if Sent(l) {
		a.RobotsAsked++
	}
	a.dumb = unavailable(l)
	switch {
	case a.dumb && l.Status < 300:
		a.Robots = silentRobots + ": " + clean(l.Reason)
	case a.dumb:
		a.Robots = silentRobots + ": status " + strconv.Itoa(l.Status)
	case l.Status >= 400:
		a.Robots = "none (status " + strconv.Itoa(l.Status) + ")"
	case l.Status >= 300 && l.Status != 304:
		a.Robots = "redirects"
	default:
		a.Robots = "read"
	}
}

// result returns the host for display.
func (a *account) result() Host {
	h := a.Host
	h.Gaps, h.Short, h.LeastMs, h.MidMs = a.gaps.n, a.gaps.short, ms(a.gaps.least), ms(a.gaps.median())
	switch {
	case a.OptedOut > 0 && !a.part:
		h.State = "opted out"
	case a.dumb:
		h.State = "not crawled"
	case a.waits:
		h.State = "to be tried again"
	case a.Exchanges+a.Unreached == 0:
		h.State = "not requested"
	case a.mute:
		h.State = "last request not answered"
	default:
		h.State = "answers"
	}
	return h
}

// span returns the start and end of a line's exchange, or the time of its decision.
func span(l *storage.Line) (from, to time.Time) {
	if l.Began.IsZero() {
		return l.Time, l.Time
	}
	if to = l.Began.Add(l.Took); to.Year() > 9999 || to.Before(l.Began) {
		to = l.Began // beyond the calendar, it could not be written
	}
	return l.Began, to
}

// silentRobots begins the state of an unavailable robots.txt.
const silentRobots = "unavailable"
