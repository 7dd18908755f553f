package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"curtsy/storage/plainly"
)

// addedRSS is how much more memory a crawl held at most because one body was hostile.
type addedRSS struct {
	Of      string `json:"of"`
	Without spread `json:"without_bytes"`
	With    spread `json:"with_bytes"`
	Added   spread `json:"added_bytes"` // of each round
}

// addUp holds each hostile web against the same web without what is hostile.
func (r *Result) addUp() {
	sound := r.Contenders[0]
	for _, c := range r.Contenders[1:] {
		var added []float64
		for i := range min(len(c.Rounds), len(sound.Rounds)) {
			added = append(added, float64(c.Rounds[i].PeakRSS-sound.Rounds[i].PeakRSS))
		}
		r.Added = append(r.Added, addedRSS{c.Name[len(nameCurtsy)+len(", "):], sound.PeakRSS, c.PeakRSS, spreadOf(added)})
	}
}

// addedTable says what hostile bodies cost.
func (r *Result) addedTable(w io.Writer) error {
	if len(r.Added) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "HOSTILE\tPEAK RSS WITHOUT\tWITH\tADDED\t(MIN-MAX)\tBODY CAP\tADDED/CAP")
	mib := func(octets float64) string { return fmt.Sprintf("%.1f MiB", octets/(1<<20)) }
	for _, a := range r.Added {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%.1f-%.1f\t%s\t%.2f\n", a.Of, mib(a.Without.Median), mib(a.With.Median), mib(a.Added.Median),
			a.Added.Min/(1<<20), a.Added.Max/(1<<20), plainly.Size(r.MaxBody), a.Added.Median/float64(max(r.MaxBody, 1)))
	}
	return tw.Flush()
}
