package record

import (
	"fmt"
	"iter"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// rest is the last rest of a host by the ledger.
type rest struct {
	end  time.Time // of the exchange that imposed it
	pace host.Pace
	why  string
}

// until is when it is over.
func (r rest) until() time.Time { return r.end.Add(r.pace.Pause) }

// maxRests bounds how many hosts are remembered. A ledger of ours names far fewer within an hour of its end.
const maxRests = 1 << 18

// Rests are the hosts that rest by the ledger. The zero value is none.
type Rests map[canon.Authority]rest

// ReadRests reads lines that say a rest. Whether the frontier knows of it is seen at each host's turn. answered says that some
// host answered, whatever the frontier knows.
func ReadRests(lines iter.Seq2[storage.Line, error]) (hosts Rests, answered bool, err error) {
	if lines == nil {
		return nil, false, nil
	}
	now := time.Now()
	hosts = Rests{}
	for l, err := range lines {
		if err != nil {
			return nil, false, fmt.Errorf("crawler: delays that hosts required before the kill: %w", err)
		}
		answered = answered || l.Status > 0
		if l.Rest <= 0 || l.Rest > host.LongestAfter {
			continue
		}
		u, err := canon.Parse(l.URL)
		if err != nil {
			continue
		}
		last := rest{endOf(l), host.Pace{Pause: l.Rest, By: l.RestBy}, whyRests(l)}
		if last.end.After(now) { // a clock was set back
			last.end = now
		}
		a := u.Authority()
		if had, known := hosts[a]; last.until().After(now) && (known && last.until().After(had.until()) || !known && len(hosts) < maxRests) {
			hosts[a] = last
		}
	}
	return hosts, answered, nil
}

// endOf is when the attempt of a line was over: of one that reached nobody, when that was decided.
func endOf(l storage.Line) time.Time {
	if l.Began.IsZero() {
		return l.Time
	}
	return l.Began.Add(l.Took)
}

// whyRests says why a host rests, from the line of the exchange that imposed it.
func whyRests(l storage.Line) string {
	why := fmt.Sprintf("status %d", l.Status)
	if l.Status == 0 {
		why = l.Reason
	}
	return why + " before the kill"
}

// rounding is by how many microseconds the end of an exchange may differ between ledger and frontier.
const rounding = 10

// Recollect sets down in the memory of a host the exchange that the frontier does not know of, if there was one.
func (r Rests) Recollect(a canon.Authority, memory *host.State, clock Clock) {
	last, ok := r[a]
	if end := clock.Micros(last.end); ok && end > memory.LastEnd+rounding {
		memory.LastEnd, memory.Due = end, last.pace
	}
}

// Left is what is left of the rest of a host, if nothing was asked of it since.
func (r Rests) Left(a canon.Authority, memory *host.State, clock Clock) (left host.Rest, ok bool) {
	last, ok := r[a]
	wait := min(time.Until(last.until()), last.pace.Pause)
	if !ok || wait <= 0 || memory.LastEnd > clock.Micros(last.end)+rounding {
		return left, false
	}
	left = host.Rest{Condition: frontier.Parked, Reason: last.why, Wait: wait, By: last.pace.By}
	if wait > host.Day {
		left.Condition = frontier.Retired // politeness rule 11
	}
	return left, true
}
