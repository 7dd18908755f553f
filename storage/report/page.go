package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"curtsy/storage/plainly"
)

//go:embed pages/*.html
var pages embed.FS

// How much of a list a page shows; the JSON form has more.
const (
	shownHosts = 200
	shownRules = 100
	shownWords = 30
)

// view is what a page is made from.
type view struct {
	*Report
	Token string // the product token
	By    *Identity
}

// WriteHTML writes the page.
func (r *Report) WriteHTML(w io.Writer) error {
	t, err := template.New("").Funcs(template.FuncMap{
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

// tokenChars are what a product token is made of (RFC 9309 2.2.1).
const tokenChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"

// Title is that of the page.
func (v view) Title() string {
	if v.Host != "" {
		return "A crawler's visit to " + v.Host
	}
	return "Crawl report: " + v.Crawl.Name
}

// Operator is who crawls, in words that begin a sentence.
func (v view) Operator() string {
	if v.By == nil || v.By.Operator == "" {
		return "An unnamed operator"
	}
	return v.By.Operator
}

// Mine are the operator's own hosts, Shown the others, as far as the page lists them.
func (v view) Mine() []Host { return v.split(true) }

// Shown are the hosts that are not the operator's own.
func (v view) Shown() []Host {
	hosts := v.split(false)
	return hosts[:min(len(hosts), shownHosts)]
}

func (v view) split(own bool) []Host {
	return some(v.Hosts, len(v.Hosts), func(h Host) bool { return h.Own == own })
}

// some returns the first elements that are wanted, at most so many.
func some[T any](all []T, most int, wanted func(T) bool) (out []T) {
	for _, x := range all {
		if wanted(x) && len(out) < most {
			out = append(out, x)
		}
	}
	return out
}

// Unshown counts the hosts that are in the JSON form alone.
func (v view) Unshown() int { return max(len(v.split(false))-shownHosts, 0) }

// Summed counts the hosts that are told as a sum.
func (v view) Summed() int64 {
	told := int64(0)
	for _, h := range v.Hosts {
		if h.Name != noHost {
			told++
		}
	}
	return v.Known - told
}

// Rules are the first rules; the page says how many there are beside them.
func (v view) Rules() []Rule { return v.Robots.Rules[:min(len(v.Robots.Rules), shownRules)] }

// OtherRules counts the rules that the page leaves out.
func (v view) OtherRules() int { return max(len(v.Robots.Rules)-shownRules, 0) }

// Silent are the hosts whose robots.txt could not be had.
func (v view) Silent() []Host {
	return some(v.Hosts, shownHosts, func(h Host) bool { return strings.HasPrefix(h.Robots, silentRobots) })
}

// Judgements draws how robots.txt decided.
func (v view) Judgements() []Part {
	return band(
		Part{Name: "allowed", Class: "good", N: v.Robots.Allowed},
		Part{Name: "disallowed by a rule", Class: "no", N: v.Robots.Disallowed - v.Robots.Unreachable},
		Part{Name: "disallowed because robots.txt was unavailable", Class: "warn", N: v.Robots.Unreachable},
	)
}

// Seconds is how long the crawl took, from the first to the last sign of it.
func (v view) Seconds() float64 {
	if v.Crawl.First == nil {
		return 0
	}
	return float64(v.Crawl.Last.Sub(*v.Crawl.First).Milliseconds())
}

// Rate is exchanges per second.
func (v view) Rate() string {
	if s := v.Seconds() / 1000; s >= 1 {
		return fmt.Sprintf("%.2f requests and %s a second", float64(v.Totals.Exchanges)/s,
			plainly.RoughSize(int64(float64(v.Totals.Octets)/s)))
	}
	return plural(v.Totals.Exchanges, "request")
}

// Unlisted counts the URLs that robots.txt forbade and that the page does not name.
func (v view) Unlisted() int64 {
	left := v.Robots.Disallowed
	for _, r := range v.Refused {
		left -= r.Count
	}
	return left
}

// Obeyed are the rules that forbade something.
func (v view) Obeyed() []Rule {
	return some(v.Robots.Rules, shownRules, func(r Rule) bool { return !r.Allowed && r.Rule != "" })
}

// Opened are the rules that let something in.
func (v view) Opened() []Rule {
	return some(v.Robots.Rules, shownRules, func(r Rule) bool { return r.Allowed })
}

// IsOwn says that the operator's own hosts are among those reported on.
func (v view) IsOwn() bool { return len(v.Mine()) > 0 }

// Days is the number of days that the crawl touched, in words.
func (v view) Days() string {
	if v.Crawl.First == nil {
		return "never"
	}
	if a, b := v.Crawl.First.Format("2 January 2006"), v.Crawl.Last.Format("2 January 2006"); a != b {
		return "from " + a + " to " + b
	}
	return "on " + v.Crawl.First.Format("2 January 2006")
}

// duration writes milliseconds for people, cut rather than rounded up.
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

// measured writes milliseconds that were measured, cut to the millisecond.
func measured(ms float64) string {
	if ms < 1000 || ms >= 120_000 {
		return duration(ms)
	}
	return strconv.FormatFloat(float64(int64(ms+1e-6))/1000, 'f', 3, 64) + " s"
}

// site is an authority as people write it: without the port that its scheme has anyway.
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

// moment is an instant as the archive or the ledger has written it; what is none stays as it is.
func moment(s string) string {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return instant(t)
	}
	return s
}

// paceWords say who asked for a delay.
var paceWords = plainly.Words("delays")

// notSaid stands for the word that a ledger lacks.
const notSaid = "not recorded"

func paceWord(by string) string {
	if w := paceWords[by]; w != "" {
		return w
	}
	return by
}
