package record

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

// meter is a Meter that a test sets.
type meter struct{ octets, ours atomic.Int64 }

func (m *meter) Octets() int64       { return m.octets.Load() }
func (m *meter) Ours() time.Duration { return time.Duration(m.ours.Load()) }

// fly takes a slot and has an exchange until it is over or cut, and reports which.
func fly(t *testing.T, r *Limiter, m Meter, d time.Duration) (cut bool) {
	t.Helper()
	s, err := r.Take(t.Context())
	if err != nil {
		t.Error(err)
		return false
	}
	defer s.Leave()
	done := make(chan struct{})
	end := s.Begin(canon.Authority{}, m, func() { close(done) })
	defer end()
	select {
	case <-time.After(d):
		return false
	case <-done:
		return true
	}
}

func TestRule25_SlowExchangesReturnTheirSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewLimiter(2)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				assert.False(t, fly(t, r, &meter{}, time.Hour), "cut, though there was room for it")
			})
		}
		time.Sleep(5 * time.Second)
		assert.Equal(t, 8, r.Slow(), "exchanges are slow")
		begin := time.Now()
		if fly(t, r, &meter{}, time.Millisecond) || time.Since(begin) != time.Millisecond {
			t.Errorf("a quick one took %v", time.Since(begin))
		}
		all.Wait()
		if r.Slow() != 0 || r.Try() == nil || r.Try() == nil || r.Try() != nil {
			t.Error("the room is not as it was")
		}
	})
}

// The longest exchange is cut first, fast ones after all others.
func TestRule25_LongestExchangeIsCutFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewLimiter(1)
		var order []int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 9 {
			m := &meter{}
			if i == 0 {
				m.octets.Store(1 << 40) // the oldest, and brisk
			}
			all.Go(func() {
				if fly(t, r, m, time.Minute) {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, i)
				}
			})
			time.Sleep(patience + time.Millisecond)
		}
		all.Wait()
		require.Equalf(t, len([]int{1, 2, 3, 4, 5}), len(order), "cut: %v", order)
		for i, n := range order {
			assert.Equalf(t, i+1, n, "cut: %v", order)
		}
		brisk := &meter{}
		brisk.octets.Store(1 << 40)
		for range 6 { // where all are brisk, one has to be cut
			all.Go(func() { fly(t, r, brisk, time.Minute) })
		}
		all.Wait()
	})
}

func TestRule25_OwnWaitsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m := NewLimiter(1), &meter{}
		stop := make(chan struct{})
		go func() {
			for tick := time.NewTicker(100 * time.Millisecond); ; {
				select {
				case <-tick.C:
					m.ours.Add(int64(99 * time.Millisecond))
				case <-stop:
					return
				}
			}
		}()
		lost := false
		s, _ := r.Take(t.Context())
		s.OnLoss(func() { lost = true })
		end := s.Begin(canon.Authority{}, m, func() {})
		time.Sleep(50 * time.Second)
		if !s.Held() || lost {
			t.Error("slow after 50 s, of which half a second was the host's")
		}
		time.Sleep(100 * time.Second)
		synctest.Wait()
		if s.Held() || !lost {
			t.Error("not slow after 1.5 s of the host's")
		}
		end()
		s.Leave()
		close(stop)
	})
}

func TestPress_CutsSlowExchanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, brisk := NewLimiter(2), &meter{}
		brisk.octets.Store(1 << 40)
		cut := make(chan bool, 2)
		go func() { cut <- fly(t, r, brisk, time.Hour) }()
		time.Sleep(time.Second)
		go func() { cut <- fly(t, r, &meter{}, time.Hour) }()
		time.Sleep(10 * time.Second)
		r.Press(11 * time.Second)
		if synctest.Wait(); len(cut) != 0 {
			t.Error("cut too soon")
		}
		time.Sleep(time.Second)
		r.Press(11 * time.Second)
		r.Press(11 * time.Second)
		if synctest.Wait(); len(cut) != 1 || !<-cut {
			t.Error("the slow one was not cut, or the brisk one was")
		}
		<-cut
	})
}

// Property: at most Most are in flight, the wait for a slot is bounded, and only exchanges longer than patience are cut.
func TestRule25_RoomOfRandomExchanges(t *testing.T) {
	rnd := rand.New(rand.NewPCG(25, 2))
	for range 30 {
		n, many, long := 1+rnd.IntN(8), 1+rnd.IntN(200), time.Duration(1+rnd.IntN(60))*time.Second
		durations := make([]time.Duration, many)
		for i := range durations {
			durations[i] = time.Duration(rnd.Int64N(int64(long)))
		}
		synctest.Test(t, func(t *testing.T) {
			r := NewLimiter(n)
			var flying, most atomic.Int64
			var all sync.WaitGroup
			begin := time.Now()
			for _, d := range durations {
				all.Go(func() {
					s, err := r.Take(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					defer s.Leave()
					if bound := time.Duration(many/n+1) * patience; time.Since(begin) > bound {
						t.Errorf("%d slots, %d exchanges: one waited %v, more than %v", n, many, time.Since(begin), bound)
					}
					start := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), d)
					defer cancel()
					most.Store(max(most.Load(), flying.Add(1)))
					end := s.Begin(canon.Authority{}, &meter{}, func() {
						cancel()
						if lasted := time.Since(start); lasted < patience {
							t.Errorf("cut after %v", lasted)
						}
					})
					<-ctx.Done()
					flying.Add(-1)
					end()
				})
			}
			all.Wait()
			if int(most.Load()) > r.Most()+n || r.Slow() != 0 { // n more in the instant in which as many are cut
				t.Errorf("%d in flight, %d at most; %d are still slow", most.Load(), r.Most(), r.Slow())
			}
		})
	}
}
