package pauses

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var day0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var resolutions = []time.Duration{time.Second, time.Second, time.Millisecond, time.Microsecond}

// crawl draws a crawl of one host: exchanges whose delays are the given share of the required one, or more by chance,
// and their archived dates. Exact ones wait no longer than that; mixed ones have dates of several resolutions.
func crawl(r *rand.Rand, n int, share float64, exact, mixed bool) (truth []time.Time, all []Exchange) {
	res := resolutions[r.IntN(len(resolutions))]
	ends := r.IntN(2) == 0
	pace := time.Duration(50+r.IntN(4000)) * time.Millisecond
	at := day0.Add(time.Duration(r.Int64N(int64(time.Hour))))
	for range n {
		if r.IntN(10) == 0 { // robots.txt changed, or another host lends its pace
			pace = time.Duration(r.IntN(4000)) * time.Millisecond
		}
		if mixed {
			res = resolutions[r.IntN(len(resolutions))]
		}
		at = at.Add(time.Duration(float64(pace) * share))
		if !exact && r.IntN(3) == 0 {
			at = at.Add(time.Duration(r.Int64N(int64(2 * time.Second))))
		}
		took := time.Duration(r.Int64N(int64(300 * time.Millisecond)))
		e := Exchange{Began: at.Truncate(res), Resolution: res, Pace: pace}
		if ends {
			e.Took = took
		}
		truth, all = append(truth, at), append(all, e)
		at = at.Add(took)
	}
	return truth, all
}

func fits(all []Exchange) int {
	for j := range all {
		due := time.Duration(0)
		for i := j - 1; i >= 0; i-- {
			if all[i+1].Pace <= 0 {
				break // it need not wait for the end of the one before
			}
			due += all[i].Took + all[i+1].Pace
			if all[i].Began.Add(due).After(all[j].Began.Add(all[j].Resolution)) {
				return j
			}
		}
	}
	return -1
}

func first(all []Exchange) int {
	var row Row
	return slices.IndexFunc(all, func(e Exchange) bool { _, short := row.Add(e); return short })
}

func TestRow_AcceptsPoliteCrawls(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		_, all := crawl(r, 2+r.IntN(200), 1, seed%2 == 0, seed%3 == 0)
		i := first(all)
		require.Negativef(t, i, "seed %d: accused of %+v", seed, all)
	}
}

func TestRow_ShortWithoutPossibleInstants(t *testing.T) {
	short, fit := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		_, all := crawl(r, 2+r.IntN(60), 0.5+r.Float64()*0.7, seed%2 == 0, false)
		got, want := first(all), fits(all)
		require.Equalf(t, want, got, "seed %d: first short at %d, by all pairs at %d: %+v", seed, got, want, all)
		if want >= 0 {
			short++
		} else {
			fit++
		}
	}
	if short < 300 || fit < 300 {
		t.Errorf("%d rows are short and %d fit: the test shows little", short, fit)
	}
}

func TestASpeederIsFoundWhenTheResolutionIsUsedUp(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		share := 0.2 + r.Float64()*0.7
		_, all := crawl(r, 300, share, true, false)
		saved := time.Duration(0)
		for i, e := range all {
			saved += time.Duration(float64(e.Pace) * (1 - share))
			if i > 0 && e.Pace == 0 {
				saved = 0
			}
			if got := first(all[:i+1]); saved > 4*time.Second && got < 0 && all[0].Took > 0 {
				t.Fatalf("seed %d: %v saved by exchange %d, and not found", seed, saved, i)
			} else if got >= 0 {
				break
			}
		}
	}
}

func TestWhole_ShuffledCrawl(t *testing.T) {
	for _, c := range []struct {
		step  time.Duration
		short bool
	}{{10 * time.Millisecond, true}, {900 * time.Millisecond, true}, {time.Second, false}} {
		var all []Exchange
		for i := range 1000 {
			at := day0.Add(time.Duration(i) * c.step)
			all = append(all, Exchange{Began: at.Truncate(time.Second), Resolution: time.Second, Pace: time.Second})
		}
		assert.Equalf(t, c.short, first(all) >= 0, "%v apart: short", c.step)
		rand.New(rand.NewPCG(1, 4)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		var row Row
		accused := false
		for _, e := range all {
			_, short := row.Add(e)
			accused = accused || short
		}
		s, short := row.Whole()
		if short != c.short || accused && !c.short {
			t.Errorf("%v apart, shuffled: short is %v, accused %v: %+v", c.step, short, accused, s)
		}
	}
}

func TestRow_ClockSetBackIsHarmless(t *testing.T) {
	var row Row
	at := day0
	for i := range 200 {
		if i == 100 {
			at = at.Add(-25 * time.Hour)
		}
		if _, short := row.Add(Exchange{Began: at.Truncate(time.Second), Resolution: time.Second, Pace: time.Second}); short {
			t.Fatalf("accused at %d", i)
		}
		at = at.Add(time.Second)
	}
	s, short := row.Whole()
	assert.Falsef(t, short, "accused as a whole: %+v", s)
}

func TestAddAllocatesNothing(t *testing.T) {
	_, all := crawl(rand.New(rand.NewPCG(1, 5)), 100, 1, true, false)
	assert.Zero(t, testing.AllocsPerRun(10, func() { first(all) }))
}

func TestMedian(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 63, 1000, 100000} {
		var g Sample
		for i := range n {
			g.Add(time.Duration((i*7919)%n) * time.Millisecond)
		}
		want, got := float64(n/2), float64(g.Median())/1e6
		if near := 0.2 * float64(n); n < maxSample && got != want || got < want-near || got > want+near {
			t.Errorf("of 0…%d ms: %v ms", n-1, got)
		}
		if g.least != 0 || g.n != int64(n) || len(g.sample) > maxSample {
			t.Errorf("of 0…%d ms: %+v", n-1, g)
		}
	}
}
