package budget

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refused is a press for tests in which no Take waits.
func refused(t *testing.T) func() {
	return func() { t.Error("slow exchanges were pressed") }
}

// over is a context that has ended: Take with it never waits.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Politeness rule 15: counted pages and tickets together never exceed the cap, and More refuses no other tickets.
func TestRule15_PagesAndTicketsNeverPassTheCap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		most, pages := 1+rng.Int64N(6), rng.Int64N(3)
		b := New(most, 0, map[string]int64{Pages: pages}, refused(t))
		out := int64(0)
		for step := range 60 {
			if rng.IntN(3) == 0 && out > 0 {
				page := rng.Int64N(2)
				b.Give(page)
				out, pages = out-1, pages+page
				continue
			}
			got, want := b.More(), pages+out < most
			require.Equalf(t, want, got, "round %d, step %d: More %v with %d pages, %d out, cap %d", round, step, got, pages, out, most)
			if got {
				out++
			}
			word := ""
			if pages >= most {
				word = MaxPages
			}
			if pages+out < most {
				continue // Take would take one
			}
			if got := b.Take(over()); got != word {
				t.Fatalf("round %d, step %d: Take returns %q with %d pages, cap %d", round, step, got, pages, most)
			}
		}
	}
}

// Bytes of earlier runs count. A budget of zero is unlimited.
func TestRule15_WhichBudgetIsUsedUp(t *testing.T) {
	for _, c := range []struct {
		name                              string
		maxPages, maxBytes, before, spend int64
		pages                             int64
		want                              string
	}{
		{name: "no cap", before: 1 << 40, spend: 1 << 40, pages: 1 << 40},
		{name: "one byte is left", maxBytes: 100, before: 40, spend: 59},
		{name: "the last byte is spent", maxBytes: 100, before: 40, spend: 60, want: MaxBytes},
		{name: "more than the cap is spent", maxBytes: 100, spend: 5000, want: MaxBytes},
		{name: "one page is left", maxPages: 3, pages: 2},
		{name: "the last page is there", maxPages: 3, pages: 3, want: MaxPages},
		{name: "bytes are not pages", maxPages: 3, spend: 5000, pages: 2},
		{name: "pages are not bytes", maxBytes: 3, pages: 5000},
	} {
		b := New(c.maxPages, c.maxBytes, map[string]int64{Pages: c.pages, Bytes: c.before}, refused(t))
		b.Spend(c.spend, true)
		assert.Equal(t, c.want, b.Take(context.Background()), c.name)
		if got, want := b.More(), c.want == "" && c.maxPages == 0; got != want { // Take has the last page's ticket
			t.Errorf("%s: More %v, want %v", c.name, got, want)
		}
	}
}

// A returned ticket goes to one waiting worker; the last page ends the wait of all.
func TestTakeWaitsForATicketThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(2, 0, nil, refused(t))
		for range 2 {
			require.Empty(t, b.Take(t.Context()), "no ticket")
		}
		var mu sync.Mutex
		got := map[string]int{}
		for range 3 {
			go func() {
				word := b.Take(t.Context())
				mu.Lock()
				defer mu.Unlock()
				got[word]++
			}()
		}
		want := func(tickets, ends int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if got[""] != tickets || got[MaxPages] != ends || len(got) > 2 {
				t.Fatalf("%v, want %d tickets and %d ends", got, tickets, ends)
			}
		}
		want(0, 0)
		b.Give(0)
		want(1, 0)
		b.Give(1)
		want(1, 0)
		b.Give(1)
		want(1, 2)
	})
}

// Slow exchanges are pressed every half minute until the ticket comes or ctx ends.
func TestTakePressesAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, presses := time.Now(), []time.Duration(nil)
		b := New(1, 0, nil, nil)
		b.press = func() {
			if presses = append(presses, time.Since(start)); len(presses) == 3 {
				b.Give(0)
			}
		}
		if !b.More() || b.Take(t.Context()) != "" {
			t.Fatal("no ticket")
		}
		if len(presses) != 3 || presses[0] != PressAfter || presses[2] != 3*PressAfter {
			t.Errorf("pressed at %v", presses)
		}
		ctx, cancel := context.WithTimeout(t.Context(), PressAfter/2)
		defer cancel()
		if word := b.Take(ctx); word != "" || time.Since(start) != 3*PressAfter+PressAfter/2 {
			t.Errorf("%q after %v, want the end of the context", word, time.Since(start))
		}
		b.Give(0)
		if !b.More() || b.More() {
			t.Error("the wait that ctx ended has taken a ticket, or has given one back")
		}
	})
}

func TestHoldCorrectsWhatIsOut(t *testing.T) {
	b := New(5, 0, nil, refused(t))
	for range 5 {
		b.More()
	}
	b.Hold(1 - 4) // the worker keeps one of its four
	n := 0
	for n < 5 && b.More() {
		n++
	}
	assert.Equal(t, 3, n, "tickets are free, want 3")
}

// Bytes without a head do not count.
func TestAnsweredNeedsAnAnswer(t *testing.T) {
	b := New(0, 0, nil, nil)
	b.Spend(500, false)
	assert.False(t, b.Answered(), "bytes that were no answer count as one")
	b.Spend(0, true)
	if !b.Answered() || !New(0, 0, map[string]int64{Answers: 1}, nil).Answered() {
		t.Error("an answer is not known")
	}
}
