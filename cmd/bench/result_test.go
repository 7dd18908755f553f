package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/cmd/curtsy/cli"
)

// rowsOf has the rounds of a contender that fetched everything.
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

// Only a violation by curtsy is a finding. A bare loop that omits pages would flatter curtsy: the run is void.
func TestVerdict(t *testing.T) {
	broken := func(c rows, change func(*round)) rows {
		change(&c.Rounds[1])
		return c
	}
	for name, tt := range map[string]struct {
		ours, other rows
		says        string
		code        int
	}{
		"sound":         {rowsOf(curtsy, 1, 1, 1), rowsOf(bareLoop, 1, 1, 1), "", cli.ExitDone},
		"a short gap":   {broken(rowsOf(curtsy, 1, 1), func(x *round) { x.Referee.Short = 1 }), rowsOf(bareLoop, 1, 1), "curtsy, round 2: 1 of 0 gaps short", cli.ExitFound},
		"peer, twice":   {rowsOf(curtsy, 1, 1), broken(rowsOf("wget", 1, 1), func(x *round) { x.Referee.Duplicates = 5 }), "", cli.ExitDone},
		"bare, missing": {rowsOf(curtsy, 1, 1), broken(rowsOf("bare, Go's GC", 1, 1), func(x *round) { x.Referee.Pages = 8 }), "8 of 9 pages, and 0 again, in round 2", cli.ExitFailed},
	} {
		r := result{Contenders: []rows{tt.ours, tt.other}}
		r.conclude()
		err := r.verdict()
		if tt.says == "" {
			assert.NoError(t, err, name)
			continue
		}
		assert.ErrorContains(t, err, tt.says, name)
		var found *cli.Error
		assert.Equal(t, tt.code == cli.ExitFound, errors.As(err, &found), name)
	}
}
