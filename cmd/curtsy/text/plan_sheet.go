package text

import (
	"fmt"
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

// Sheet is the plan for an ethics board, as Markdown. Sentences in it say what the program does; what people have to say
// themselves is asked for, and never made up.
func Sheet(p *plan.Plan, s *crawldir.Settings, about About) string {
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	said := func(text, how string) string {
		if text == "" {
			return "**not stated yet**: " + how
		}
		return inline(text)
	}
	w("%s", Mark)
	w("# Ethics sheet of a web crawl\n")
	w("Made on %s by `curtsy plan`, before the crawl: it needed %s, only for robots.txt and sitemaps.\n",
		p.Made.Format("2 January 2006, 15:04 MST"), plainly.Count(p.Requests, "request"))
	w("## Who, and what for\n")
	w("| | |\n|---|---|")
	w("| Purpose | %s |", said(s.Purpose, "`curtsy identity set --purpose TEXT`"))
	w("| Operator | %s |", said(s.Operator, "`curtsy identity set --operator NAME`"))
	w("| Contact for site owners | %s |", said(s.Contact, "`curtsy identity set --contact ADDRESS`"))
	w("| Name in robots.txt | %s |", code(s.Agent))
	w("| User-Agent | %s |", code(s.Identity().UserAgent()))
	w("| Page about the crawler | %s |\n", said(about.Page, "`curtsy identity init --url URL`"))
	scopeSheet(w, p, s)
	ratesSheet(w, p, s)
	w("## Retention\n\n%s\n", said(about.Retention, "`curtsy plan --retention TEXT`, or once for all crawls `curtsy identity init --retention TEXT`"))
	w("A site or a page can be taken out of the archive later (`curtsy redact`), also from its copies in the directory. The log")
	w("of decisions then records the removal, but not the content.\n")
	w("## Opting out\n")
	w("- A site owner can use robots.txt, for %s or for `*`; it is reread at least every 24 hours.", code(s.Agent))
	w("- Or write to the contact above: the operator adds host, path or network to an opt-out list, which applies to a running")
	w("  crawl at once and to every later one, and overrides all other settings. Lists in force now: %s.", lists(s))
	w("- A host that refuses (ten responses 401, 402, 403, 407 or 451 in a row, or 403 for robots.txt and its first page) gets")
	w("  no more requests; one that requires a delay gets none until the delay is over.\n")
	w("## Personal data\n")
	w("- The crawl is anonymous: no login, no cookies kept, no forms, no evasion of blocks. It sees only public pages.")
	w("- Pages may still contain personal data: names, pictures, opinions. **To be stated by the applicant**: whether the")
	w("  purpose needs them, the legal basis, who has access, and how people can have theirs removed.")
	w("- %s", noarchive(s))
	w("- Pages with `noindex` are marked as such in every table.\n")
	evidenceSheet(w, about)
	return b.String()
}

// scopeSheet says what is crawled.
func scopeSheet(w func(string, ...any), p *plan.Plan, s *crawldir.Settings) {
	w("## Scope\n")
	w("%s on %s; scope `%s`; files of pages `%s`; depth %s; sitemaps %s.", plainly.Count(p.Seeds, "seed"), plainly.Count(len(p.Hosts), "host"),
		s.Scope, s.Requisites, depth(s), sitemaps(s))
	for _, x := range []struct {
		name string
		list []string
	}{{"Only URLs that match", s.Include}, {"No URLs that match", s.Exclude}} {
		for _, pattern := range x.list {
			w("- %s %s", x.name, code(pattern))
		}
	}
	for _, r := range s.Hosts {
		w("- Only for %s:%s", code(r.Match), ruled(r))
	}
	w("\n| host | seeds | listed by sitemaps | forbidden | robots.txt |\n|---|---:|---:|---:|---|")
	hosts := longestFirst(p.Hosts)
	for _, h := range hosts[:min(len(hosts), maxSheet)] {
		w("| %s | %d | %d | %d | %s |", code(h.Host), h.Seeds, h.Listed, h.Forbidden+h.Disallow, inline(robots(h)))
	}
	if n := len(hosts) - maxSheet; n > 0 {
		w("\n… and %s.", plainly.Count(n, "other host"))
	}
	if len(p.Forbidden) > 0 {
		w("\nSeeds that will not be requested:\n")
		for _, f := range p.Forbidden[:min(len(p.Forbidden), maxSheet)] {
			w("- %s: %s", code(f.URL), code(why(f)))
		}
		if n := int64(len(p.Forbidden)) + p.More - maxSheet; n > 0 {
			w("- … and %s", plainly.Count(n, "other"))
		}
	}
	w("")
}

// maxSheet is how many hosts, and how many seeds, a sheet names.
const maxSheet = 200

// ratesSheet says how fast, and how long.
func ratesSheet(w func(string, ...any), p *plan.Plan, s *crawldir.Settings) {
	w("## Rates\n")
	w("- One request at a time to a host, and at least %s between the end of one and the start of the next; more where robots.txt",
		plainly.Duration(max(s.Delay, crawler.Floor)))
	w("  (Crawl-delay, Request-rate), a RateLimit field or slow responses (five times the response time, up to 30 s) require it.")
	w("- At least %s between two requests to one address, for all its hosts together.", plainly.Duration(s.IPDelay))
	w("- Retry-After is obeyed; failures and 429 or 503 lengthen the delay to up to an hour.")
	w("- Budgets: %s.\n", budgets(s))
	w("%s\n", sentence(p.Estimate))
	slow := 0
	for _, h := range p.Hosts {
		if h.PaceBy != storage.ByFloor {
			if slow++; slow == 1 {
				w("| host | delay | source | duration |\n|---|---:|---|---:|")
			}
			if slow <= maxSheet {
				w("| %s | %s | %s | %s |", code(h.Host), seconds(h.Pace), h.PaceBy, takes(h))
			}
		}
	}
	if slow > 0 {
		w("")
	}
	w("Basis of the estimate:\n")
	for _, line := range p.Estimate.Basis {
		w("- %s", inline(line))
	}
	w("\nUnknown before the crawl:\n")
	for _, line := range p.Estimate.Unknown {
		w("- %s", inline(line))
	}
	w("")
}

// evidenceSheet says how it can be checked afterwards.
func evidenceSheet(w func(string, ...any), about About) {
	w("## Evidence\n")
	w("- Every request and response is archived as it was sent (WARC); every decision, including each decision not to request, is a line of a ledger")
	w("  with the rule that decided and the actual delay.")
	w("- `curtsy audit DIR` recomputes every verdict and delay from the archive; `curtsy audit --access-log` compares them with a")
	w("  site's own access log; `curtsy ledger prove DIR --host NAME` makes a proof for the owner of a site.")
	w("- It cannot prove that no other program crawled at the same time. A checkpoint that the board or a witness")
	w("  has from the first day on (`curtsy ledger submit`) keeps the record from being changed afterwards.")
	if about.Key != "" {
		w("- The ledger is signed; its verifier key: %s", code(about.Key))
	}
}

// ruled is what a rule for some hosts asks for.
func ruled(r host.Rule) string {
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

func depth(s *crawldir.Settings) string {
	if s.Depth == crawldir.Unlimited {
		return "without limit"
	}
	return plainly.Count(s.Depth, "link")
}

func sitemaps(s *crawldir.Settings) string {
	if len(s.Sitemaps) == 0 || s.Sitemaps[0] == crawldir.SitemapsNone {
		return "are not followed"
	}
	return "are followed"
}

func lists(s *crawldir.Settings) string {
	var n int
	versions := s.Lists().Versions()
	for _, v := range versions {
		n += v.Entries
	}
	if n == 1 {
		return plainly.Count(len(versions), "list") + " with 1 entry"
	}
	return fmt.Sprintf("%s with %d entries", plainly.Count(len(versions), "list"), n)
}

func noarchive(s *crawldir.Settings) string {
	if s.KeepNoArchive {
		return "Pages with `noarchive` are **archived anyway**: `--keep-noarchive` is set."
	}
	return "The bodies of pages with `noarchive` are not archived."
}

func budgets(s *crawldir.Settings) string {
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
