package text

import (
	"fmt"
	"slices"
	"strings"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/host"
	"curtsy/crawler/plan"
	"curtsy/crawler/status"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// Mark begins each sheet, and nothing else.
const Mark = "<!-- curtsy plan: ethics sheet -->"

// About is what a sheet says beside the plan and the settings.
type About struct {
	Retention string // how long data is kept, and who sees it
	Page      string // where the crawler's page is published
	Key       string // verifier key of its ledgers
}

// maxSheet is how many hosts, and how many seeds, a sheet names.
const maxSheet = 200

// sheetText is what the template of a sheet takes.
type sheetText struct {
	planText
	About
	S *crawldir.Settings
}

// Sheet is the plan for an ethics board, as Markdown. Sentences in it say what the program does; what people have to say
// themselves is asked for, and never made up.
func Sheet(p *plan.Plan, s *crawldir.Settings, about About) string {
	return Render("sheet", sheetText{planText{p, maxSheet, maxSheet}, about, s})
}

// said is what people say, or how they can say it.
func said(text, how string) string {
	if text == "" {
		return "**not stated yet**: " + how
	}
	return inline(text)
}

// Forbids counts the URLs of a host that are forbidden.
func (sheetText) Forbids(h plan.Host) int64 { return h.Forbidden + h.Disallow }

// Delay is the shortest delay between two requests to a host.
func (t sheetText) Delay() string { return plainly.Duration(max(t.S.Delay, crawler.Floor)) }

// SlowHosts are the hosts with a longer one than the floor, as far as they are named.
func (t sheetText) SlowHosts() []plan.Host {
	slow := slices.DeleteFunc(slices.Clone(t.Hosts), func(h plan.Host) bool { return h.PaceBy == storage.ByFloor })
	return slow[:min(len(slow), maxSheet)]
}

// ReadsSitemaps reports whether the crawl reads sitemaps.
func (t sheetText) ReadsSitemaps() bool {
	return len(t.S.Sitemaps) > 0 && t.S.Sitemaps[0] != crawldir.SitemapsNone
}

// Ruled is what a rule for some hosts asks for.
func (sheetText) Ruled(r host.Rule) string {
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, " "+format+";", args...) }
	if r.Delay > 0 {
		add("at least %s between two requests", plainly.Duration(r.Delay))
	}
	if r.MaxPerHost > 0 {
		add("at most %s", plainly.Count(r.MaxPerHost, "page"))
	}
	if r.PerHostPerDay > 0 {
		add("at most %s within 24 hours", plainly.Count(r.PerHostPerDay, "request"))
	}
	for _, p := range r.Include {
		add("only URLs that match %s", code(p))
	}
	for _, p := range r.Exclude {
		add("no URLs that match %s", code(p))
	}
	for _, h := range r.Hours {
		add("requested only from %s UTC", inline(h))
	}
	return strings.TrimSuffix(b.String(), ";")
}

// Lists counts the opt-out lists in force, and their entries.
func (t sheetText) Lists() string {
	var n int
	versions := t.S.Lists().Versions()
	for _, v := range versions {
		n += v.Entries
	}
	return plainly.Count(len(versions), "list") + " with " + Entries(n)
}

// Budgets are what ends the crawl.
func (t sheetText) Budgets() string {
	s := t.S
	var all []string
	add := func(n int64, what string) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(s.MaxPages, "pages in all")
	add(s.MaxPerHost, "pages of a host")
	add(s.MaxPerDomain, "pages of a registrable domain")
	add(s.MaxPerTag, "pages of a tag")
	add(s.PerHostPerDay, "requests to a host within 24 hours")
	if s.MaxBytes > 0 {
		all = append(all, plainly.ExactSize(s.MaxBytes)+" in all")
	}
	if len(s.Window) > 0 && s.Window[0] != host.NoWindow {
		all = append(all, "requests only within "+strings.Join(s.Window, ", "))
	}
	if s.MaxTime > 0 {
		all = append(all, status.Roughly(s.MaxTime)+" in all")
	}
	if s.MaxRate > 0 {
		all = append(all, plainly.ExactSize(s.MaxRate)+" a second")
	}
	for _, c := range s.StopWhen {
		all = append(all, "until "+code(c))
	}
	if len(all) == 0 {
		return "none; it ends when nothing in scope is left"
	}
	return strings.Join(all, ", ")
}

// markup is what Markdown, HTML in it, and tables make something of.
var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "~", `\~`, "!", `\!`, "\n", " ",
)

// inline is a text that means nothing but itself in Markdown.
func inline(s string) string { return markup.Replace(plainly.OneLine(s)) }

// code is a text in a code span. A bar would end a cell of a table even there, and a backtick the span.
func code(s string) string {
	s = strings.NewReplacer("`", "'", "|", `\|`).Replace(plainly.OneLine(s))
	return "`" + s + "`"
}
