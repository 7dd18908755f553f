package crawler

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/budget"
	"curtsy/frontier"
)

func TestBuffer_IsBlankWhenItIsUsedAgain(t *testing.T) {
	p := new(resultPool).Get()
	var turn frontier.Turn
	fill := func(n int) {
		r := p.Begin(turn)
		if len(r.Found)+len(r.Counts) > 0 { // without require, which allocates
			t.Fatalf("it begins with %+v", r)
		}
		for range n {
			r.Found = append(r.Found, frontier.Candidate{Via: "http://h.test/"})
		}
		r.Counts[budget.Pages]++
		p.Wipe(r)
	}
	fill(maxFound)
	for _, c := range p.found[:cap(p.found)] {
		if c != (frontier.Candidate{}) {
			t.Fatalf("it holds on to %+v", c)
		}
	}
	assert.EqualValues(t, 0, testing.AllocsPerRun(100, func() { fill(40) }), "allocations")
	if fill(maxFound + 1); p.found != nil {
		t.Errorf("room for %d candidates stays", cap(p.found))
	}
}
