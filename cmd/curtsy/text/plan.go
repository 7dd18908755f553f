// The text of a plan, and the ethics sheet in Markdown. Both escape the content of hosts, which is hostile.

package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/plan"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// maxHosts and maxForbidden bound the hosts and seeds in the text.
const (
	maxHosts     = 40
	maxForbidden = 20
)

type planText struct {
	*plan.Plan
	hosts, forbidden int // to list
}

// Text is the plan for a terminal.
func Text(p *plan.Plan) string { return Render("plan", planText{p, maxHosts, maxForbidden}) }

func (p planText) Table() raw {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tSEEDS\tLISTED\tREQUESTS\tDELAY\tREASON\tTAKES\tROBOTS.TXT")
	for _, h := range p.LongestHosts() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", plainly.OneLine(h.Host), of(h.Seeds-h.Forbidden, h.Seeds), of(h.Listed-h.Disallow, h.Listed),
			h.Requests, pause(h.Pace), plainly.OneLine(string(h.PaceBy)), takes(h), plainly.OneLine(robots(h)))
	}
	_ = table.Flush() // a strings.Builder takes everything
	return raw(b.String())
}

// LongestHosts are the hosts that take longest, and MoreHosts counts those not listed.
func (p planText) LongestHosts() []plan.Host {
	hosts := slices.Clone(p.Hosts)
	slices.SortStableFunc(hosts, func(a, b plan.Host) int { return cmp.Compare(b.Takes, a.Takes) })
	return hosts[:min(len(hosts), p.hosts)]
}

func (p planText) MoreHosts() int { return max(len(p.Hosts)-p.hosts, 0) }

// FirstForbidden are the forbidden seeds to list, of AllForbidden; MoreForbidden counts the others.
func (p planText) FirstForbidden() []plan.Forbidden {
	return p.Forbidden[:min(len(p.Forbidden), p.forbidden)]
}

func (p planText) AllForbidden() int64  { return int64(len(p.Forbidden)) + p.More }
func (p planText) MoreForbidden() int64 { return max(p.AllForbidden()-int64(p.forbidden), 0) }

// Sentence is the estimate, and Estimated has a line for each of its sentences.
func (p planText) Sentence() string { return sentence(p.Estimate) }
func (p planText) Estimated() raw   { return raw(Wrap(strings.ReplaceAll(p.Sentence(), ". ", ".\n"))) }

func sentence(e plan.Estimate) string {
	if e.Pages == 0 {
		return "No URL that may be fetched is known."
	}
	known := "The only page known so far takes"
	if e.Pages > 1 {
		known = fmt.Sprintf("The %d pages known so far take", e.Pages)
	}
	return fmt.Sprintf("%s about %s: %s and about %s. %s", known, plainly.RoughDuration(e.Duration()), plainly.Count(e.Requests, "request"),
		plainly.RoughSize(e.Bytes), decided(e))
}

// decided names the limit that decides the duration.
func decided(e plan.Estimate) string {
	switch e.By {
	case plan.DecidedByHost:
		return plainly.OneLine(e.Host) + " takes longest."
	case plan.DecidedByDaily:
		return plainly.OneLine(e.Host) + " takes longest, by --per-host-per-day."
	case plan.DecidedByAddress:
		return "The " + plainly.OneLine(e.Host) + " share one delay, and take longest."
	case plan.DecidedByWorkers:
		return "--workers decides: there are more hosts than requests in flight."
	case plan.DecidedByRate:
		return "--max-rate decides."
	case plan.DecidedByPages:
		return "--max-pages ends the crawl then."
	case plan.DecidedByTime:
		return "--max-time ends the crawl then."
	}
	return ""
}

// of is "n of all", or only all if they are equal.
func of(n, all int64) string {
	if n == all {
		return fmt.Sprint(all)
	}
	return fmt.Sprintf("%d of %d", n, all)
}

func pause(s float64) string { return plainly.Duration(time.Duration(s * float64(time.Second))) }

func takes(h plan.Host) string {
	if h.Left != "" {
		return "not crawled"
	}
	return plainly.RoughDuration(time.Duration(h.Takes * float64(time.Second)))
}

// robots describes a host's robots.txt, and how many of its sitemaps were read.
func robots(h plan.Host) string {
	s := h.Robots
	if h.Left != "" && !strings.Contains(s, "unavailable") {
		s = h.Left
	}
	switch {
	case h.Maps > 0 && h.MapsLeft:
		s += fmt.Sprintf("; %s read, and there are more", plainly.Count(h.Maps, "sitemap"))
	case h.Maps > 0:
		s += fmt.Sprintf("; %s read", plainly.Count(h.Maps, "sitemap"))
	case h.MapsLeft:
		s += "; its sitemaps were not read"
	}
	return s
}

// why returns the reason why a seed is forbidden.
func why(f plan.Forbidden) string {
	switch f.By {
	case plan.ByRobots:
		if f.Rule != "" {
			return fmt.Sprintf("robots.txt line %d, for %s: %s", f.Line, f.Group, f.Rule)
		}
		return "robots.txt: " + plainly.Reason(f.Reason)
	case plan.ByOptOut:
		s := "opted out: " + f.Rule
		if f.Reason != "" {
			s += " (" + f.Reason + ")"
		}
		return s
	case plan.ByHost:
		return "its host is not being crawled: " + plainly.Reason(f.Reason)
	}
	return "the settings: " + f.Reason
}

// Mark begins each sheet.
const Mark = "<!-- curtsy plan: ethics sheet -->"

// About has the facts of a sheet that are not in the plan or the settings.
type About struct {
	Retention string // how long data is kept, and its readers
	Page      string // URL of the crawler's page
	Key       string // verifier key of its ledgers
}

// maxSheet bounds the hosts, and the seeds, in a sheet.
const maxSheet = 200

type sheetText struct {
	planText
	About
	S *crawldir.Settings
}

// Sheet is the plan for an ethics board, as Markdown. Its sentences state the program's behaviour; it asks the user for
// the rest, and makes nothing up.
func Sheet(p *plan.Plan, s *crawldir.Settings, about About) string {
	return Render("sheet", sheetText{planText{p, maxSheet, maxSheet}, about, s})
}

// statement is the user's text, or how to set it.
func statement(text, how string) string {
	if text == "" {
		return "**not stated yet**: " + how
	}
	return inline(text)
}

// Forbids counts the forbidden URLs of a host.
func (sheetText) Forbids(h plan.Host) int64 { return h.Forbidden + h.Disallow }

// Delay is the shortest delay between two requests to a host.
func (t sheetText) Delay() string { return plainly.Duration(max(t.S.Delay, crawler.Floor)) }

// SlowHosts are hosts with a delay above the floor, at most maxSheet.
func (t sheetText) SlowHosts() []plan.Host {
	slow := slices.DeleteFunc(slices.Clone(t.Hosts), func(h plan.Host) bool { return h.PaceBy == storage.ByFloor })
	return slow[:min(len(slow), maxSheet)]
}

func (t sheetText) ReadsSitemaps() bool {
	return len(t.S.Sitemaps) > 0 && t.S.Sitemaps[0] != crawldir.SitemapsNone
}

// Lists counts the opt-out lists, and their entries.
func (t sheetText) Lists() string {
	var n int
	versions := t.S.Lists().Versions()
	for _, v := range versions {
		n += v.Entries
	}
	return plainly.Count(len(versions), "list") + " with " + Entries(n)
}

// markup escapes Markdown, the HTML in it, and its tables.
var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "~", `\~`, "!", `\!`, "\n", " ",
)

// inline escapes a text in Markdown.
func inline(s string) string { return markup.Replace(plainly.OneLine(s)) }

// code is a text in a code span. There a bar would still end a table cell, and a backtick the span.
func code(s string) string {
	s = strings.NewReplacer("`", "'", "|", `\|`).Replace(plainly.OneLine(s))
	return "`" + s + "`"
}
