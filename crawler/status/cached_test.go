package status

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// An answer that costs the crawl time is given again for a while, but not after an operator has changed what it is about.
func TestAnOperatorsOrderHasTheNextLookTakenAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, n := newCached[int](), 0
		find := func(context.Context) (int, error) {
			time.Sleep(time.Second)
			n++
			return n, nil
		}
		for i, want := range []int{1, 1, 2, 2} {
			if i == 2 {
				l.forget()
			}
			got, err := l.get(t.Context(), find)
			assert.Truef(t, err == nil && got == want, "question %d: %d, %v, want %d", i, got, err, want)
		}
	})
}
