package crawler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"curtsy/crawler/crawltest"
)

// beginning is a ledger that notes how often a run began, and how many requests had been made by then.
type beginning struct {
	*lines
	w            *world
	begun, asked int
	err          error
}

func (b *beginning) Begin(context.Context) error {
	b.begun++
	b.asked += len(b.w.web.Referee().Requests())
	return b.err
}

// The ledger says that a run began before that run asks for anything, and a run that it cannot say so of asks for nothing.
func TestTheLedgerMarksARunBeforeItsFirstExchange(t *testing.T) {
	for _, failure := range []error{nil, errors.New("no room")} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {}}})
			b := &beginning{lines: w.ledger, w: w, err: failure}
			w.cfg.Ledger = b
			c := w.crawl()
			if _, err := c.Run(t.Context()); !errors.Is(err, failure) {
				t.Fatal(err)
			}
			asked := len(w.web.Referee().Requests())
			if b.begun != 1 || b.asked != 0 || (asked > 0) != (failure == nil) {
				t.Errorf("the run began %d times, after %d of %d requests", b.begun, b.asked, asked)
			}
		})
	}
}
