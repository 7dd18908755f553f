package hostlock

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func authority(t testing.TB, s string) canon.Authority {
	t.Helper()
	a, err := canon.ParseAuthority(s)
	require.NoError(t, err)
	return a
}

func open(t testing.TB, path string) *Locks {
	t.Helper()
	l, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	if why := l.Missing(); why != "" {
		t.Skip(why)
	}
	return l
}

func mustTake(t testing.TB, l *Locks, a canon.Authority, pace time.Duration) {
	t.Helper()
	wait, err := l.Take(a, pace)
	require.Truef(t, wait == 0 && err == nil, "%s: wait %v, %v; want it", a, wait, err)
}

func mustWait(t testing.TB, l *Locks, a canon.Authority, want time.Duration) {
	t.Helper()
	wait, err := l.Take(a, time.Second)
	require.Truef(t, wait == want && err == nil, "%s: wait %v, %v; want %v", a, wait, err, want)
}

func mustRelease(t testing.TB, l *Locks, a canon.Authority, rest time.Duration) {
	t.Helper()
	require.NoError(t, l.Release(a, rest))
}

// Politeness rule 17: one at a time, and rests to the microsecond.
func TestRule17_TakenHostIsLocked(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("the locks of this system are those of a process")
	}
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "new", "locks")
		one, two := open(t, path), open(t, path)
		a, b := authority(t, "http://a.test"), authority(t, "https://a.test")
		mustTake(t, one, a, time.Second)
		mustWait(t, two, a, time.Second)
		mustWait(t, one, a, time.Second) // nor is it a second worker's of the same crawl
		mustTake(t, two, b, time.Second) // another scheme is another authority
		mustRelease(t, two, b, 0)
		mustTake(t, one, b, time.Second)
		mustRelease(t, one, b, 0)

		mustRelease(t, one, a, 3*time.Second)
		mustWait(t, one, a, 3*time.Second)
		mustWait(t, two, a, 3*time.Second)
		time.Sleep(3*time.Second - time.Microsecond)
		mustWait(t, two, a, time.Microsecond)
		time.Sleep(time.Microsecond)
		mustTake(t, two, a, time.Second)
		mustWait(t, one, a, time.Second)
		time.Sleep(time.Minute)
		mustWait(t, one, a, Busy) // the exchange takes its time
		mustRelease(t, two, a, 0)
		mustTake(t, one, a, time.Second)
		mustRelease(t, one, a, 0)
	})
}

// Close or a kill leaves the delay from Take.
func TestRule17_EarlyEndLeavesTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "locks")
		one, a := open(t, path), authority(t, "http://a.test")
		mustTake(t, one, a, 5*time.Second)
		require.NoError(t, one.Close())
		time.Sleep(time.Second)
		two := open(t, path)
		mustWait(t, two, a, 4*time.Second)
		time.Sleep(4 * time.Second)
		mustTake(t, two, a, time.Second)
	})
}

// With any file, a host waits for a day at most, and no call fails.
func TestDamagedTableIsHarmless(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locks")
	b := make([]byte, wishes.from)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
	l := open(t, path)
	for i := range 1000 {
		a := authority(t, fmt.Sprintf("http://h%d.test", i))
		mustTake(t, l, a, time.Second)
		mustRelease(t, l, a, time.Hour)
		wait, err := l.Take(a, 0)
		require.Truef(t, err == nil && wait > time.Hour-time.Minute && wait <= time.Hour, "%v, %v", wait, err)
	}
	synctest.Test(t, func(t *testing.T) {
		a := authority(t, "http://past.test")
		mustTake(t, l, a, time.Second)
		require.NoError(t, l.Release(a, farthest+time.Second))
		mustTake(t, l, a, time.Second) // further ahead than any delay
		mustRelease(t, l, a, 0)
	})
	fi, err := os.Stat(path)
	assert.Truef(t, err == nil && fi.Size() == wishes.from, "the file has %d octets, %v", fi.Size(), err)
}

// Model: the table agrees with a map, with at most four rests in a bucket; then the one that ends first is lost.
func TestTableAgreesWithAMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, filepath.Join(t.TempDir(), "locks"))
		r := rand.New(rand.NewPCG(3, 4))
		next := map[uint64]int64{}
		for range 5000 {
			h := uint64(r.IntN(50))<<48 | uint64(r.IntN(4)+1) // four authorities in each of fifty buckets
			now := time.Now().UnixMicro()
			e, err := l.find(paces, h)
			require.NoError(t, err)
			require.Equalf(t, (entry{hash: h, until: next[h], rest: farthest.Microseconds()}).wait(now), e.wait(now), "the rest of %x", h)
			rest := time.Duration(r.IntN(100)) * time.Second
			next[h] = now + rest.Microseconds()
			require.NoError(t, l.store(h, now, rest))
			time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
		}
		now := time.Now().UnixMicro()
		for i := range uint64(5) {
			require.NoError(t, l.store(60<<48|i+1, now, time.Duration(i+1)*time.Minute))
		}
		for i := range uint64(5) {
			e, err := l.find(paces, 60<<48|i+1)
			require.NoError(t, err)
			assert.Equalf(t, (i == 0), (e.hash == 0), "authority %d of five: %+v", i, e)
		}
	})
}

func TestOpen_ErrorsNameTheProblem(t *testing.T) {
	dir := t.TempDir()
	if l, err := Open(dir); err == nil {
		l.Close()
		t.Error("a folder was opened")
	}
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	if l, err := Open(filepath.Join(file, "locks")); err == nil {
		l.Close()
		t.Error("a file was taken for a folder")
	}
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("HOME", dir)
	t.Setenv("LocalAppData", dir)
	path, err := Path()
	assert.Truef(t, err == nil && filepath.Base(filepath.Dir(path)) == "curtsy", "%s, %v", path, err)
}

func TestTakeAndReleaseCostLittle(t *testing.T) {
	l, a := open(t, filepath.Join(t.TempDir(), "locks")), authority(t, "http://a.test")
	got := testing.AllocsPerRun(100, func() {
		mustTake(t, l, a, 0)
		mustRelease(t, l, a, 0)
	})
	assert.Truef(t, got <= 24, "%v allocations", got)
	fi, err := l.file.Stat()
	assert.Truef(t, err == nil && fi.Size() <= wishes.from, "the file grew to %d octets, %v", fi.Size(), err)
}

func TestRule17_ARestIsNeverShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "locks")
		one, two, a := open(t, path), open(t, path), authority(t, "http://a.test")
		for range 20 {
			time.Sleep(77 * time.Nanosecond)
			mustTake(t, one, a, time.Second)
			rest := 10*time.Microsecond + 333*time.Nanosecond
			mustRelease(t, one, a, rest)
			released := time.Now()
			wait, err := two.Take(a, time.Second)
			for ; wait > 0 && err == nil; wait, err = two.Take(a, time.Second) {
				time.Sleep(wait)
			}
			rested := time.Since(released)
			require.Truef(t, err == nil && rested >= rest && rested <= rest+3*time.Microsecond, "rested %v, want %v; %v", rested, rest, err)
			mustRelease(t, two, a, 0)
			time.Sleep(time.Microsecond)
		}
	})
}

// After the clock is set back, a host or address rests for its full rest at most, once.
func TestRule17_AClockSetBackLengthensNoRest(t *testing.T) {
	for _, back := range []time.Duration{10 * time.Millisecond, time.Second, time.Hour, 25 * time.Hour, 10_000 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			l, a := open(t, filepath.Join(t.TempDir(), "locks")), authority(t, "http://a.test")
			addr := netip.MustParsePrefix("8.8.8.8/32")
			const rest = 3 * time.Second
			future := time.Now().Add(back)
			require.NoError(t, l.store(hash(a.String()), up(future), rest)) // released before the clock was set back
			require.NoError(t, l.store(hash(addressName(addr)), up(future), rest))
			begin := time.Now()
			for _, take := range []func() (time.Duration, error){
				func() (time.Duration, error) { return l.Take(a, time.Second) },
				func() (time.Duration, error) { return l.Start(addr, rest) },
			} {
				wait, err := take()
				for ; wait > 0 && err == nil; wait, err = take() {
					time.Sleep(min(wait, 700*time.Millisecond)) // frequent looks must not make it longer
				}
				took := time.Since(begin)
				assert.Truef(t, err == nil && took <= rest+100*time.Microsecond, "set back by %v: rested %v, want %v; %v", back, took, rest, err)
				time.Sleep(time.Until(begin.Add(rest)))
				begin = time.Now()
				require.NoError(t, l.store(hash(addressName(addr)), up(begin.Add(back)), rest))
			}
		})
	}
}

// Starts at an address keep the delay over all processes, even if a granted start is late.
func TestRule26_StartsAtAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "locks")
		addr := netip.MustParsePrefix("8.8.8.8/32")
		const every = 500 * time.Millisecond
		var mu sync.Mutex
		var starts []time.Time
		var all sync.WaitGroup
		for range 5 {
			l := open(t, path)
			all.Go(func() {
				for n := 0; n < 10; {
					wait, err := l.Start(addr, every)
					if err != nil {
						t.Error(err)
						return
					}
					if wait > 0 {
						time.Sleep(wait)
						continue
					}
					time.Sleep(time.Duration(n%4) * every) // a busy machine
					mu.Lock()
					starts = append(starts, time.Now())
					mu.Unlock()
					assert.NoError(t, l.Started(addr, every))
					n++
				}
			})
		}
		all.Wait()
		for i := range starts[1:] {
			assert.GreaterOrEqualf(t, starts[i+1].Sub(starts[i]), every, "start %d came too early", i+1)
		}
	})
}

// A granted start blocks others until Started and the delay. A process that ends before leaves the delay from Start.
func TestRule26_ALateStartIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "locks")
		slow, other := open(t, path), open(t, path)
		addr, elsewhere := netip.MustParsePrefix("8.8.8.8/32"), netip.MustParsePrefix("8.8.4.4/32")
		const every = 500 * time.Millisecond
		asks := func(l *Locks, at netip.Prefix, want time.Duration) {
			t.Helper()
			wait, err := l.Start(at, every)
			require.Truef(t, err == nil && wait == want, "Start: wait %v, %v; want %v", wait, err, want)
		}
		asks(slow, addr, 0)
		for range 3 {
			time.Sleep(every)
			asks(other, addr, every)
			asks(slow, addr, every)
			asks(other, elsewhere, 0)
			require.NoError(t, other.Started(elsewhere, every))
		}
		require.NoError(t, slow.Started(addr, every))
		asks(other, addr, every)
		time.Sleep(every)
		asks(other, addr, 0)
		time.Sleep(every / 2)
		require.NoError(t, other.Close()) // as the end of its process would
		asks(slow, addr, every/2)
		time.Sleep(every / 2)
		asks(slow, addr, 0)
	})
}
