package text

import (
	"fmt"
	"strings"

	"curtsy/crawler"
	"curtsy/storage/plainly"
)

// Manners says which lists were in force and which choices were made about what pages ask for; nothing when nothing
// differs from the default and nobody opted out.
func Manners(m crawler.Manners) string {
	var b strings.Builder
	for i, v := range m.OptOut {
		if i == MaxShown {
			fmt.Fprintf(&b, "         … see --json for more\n")
			break
		}
		fmt.Fprintf(&b, "opt-out  %s, %s, sha256 %.12s, since %s\n", plainly.OneLine(v.File), Entries(v.Entries), v.SHA256, v.Since.Format("2006-01-02T15:04:05Z"))
	}
	for _, trouble := range m.Troubles {
		fmt.Fprintf(&b, "         %s\n", plainly.OneLine(trouble))
	}
	if m.Kept {
		fmt.Fprintf(&b, "kept     bodies of noarchive pages (--keep-noarchive): %d so far\n", m.NoArchive)
	} else if m.NoArchive > 0 {
		fmt.Fprintf(&b, "left out bodies of noarchive pages: %s\n", plainly.Count(m.NoArchive, "page"))
	}
	if m.NoIndex > 0 {
		fmt.Fprintf(&b, "noindex  %s, kept; the ledger marks them\n", plainly.Count(m.NoIndex, "page"))
	}
	if m.FollowRel != "" && m.FollowRel != strings.Join(crawler.DefaultFollowRel(), ",") {
		fmt.Fprintf(&b, "rel      links with %s are followed (--follow-rel)\n", plainly.OneLine(m.FollowRel))
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// Entries counts those of a list.
func Entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
