package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	for i, p := range at {
		if i == findingsShown {
			all = append(all, fmt.Sprintf("… and %d more; curtsy warc check lists them", len(at)-i))
			break
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s offset %d %s", p.file, p.offset, urls[p])))
	}
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

// findings lists violations, or notes, by code.
func findings(b *strings.Builder, r *audit.Result, notes bool) {
	title := "\nViolations\n"
	if notes {
		title = "\nNotes, not violations\n"
	}
	for _, c := range causesFirst(r) {
		n := c.Found - c.Notes
		if notes {
			n = c.Notes
		}
		if n == 0 {
			continue
		}
		b.WriteString(title)
		title = ""
		fmt.Fprintf(b, "  %s: %d (%s)\n", c.Code, n, c.Code.Words())
		shown := int64(0)
		for _, f := range r.Findings {
			if f.Code != c.Code || f.Note != notes {
				continue
			}
			if shown == findingsShown {
				break
			}
			shown++
			oneFinding(b, &f)
		}
		if n > shown {
			fmt.Fprintf(b, "    … and %d more; --json and --html list them\n", n-shown)
		}
	}
}

func oneFinding(b *strings.Builder, f *finding.Finding) {
	what := f.URL
	if what == "" {
		what = f.Authority
	}
	if !f.Time.IsZero() {
		what = strings.TrimSpace(f.Time.UTC().Format("2006-01-02T15:04:05.999999Z") + " " + what)
	}
	if what != "" {
		fmt.Fprintf(b, "    %s\n", plainly.OneLine(what))
	}
	fmt.Fprintf(b, "      required  %s\n      observed  %s\n", plainly.OneLine(f.Required), plainly.OneLine(f.Observed))
	if where := findingPlace(f); where != "" {
		fmt.Fprintf(b, "      where     %s\n", plainly.OneLine(where))
	}
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
