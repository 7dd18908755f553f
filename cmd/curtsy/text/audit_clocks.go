package text

import (
	"fmt"
	"math"
	"slices"

	"curtsy/storage/audit"
	"curtsy/storage/plainly"
)

// clockSeconds is the skew from which a host's is worth a line: the field Date has whole seconds.
const clockSeconds = 2

// clocks says by how much the dates of answers differ from the archive's, and at which hosts by much; nil without dates.
func clocks(r *audit.Result) *titled {
	var all []float64
	var off []string
	for _, h := range r.Hosts {
		if h.Dates == 0 {
			continue
		}
		if all = append(all, h.Skew); math.Abs(h.Skew) >= clockSeconds {
			off = append(off, h.Authority+": "+skewText(h))
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return &titled{clockWords(all), shorten(off, MaxShown, listed("more host"))}
}

// clockWords say how hosts' clocks stand to the archive's dates. all is by how much each is ahead, in order.
func clockWords(all []float64) string {
	least, middle, most := all[0], all[len(all)/2], all[len(all)-1]
	hosts := plainly.Count(int64(len(all)), "host")
	if -least < clockSeconds && most < clockSeconds { // Date has whole seconds
		return fmt.Sprintf("%s within a second of the archive's", hosts)
	}
	if len(all) == 1 {
		return "1 host, compared with the archive's: " + aheadBy(middle)
	}
	return fmt.Sprintf("%s, compared with the archive's: from %s to %s, median %s", hosts, aheadBy(least),
		aheadBy(most), aheadBy(middle))
}

func aheadBy(s float64) string {
	if s < 0 {
		return fmt.Sprintf("%.1f s behind", -s)
	}
	return fmt.Sprintf("%.1f s ahead", s)
}

// skewText is the skew of a host in words, "" when it sent no dates.
func skewText(h *audit.Host) string {
	if h.Dates == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f s by %s", h.Skew, plainly.Count(h.Dates, "date"))
}
