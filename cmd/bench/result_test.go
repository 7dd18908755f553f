package main

import (
	"errors"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// rowsOf are rounds of a contender that fetched everything, at these speeds.
func rowsOf(name string, pagesPerS ...float64) rows {
	c := rows{Name: name, Peer: name == "wget"}
	for _, x := range pagesPerS {
		c.Rounds = append(c.Rounds, round{PagesPerS: x, CPUPerPage: 1, Referee: refereed{Pages: 9, Expected: 9, Coverage: 1}})
	}
	return c
}

// The median of an even number is the mean of the middle two, and a ratio is the median of those within rounds.
func TestConclude_MediansAndRatios(t *testing.T) {
	r := result{Contenders: []rows{rowsOf(curtsy, 10, 40, 30, 20), rowsOf("wget", 5, 10, 10, 2)}}
	r.conclude()
	if got, want := r.Contenders[0].PagesPerS, (spread{25, 10, 40}); got != want {
		t.Errorf("median of four: %+v, want %+v", got, want)
	}
	if got, want := r.Ratios[0].PagesPerS, (spread{3.5, 2, 10}); got != want || r.Ratios[0].To != "wget" {
		t.Errorf("ratio: %+v, want %+v", got, want)
	}
}

// A violation by curtsy is a finding, and one by another program is not. A bare loop that omits pages or wastes processor
// time would flatter curtsy: the run is void.
func TestVerdict(t *testing.T) {
	broken := func(c rows, change func(*round)) rows {
		change(&c.Rounds[1])
		return c
	}
	wasteful := rowsOf(bareLoop, 1, 1, 1)
	wasteful.Rounds[0].CPUPerPage, wasteful.Rounds[1].CPUPerPage = 1.6, 1.6
	for name, tt := range map[string]struct {
		ours, other rows
		pages       int
		says        string
		code        int
	}{
		"sound":           {rowsOf(curtsy, 1, 1, 1), rowsOf(bareLoop, 1, 1, 1), fewPages, "", cli.ExitDone},
		"a short gap":     {broken(rowsOf(curtsy, 1, 1), func(x *round) { x.Referee.Short = 1 }), wasteful, fewPages, "curtsy, round 2: 1 of 0 gaps short", cli.ExitFound},
		"peer, twice":     {rowsOf(curtsy, 1, 1), broken(rowsOf("wget", 1, 1), func(x *round) { x.Referee.Duplicates = 5 }), fewPages, "", cli.ExitDone},
		"bare, missing":   {rowsOf(curtsy, 1, 1), broken(rowsOf("bare, Go's GC", 1, 1), func(x *round) { x.Referee.Pages = 8 }), fewPages, "8 of 9 pages, and 0 again, in round 2", cli.ExitFailed},
		"bare, wasteful":  {rowsOf(curtsy, 1, 1, 1), wasteful, fewPages, "1.60 times the processor time", cli.ExitFailed},
		"bare, few pages": {rowsOf(curtsy, 1, 1, 1), wasteful, fewPages - 1, "", cli.ExitDone},
	} {
		r := result{Pages: tt.pages, Contenders: []rows{tt.ours, tt.other}}
		for range tt.other.Rounds {
			r.Parts = append(r.Parts, parts{Pages: 9, Fetch: 0.25, Parse: 0.75})
		}
		r.conclude()
		err := r.verdict()
		var found *cli.Error
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) || errors.As(err, &found) != (tt.code == cli.ExitFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
