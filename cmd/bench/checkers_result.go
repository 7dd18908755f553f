package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"curtsy/storage/plainly"
)

// Comparison is how all of them did.
type Comparison struct {
	Faults   int    `json:"faults"`         // that there are
	Docs     string `json:"docs,omitempty"` // the folder
	Checkers []Row  `json:"checkers"`       // curtsy first
}

// Row is how one did.
type Row struct {
	Name   string `json:"name"`
	Line   string `json:"line"` // how it is called
	Absent bool   `json:"absent,omitempty"`
	Score
	Site   Times `json:"site"`
	Folder Times `json:"folder"`
}

// Times are those of all rounds, in seconds.
type Times struct {
	Rounds  []float64 `json:"rounds_s"`
	Stopped bool      `json:"stopped,omitempty"` // at the limit: it takes longer
}

func (t *Times) add(r ran) {
	t.Rounds, t.Stopped = append(t.Rounds, r.took.Seconds()), t.Stopped || r.stopped
}

// Median is the middle one; 0 of none.
func (t Times) Median() float64 {
	if len(t.Rounds) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.Rounds))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func (t Times) String() string {
	if len(t.Rounds) == 0 {
		return "-"
	}
	more := ""
	if t.Stopped {
		more = "> "
	}
	return fmt.Sprintf("%s%.2f s", more, t.Median())
}

// times are said while it runs: those of the last round.
func (r *Row) times() string {
	s := r.Site
	s.Rounds = s.Rounds[max(0, len(s.Rounds)-1):]
	f := r.Folder
	f.Rounds = f.Rounds[max(0, len(f.Rounds)-1):]
	if len(f.Rounds) == 0 {
		return s.String()
	}
	return s.String() + ", " + f.String() + " for the folder"
}

// ratio is how much longer than curtsy one takes.
func ratio(its, ours Times) string {
	if len(its.Rounds) == 0 || ours.Median() == 0 {
		return "-"
	}
	more := ""
	if its.Stopped {
		more = "> "
	}
	return fmt.Sprintf("%s%.1f", more, its.Median()/ours.Median())
}

// WriteText prints the result for people.
func (r *Comparison) WriteText(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := "CHECKER\tFOUND\tINVENTED\tTIME\tRATIO"
	if r.Docs != "" {
		head += "\tFOLDER\tRATIO"
	}
	fmt.Fprintln(tw, head)
	for _, row := range r.Checkers {
		if row.Absent {
			fmt.Fprintf(tw, "%s\tis not installed\n", row.Name)
			continue
		}
		fmt.Fprintf(tw, "%s\t%d of %d\t%d\t%s\t%s", row.Name, row.Found, r.Faults, len(row.Invented), row.Site, ratio(row.Site, r.Checkers[0].Site))
		if r.Docs != "" {
			fmt.Fprintf(tw, "\t%s\t%s", row.Folder, ratio(row.Folder, r.Checkers[0].Folder))
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, row := range r.Checkers {
		if row.Absent {
			continue
		}
		var missed []string
		for _, kind := range slices.Sorted(maps.Keys(row.Missed)) {
			missed = append(missed, fmt.Sprintf("%d × %s", row.Missed[kind], kind))
		}
		fmt.Fprintf(&b, "\n%s\n", row.Line)
		if len(missed) > 0 {
			fmt.Fprintf(&b, "  missed: %s\n", strings.Join(missed, "; "))
		}
		if len(row.Invented) > 0 {
			fmt.Fprintf(&b, "  invented: %s\n", plainly.OneLine(strings.Join(row.Invented[:min(10, len(row.Invented))], " ")))
		}
	}
	if r.Docs != "" {
		fmt.Fprintf(&b, "\nThe folder is %s. Times are medians of all rounds, ratios are to curtsy.\n", plainly.OneLine(r.Docs))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Verdict is an error if curtsy missed a fault, or invented one.
func (r *Comparison) Verdict() error {
	if ours := r.Checkers[0]; ours.Found < r.Faults || len(ours.Invented) > 0 {
		return fmt.Errorf("curtsy linkcheck found %d of %d faults, and invented %d", ours.Found, r.Faults, len(ours.Invented))
	}
	return nil
}

// shown is a command line without the paths of this machine.
func shown(c checkersContender) string {
	line := slices.Clone(c.argv)
	if c.ours {
		line[0] = "curtsy"
	}
	return strings.Join(line, " ")
}
