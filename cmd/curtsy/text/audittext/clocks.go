package audittext

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"curtsy/cmd/curtsy/text"
	"curtsy/storage/audit"
	"curtsy/storage/plainly"
)

// clockSeconds is the skew from which a host's is worth a line: the field Date has whole seconds.
const clockSeconds = 2

// clocks says by how much the dates of answers differ from the archive's.
func clocks(b *strings.Builder, r *audit.Result) {
	var all []float64
	var off []*audit.Host
	for _, h := range r.Hosts {
		if h.Dates == 0 {
			continue
		}
		if all = append(all, h.Skew); math.Abs(h.Skew) >= clockSeconds {
			off = append(off, h)
		}
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	fmt.Fprintf(b, "\nClocks, by the Date fields of answers (observed, and no proof): those of %s are ahead of the archive's by %+.1f s in the middle, from %+.1f s to %+.1f s.\n",
		plainly.Count(int64(len(all)), "host"), all[len(all)/2], all[0], all[len(all)-1])
	for i, h := range off {
		if i == text.MaxShown {
			fmt.Fprintf(b, "  and %s; --json and --html list them\n", plainly.Count(int64(len(off)-i), "more host"))
			break
		}
		fmt.Fprintf(b, "  %s: %s\n", plainly.OneLine(h.Authority), skewText(h))
	}
}

// skewText is the skew of a host in words, "" when it sent no dates.
func skewText(h *audit.Host) string {
	if h.Dates == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f s by %s", h.Skew, plainly.Count(h.Dates, "date"))
}
