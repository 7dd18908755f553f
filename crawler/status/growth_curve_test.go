package status

import (
	"cmp"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// grow returns the expectation of a curve after n pages.
func grow(n int, known func(done float64) float64) (total int64, open bool, now int64) {
	var c growthCurve
	for done := range n + 1 {
		c.Note(int64(done), int64(known(float64(done))))
	}
	now = int64(known(float64(n)))
	total, open = c.Expect(int64(n), now)
	return total, open, now
}

func TestACurveThatLevelsOffIsFollowedToItsEnd(t *testing.T) {
	for _, links := range []float64{3, 6, 12, 30} { // of each page to random ones of 1000
		at := func(done float64) float64 { return 1000 * (1 - math.Exp(-links*(done+1)/1000)) }
		total, open, now := grow(100, at)
		assert.Truef(t, !open && total >= 850 && total <= 1150, "%v links a page: %d of 1000 expected, open %t, %d known", links, total, open, now)
	}
}

func TestCurve_EndedGrowthIsComplete(t *testing.T) {
	total, open, _ := grow(30, func(float64) float64 { return 400 })
	assert.Truef(t, !open && total == 400, "%d, open %t", total, open)
}

// These find as many URLs as before until the last page.
func TestCurve_ConstantGrowthIsOpen(t *testing.T) {
	for name, known := range map[string]func(float64) float64{
		"tree":         func(done float64) float64 { return 1 + 4*done },
		"lists of ten": func(done float64) float64 { return 12 + 11*math.Floor(done/11) },
		"chain":        func(done float64) float64 { return 1 + done },
	} {
		total, open, now := grow(60, known)
		assert.Truef(t, open && total == now, "%s: %d expected, %d known, open %t", name, total, now, open)
	}
}

// Five pages later an estimated end has not moved by factors; a site without an end never has one.
func TestExpectation_DoesNotJump(t *testing.T) {
	least := func(pages float64, known func(float64) float64) func(float64) float64 {
		return func(done float64) float64 { return min(pages, known(done)) }
	}
	for _, site := range []struct {
		name    string
		pages   int // 0: it never ends
		known   func(done float64) float64
		closing int // done pages from which on the end is known
	}{
		{"chain", 0, func(done float64) float64 { return 1 + done }, 0},
		{"calendar", 0, func(done float64) float64 { return 31 + 2*done }, 0},
		{"tree", 1200, least(1200, func(done float64) float64 { return 1 + 4*done }), 500},
		{"wide index", 400, func(float64) float64 { return 400 }, 25},
		{"index behind the first pages", 550, func(done float64) float64 { return []float64{36, 320, 550}[min(int(done)/16, 2)] }, 150},
		{"links to pages drawn from all", 1000, func(done float64) float64 { return 1000 * (1 - math.Exp(-6*(done+1)/1000)) }, 60},
	} {
		var c growthCurve
		was := 0.0 // pages left by the last estimate, less those done since; 0 without an end
		for done := 1; done < cmp.Or(site.pages, 600); done++ {
			known := int64(site.known(float64(done)))
			c.Note(int64(done), known)
			if done%5 != 0 {
				continue
			}
			total, open := c.Expect(int64(done), known)
			rest := float64(total - int64(done))
			switch {
			case site.pages == 0 && !open:
				t.Errorf("%s: %d expected of %d known at %d", site.name, total, known, done)
			case open && site.closing > 0 && done >= site.closing:
				t.Errorf("%s: no end at %d", site.name, done)
			case !open && 2*total < int64(site.pages):
				t.Errorf("%s: %d pages expected at %d", site.name, total, done)
			case !open && was > 0 && (rest > 2*was || rest < was/2):
				t.Errorf("%s: %.0f left at %d, and %.0f five pages before", site.name, rest, done, was+5)
			}
			if was = 0; !open {
				was = rest - 5
			}
		}
	}
}

func TestCurve_SlowingGrowthEnds(t *testing.T) {
	total, open, now := grow(100, func(done float64) float64 { return 300 + done/2 })
	assert.Truef(t, !open && total == now+250, "%d expected, %d known, open %t", total, now, open)
}

func TestCurve_IsBoundedAndRestarts(t *testing.T) {
	var c growthCurve
	for i := range int64(1_000_000) {
		c.Note(i, 2*i)
	}
	assert.Truef(t, c.n <= points && int64(c.at[c.n-1].done) >= 900_000 && c.at[c.n/2].done <= 700_000, "%+v", c)
	if c.Note(5, 10); c.n != 1 || c.step != 1 {
		t.Errorf("%+v", c)
	}
}

func TestCurve_FewPointsAreOpen(t *testing.T) {
	var c growthCurve
	total, open := c.Expect(3, 9)
	assert.Truef(t, total == 9 && !open, "of nothing: %d, open %t", total, open)
	c.Note(0, 1)
	c.Note(2, 30)
	total, open = c.Expect(2, 30)
	assert.Truef(t, total == 30 && open, "%d, open %t", total, open)
}
