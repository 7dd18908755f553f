package crawler

import (
	"sync"

	"curtsy/frontier"
)

// paper is what a turn's result is written on. It is used again for other turns: a frontier keeps nothing of a result that
// whoever finished it may change.
type paper struct {
	found           []frontier.Candidate
	counts          map[string]int64
	robots, history []byte
	memory          []byte
}

// maxPaper bounds the candidates that there is room for on a paper that is not in use: those of some dozens of pages, which a
// wide turn hands in together. Who finds more has a larger one, once.
const maxPaper = 2048

func newPapers() *sync.Pool {
	return &sync.Pool{New: func() any { return &paper{counts: map[string]int64{}} }}
}

// begin begins the result of a turn, or of what is left of it.
func (p *paper) begin(t frontier.Turn) frontier.Result {
	return frontier.Result{Authority: t.Authority, Token: t.Token, Found: p.found, Counts: p.counts}
}

// wipe takes back what r was written on, once it is finished.
func (p *paper) wipe(r frontier.Result) {
	p.found = nil
	if cap(r.Found) <= maxPaper {
		clear(r.Found[:cap(r.Found)]) // else it would hold on to the URLs
		p.found = r.Found[:0]
	}
	clear(r.Counts)
	p.counts = r.Counts
}
