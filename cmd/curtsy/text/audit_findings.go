package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
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
