package pacing

import (
	"slices"
	"time"

	"curtsy/storage/audit/evidence"
)

// The starts of a host's exchanges by their dates, of another crawler: its records may stand in any order, and a
// pause that is too short between two dates is so wherever the two stand.

// A host's last starts are kept, and of all hosts no more than so many; beside is how many are looked at on either
// side.
const (
	maxDates    = 1024
	maxAllDates = 1 << 20 // 8 MiB
	beside      = 32
)

// starts are Unix microseconds in their order.
type starts []int64

// starts keeps a start.
func (j *Judge) starts(h *evidence.Joined, to *Host) {
	e := &h.Exchange
	if j.m.Ours() || e.Own || !h.HasAnswer { // a request whose answer lies far from it is judged alone, and so is the answer
		return
	}
	if len(to.starts) >= maxDates || j.kept >= maxAllDates && len(to.starts) > 0 {
		to.starts = slices.Delete(to.starts, 0, 1)
		j.kept--
	}
	at := e.Began.UnixMicro()
	i, _ := slices.BinarySearch(to.starts, at)
	to.starts = slices.Insert(to.starts, i, at)
	j.kept++
}

// crowded returns how many exchanges near a date, its own among them, are the nearest to breaking a pause, and the
// time in which they began. It reports whether they do: fewer would have had room in that time.
func (s starts) crowded(at time.Time, due, res time.Duration) (n int, in time.Duration, ok bool) {
	t := at.UnixMicro()
	k, _ := slices.BinarySearch(s, t)
	for i := max(k-beside, 0); i <= k; i++ {
		for j := k; j <= min(k+beside, len(s)); j++ { // t itself stands between those before k and those from k
			first, last := t, t
			if i < k {
				first = s[i]
			}
			if j > k {
				last = s[j-1]
			}
			span := time.Duration(last-first)*time.Microsecond + res
			if least := time.Duration(j-i) * due; j > i && span+slack(least) < least {
				return j - i + 1, span, true
			}
		}
	}
	return 0, 0, false
}
