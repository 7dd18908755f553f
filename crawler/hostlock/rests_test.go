package hostlock

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func mustRest(t testing.TB, l *Locks, a canon.Authority, wait time.Duration) {
	t.Helper()
	require.NoError(t, l.Rest(a, time.Now(), Wish{Wait: wait, Status: 503, Field: "Retry-After"}))
}

func wantResting(t testing.TB, l *Locks, a canon.Authority, want time.Duration) {
	t.Helper()
	w, err := l.Resting(a)
	require.Truef(t, err == nil && w.Wait == want, "%s: %v left, %v; want %v", a, w.Wait, err, want)
}

// Politeness rules 11 and 26: all processes know a back-off, also later ones; it leaves lock and delay, and is never shortened.
func TestRule26_ARestIsKnownToAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "locks")
		one, two, a, b := open(t, path), open(t, path), authority(t, "http://a.test"), authority(t, "http://b.test")
		mustRest(t, one, a, time.Hour)
		mustRest(t, two, a, time.Minute) // another response, of a host that is still busy
		mustTake(t, two, a, 0)
		mustRelease(t, two, a, 0)
		require.NoError(t, one.Close())
		time.Sleep(time.Minute)
		for _, l := range []*Locks{two, open(t, path)} {
			w, err := l.Resting(a)
			require.NoError(t, err)
			assert.Equal(t, (Wish{Wait: 59 * time.Minute, Status: 503, Field: "Retry-After"}), w)
			assert.Equal(t, AskedAnother+" until 2000-01-01T01:00:00Z (status 503, Retry-After)", w.String())
			wantResting(t, l, b, 0)
		}
		mustRest(t, two, a, 2*time.Hour)
		w, err := two.Resting(a)
		assert.Truef(t, err == nil && w.Wait == 2*time.Hour && w.Ours, "%+v, %v", w, err)
		mustRest(t, two, a, time.Hour) // a shorter wish does not shorten the back-off
		w, err = two.Resting(a)
		assert.Truef(t, err == nil && w.Wait == 2*time.Hour && w.Ours, "%+v, %v", w, err)
		time.Sleep(2*time.Hour - time.Microsecond)
		wantResting(t, two, a, time.Microsecond)
		time.Sleep(time.Microsecond)
		wantResting(t, two, a, 0)
	})
}

// Politeness rule 11: over a year counts as a day.
func TestRule11_HowLongARestIsBelieved(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{
		0: 0, -time.Second: 0, 25 * time.Hour: 25 * time.Hour, longestRest: longestRest,
		longestRest + time.Second: 24 * time.Hour, math.MaxInt64: 24 * time.Hour,
	} {
		synctest.Test(t, func(t *testing.T) {
			l, a := open(t, filepath.Join(t.TempDir(), "locks")), authority(t, "http://a.test")
			mustRest(t, l, a, asked)
			wantResting(t, l, a, want)
		})
	}
}

// After the clock is set back, a host rests for its full back-off at most, once. A clock that is set forward counts.
func TestRule17_AClockSetBackLengthensNoLongRest(t *testing.T) {
	for _, back := range []time.Duration{time.Second, time.Hour, 25 * time.Hour, 1000 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			l, a := open(t, filepath.Join(t.TempDir(), "locks")), authority(t, "http://a.test")
			const rest = 30 * time.Minute
			require.NoError(t, l.Rest(a, time.Now().Add(back), Wish{Wait: rest, Status: 429}))
			for left := rest; left > 0; left -= time.Minute { // frequent looks must not make it longer
				w, err := l.Resting(a)
				require.Truef(t, err == nil && w.Wait == left && w.Ours, "%+v, %v; want %v", w, err, left)
				time.Sleep(time.Minute)
			}
			wantResting(t, l, a, 0)
		})
	}
}

// With any file, no call fails, no host waits longer than a year, and damaged entries are ignored and overwritten.
func TestDamagedRestsAreHarmless(t *testing.T) {
	a := authority(t, "http://a.test")
	h := hash(a.String())
	entry := func(until, rest int64, field byte, sound bool) []byte {
		b := make([]byte, wishes.size)
		binary.LittleEndian.PutUint64(b, h)
		binary.LittleEndian.PutUint64(b[8:], uint64(until))
		binary.LittleEndian.PutUint64(b[16:], uint64(rest))
		b[26] = field
		sum := crc32.ChecksumIEEE(b[:28])
		if !sound {
			sum++
		}
		binary.LittleEndian.PutUint32(b[28:], sum)
		return b
	}
	noise := make([]byte, wishes.places*wishes.size)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	hour := time.Hour.Microseconds()
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() // as it is in each bubble
	for name, c := range map[string]struct {
		b    []byte
		want time.Duration
	}{
		"noise":                 {noise, 0},
		"sound":                 {entry(now+hour, hour, 1, true), time.Hour},
		"a wrong checksum":      {entry(now+hour, hour, 1, false), 0},
		"a field of the future": {entry(now+hour, hour, 99, true), 0},
		"for ever":              {entry(math.MaxInt64, math.MaxInt64, 1, true), 24 * time.Hour},
		"before all time":       {entry(math.MinInt64, hour, 1, true), 0},
		"less than nothing":     {entry(now+hour, -hour, 1, true), 0},
		"cut short":             {entry(now+hour, hour, 1, true)[:20], 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "locks")
			l := open(t, path)
			_, err := l.file.WriteAt(c.b, wishes.from+bucket(h)*wishes.places*wishes.size)
			require.NoError(t, err)
			w, err := l.Resting(a)
			assert.Truef(t, err == nil && w.Wait == c.want, "%s: %v left, %v; want %v", name, w.Wait, err, c.want)
			mustRest(t, l, a, 48*time.Hour)
			wantResting(t, l, a, 48*time.Hour)
			fi, err := os.Stat(path)
			assert.Truef(t, err == nil && fi.Size() <= wishes.from+buckets*wishes.places*wishes.size, "%s: the file has %d bytes, %v", name, fi.Size(), err)
		})
	}
}

func TestAFullBucketLosesTheShortestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, now := open(t, filepath.Join(t.TempDir(), "locks")), time.Now().UnixMicro()
		for i := range wishes.places + 1 {
			rest := (i + 1) * time.Minute.Microseconds()
			require.NoError(t, l.write(wishes, entry{hash: 60<<48 | uint64(i+1), until: now + rest, rest: rest}, false))
		}
		for i := range wishes.places + 1 {
			e, err := l.find(wishes, 60<<48|uint64(i+1))
			assert.Truef(t, err == nil && (e.hash == 0) == (i == 0), "host %d: %+v, %v", i, e, err)
		}
	})
}

func TestRule17_ARestOutlivesAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locks")
	l, a := open(t, path), authority(t, "http://a.test")
	other, out, _ := start(t, "rest", path, a.String())
	line, err := out.ReadString('\n')
	require.Truef(t, err == nil && strings.TrimSpace(line) == "asked", "%q, %v", line, err)
	require.NoError(t, other.Process.Kill())
	_ = other.Wait() // the error is that it was killed
	w, err := l.Resting(a)
	assert.Truef(t, err == nil && w.Wait >= 47*time.Hour && w.Wait <= 48*time.Hour && !w.Ours, "%+v, %v", w, err)
}
