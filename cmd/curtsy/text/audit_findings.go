package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/plainly"
)

// findingsShown bounds the findings of a code in the text; JSON and HTML have what the result keeps.
const findingsShown = 5

// causes are the codes of damage that others follow from, such as a request for a page whose robots.txt cannot be read
// any more. They are listed first.
var causes = []finding.Code{
	finding.MemberMissing, finding.BadPackage, finding.FileMissing, finding.FileDiffers, finding.FileExtra, finding.Digest,
	finding.BadRecord, finding.LedgerLines,
}

// causesFirst returns the counts of a result, causes first, otherwise in their order.
func causesFirst(r *audit.Result) []audit.Count {
	rank := func(c audit.Count) int {
		if i := slices.Index(causes, c.Code); i >= 0 {
			return i
		}
		return len(causes)
	}
	return slices.SortedStableFunc(slices.Values(r.Counts), func(a, b audit.Count) int { return rank(a) - rank(b) })
}

// damage lists the records that are damaged, and what to do about them; nil if none is.
func damage(r *audit.Result) []string {
	type place struct {
		file   string
		offset int64
	}
	var at []place
	urls := map[place]string{}
	for _, f := range r.Findings {
		if p := (place{f.File, f.Offset}); !f.Note && (f.Unreadable || f.Code == finding.Digest) {
			if _, known := urls[p]; !known {
				at = append(at, p)
			}
			urls[p] = cmp.Or(urls[p], f.URL)
		}
	}
	if len(at) == 0 {
		return nil
	}
	var all []string
	for _, p := range at {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s offset %d %s", p.file, p.offset, urls[p])))
	}
	all = shorten(all, findingsShown, func(n int) string { return fmt.Sprintf("… and %d more; curtsy warc check lists them", n) })
	return append(all, "Restore the files from a copy and audit again: other violations may follow from the damage.")
}

// impolite reports whether there may be a violation of a politeness rule: one that does not follow from damage.
func impolite(r *audit.Result) bool {
	return slices.ContainsFunc(r.Counts, func(c audit.Count) bool {
		return c.Found > c.Notes && c.Code != finding.BadRecord && (!c.Code.Contradicts() || c.Code == finding.OptOuts)
	}) || slices.ContainsFunc(r.Findings, func(f finding.Finding) bool {
		return f.Code == finding.BadRecord && !f.Note && !f.Unreadable
	})
}

// findingPlace says where the record of a finding stands.
func findingPlace(f *finding.Finding) string {
	if f.Unreadable && f.Record == "" {
		return fmt.Sprintf("%s offset %d", f.File, f.Offset)
	}
	return placeText(f.Place)
}

func placeText(p finding.Place) string {
	where := p.File
	if p.Record != "" && p.File != "" {
		where = fmt.Sprintf("%s offset %d", p.File, p.Offset)
	}
	if p.Record != "" {
		where = strings.TrimSpace(where + " " + p.Record)
	}
	return where
}

// owners are the operator's own hosts, and why they are.
func owners(r *audit.Result) (all []string) {
	for _, h := range r.OwnHosts {
		all = append(all, h.Authority+": "+h.Why)
	}
	return shorten(all, MaxShown, func(n int) string { return fmt.Sprintf("and %d more", n) })
}

// hosts is the table of hosts, as wide as their names make it.
func hosts(r *audit.Result) string {
	var b strings.Builder
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "REQUESTS\tROBOTS\tAVOIDED\tDELAY DUE\tSHORTEST\tMEDIAN\tVIOLATIONS\tUNPROVABLE\t  HOST")
	for i, h := range r.Hosts {
		if i == 5*MaxShown {
			break
		}
		row := row(h)
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\t%s\t%d\t%d\t  %s\n", h.Pages, h.Robots, h.Disallowed, row.Pace, row.Least, row.Median, h.Violations, h.Unprovable, plainly.OneLine(h.Authority))
	}
	if n := ofNoHost(r); n > 0 {
		fmt.Fprintf(w, "–\t–\t–\t–\t–\t–\t%d\t–\t  (of no host)\n", n)
	}
	_ = w.Flush() // into memory
	if more := len(r.Hosts) - 5*MaxShown; more > 0 {
		fmt.Fprintf(&b, "and %s; --json and --html list them\n", plainly.Count(int64(more), "more host"))
	}
	return b.String()
}

// ofNoHost counts the violations that concern no host: of files, the ledger or a package.
func ofNoHost(r *audit.Result) int64 {
	n := r.Totals.Violations
	for _, h := range r.Hosts {
		n -= h.Violations
	}
	return n
}

// notProved says what could not be proved of which host, and why.
func notProved(r *audit.Result) (all []string) {
	type group struct {
		what, why, host string // the first host
		count, hosts    int64
	}
	var groups []*group
	by := map[[2]string]*group{}
	for _, h := range r.Hosts {
		for _, u := range h.Why {
			key := [2]string{string(u.What), unproved(u)}
			g := by[key]
			if g == nil {
				g = &group{what: key[0], why: key[1], host: h.Authority}
				by[key], groups = g, append(groups, g)
			}
			g.count, g.hosts = g.count+u.Count, g.hosts+1
		}
	}
	for _, g := range groups {
		hosts := g.host
		if g.hosts > 1 {
			hosts += " and " + plainly.Count(g.hosts-1, "more host")
		}
		all = append(all, fmt.Sprintf("unprovable: %s, %s, %s: %s", hosts, g.what, plainly.Count(g.count, "time"), g.why))
	}
	return shorten(all, MaxShown, listed("further reason"))
}

// unproved says why something cannot be proved, and within which bounds it lies.
func unproved(u audit.Unproved) string {
	if u.Least == 0 && u.Most == 0 {
		return u.Why
	}
	return fmt.Sprintf("%s; between %s and %s", u.Why, plainly.Seconds(u.Least), plainly.Seconds(u.Most))
}

// gaps are a host's pauses in words.
type gaps struct{ Pace, Least, Median string }

func row(h *audit.Host) gaps {
	g := gaps{"–", "–", "–"}
	if h.RequiredBy != "" || h.Required > 0 {
		g.Pace = plainly.Seconds(h.Required)
		if h.Lowest < h.Required { // another robots.txt or other settings held for a part of the time
			g.Pace = strings.TrimSuffix(plainly.Seconds(h.Lowest), " s") + "–" + g.Pace
		}
	}
	if g.Pace == "–" && h.Gaps > 0 {
		g.Pace = "none"
		if h.Own {
			g.Pace = "none (own)"
		}
	}
	if h.Gaps > 0 {
		g.Least, g.Median = plainly.Seconds(h.MinGap), plainly.Seconds(h.MedianGap)
	}
	if h.Gaps > 0 && h.StartToStart { // of which the exchange is a part
		g.Least, g.Median = "≤ "+g.Least, "≤ "+g.Median
	}
	return g
}

// policies says for each host which robots.txt its requests were checked against last.
func policies(r *audit.Result) []string {
	return shorten(lines(Render("policies", r)), findingsShown, func(n int) string { return "and " + plainly.Count(n, "more host") + "; --json lists them" })
}
