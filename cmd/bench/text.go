package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"curtsy/storage/plainly"
)

// WriteText prints a result for people.
func (r *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s at %s, %d at a time, %s\n", r.Setup, plainly.Count(r.Pages, "page"), plainly.Count(r.Hosts, "host"), r.Workers, plainly.Count(len(r.Contenders[0].Rounds), "round"))
	if r.Pace > 0 {
		fmt.Fprintf(&b, "the hosts require a delay of %g s, and respond after %g s\n", r.Pace, r.Latency)
	}
	fmt.Fprintf(&b, "curtsy %s, %s, %s, %s; memory limit %s", r.Version, r.Go, r.System, plainly.Count(r.CPUs, "CPU"), plainly.Size(r.Memory))
	if r.NullRate > 0 {
		fmt.Fprintf(&b, "; the web by itself: %.0f requests/s", r.NullRate)
	}
	b.WriteString("\n\n")
	if err := r.table(&b); err != nil {
		return err
	}
	for _, table := range []func(io.Writer) error{r.ratioTable, r.addedTable, r.stageTable} {
		if err := table(&b); err != nil {
			return err
		}
	}
	r.remarks(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// table has a row for each contender. Figures are medians; the least and the most stand beside them.
func (r *Result) table(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "WHO\tPAGES/S\t(MIN-MAX)\tCPU MS/PAGE\t(MIN-MAX)\tPEAK RSS\tALLOCS/PAGE\tCONNS/HOST\tCOVERAGE\tDUPLICATES")
	if r.Pace > 0 {
		fmt.Fprint(tw, "\tOF PERMITTED\tFROM THE START\tALL HOSTS MET\tGAPS SHORT")
	}
	if r.Setup == setupMirror {
		fmt.Fprint(tw, "\tFILES")
	}
	if r.Contenders[0].Rounds[0].Referee.Endless {
		fmt.Fprint(tw, "\tURLS KNOWN")
	}
	fmt.Fprintln(tw)
	for _, c := range r.Contenders {
		allocs, rss := "-", "-"
		if c.Allocs.Median > 0 {
			allocs = fmt.Sprintf("%.0f", c.Allocs.Median)
		}
		if c.PeakRSS.Median > 0 {
			rss = fmt.Sprintf("%.1f MiB", c.PeakRSS.Median/(1<<20))
		}
		worst := c.worst()
		name := plainly.Lines(c.Name)
		if c.stopped() {
			name += " (stopped)"
		}
		fmt.Fprintf(tw, "%s\t%.0f\t%.0f-%.0f\t%.3f\t%.3f-%.3f\t%s\t%s\t%d\t%.4f\t%d", name, c.PagesPerS.Median, c.PagesPerS.Min, c.PagesPerS.Max,
			c.CPUPerPage.Median, c.CPUPerPage.Min, c.CPUPerPage.Max, rss, allocs, worst.ConnsPer, worst.Coverage, worst.Duplicates)
		if r.Pace > 0 {
			fmt.Fprintf(tw, "\t%s\t%.4f\t%.1f s\t%d of %d", steady(c.Steady.Median), c.OfAllowed.Median, worst.Met, worst.Short, worst.Gaps)
		}
		if r.Setup == setupMirror {
			fmt.Fprintf(tw, "\t%d", worst.Files)
		}
		if worst.Endless {
			fmt.Fprintf(tw, "\t%d", worst.Known)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

// steady writes a ratio that there may not be.
func steady(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4f", ratio)
}

// worstOf are a contender's worst counts in any round.
type worstOf struct {
	ConnsPer, Duplicates, Short, Gaps, Known int
	Files                                    int // the fewest
	Coverage, Met                            float64
	Endless                                  bool
}

func (c Rows) worst() worstOf {
	w := worstOf{Coverage: c.Rounds[0].Referee.Coverage, Files: c.Rounds[0].Files}
	for _, x := range c.Rounds {
		f := x.Referee
		w.ConnsPer, w.Duplicates, w.Short = max(w.ConnsPer, f.ConnsPer), max(w.Duplicates, f.Duplicates), max(w.Short, f.Short)
		w.Gaps, w.Known, w.Endless = max(w.Gaps, f.Gaps), max(w.Known, f.Known), f.Endless
		w.Files, w.Met = min(w.Files, x.Files), max(w.Met, f.MetAfter)
		w.Coverage = min(w.Coverage, f.Coverage)
	}
	return w
}

func (r *Result) ratioTable(w io.Writer) error {
	if len(r.Ratios) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "CURTSY DIVIDED BY\tPAGES/S\t(MIN-MAX)\tCPU/PAGE\t(MIN-MAX)")
	for _, q := range r.Ratios {
		fmt.Fprintf(tw, "%s\t%.2f\t%.2f-%.2f\t%.2f\t%.2f-%.2f\n", plainly.Lines(q.To), q.PagesPerS.Median, q.PagesPerS.Min, q.PagesPerS.Max,
			q.CPUPerPage.Median, q.CPUPerPage.Min, q.CPUPerPage.Max)
	}
	return tw.Flush()
}

func (r *Result) remarks(w io.Writer) {
	fmt.Fprintln(w)
	for _, v := range r.Violations {
		fmt.Fprintf(w, "VIOLATION  %s\n", plainly.Lines(v))
	}
	if len(r.Violations) == 0 {
		fmt.Fprintln(w, "the servers found no violation by curtsy in any round")
	}
	if r.Void != "" {
		fmt.Fprintf(w, "VOID  %s\n", r.Void)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
}
