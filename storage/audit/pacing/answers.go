package pacing

import (
	"slices"
	"time"

	"curtsy/storage/audit/evidence"
)

// answers are the last response times of a host, the newest last.
type answers struct {
	last    []answerTime
	mostOut int // how many of those that were taken down there can have been
}

// answerTime is a response time: from the request to the first byte of the answer.
type answerTime struct {
	least, most time.Duration // the same, if the archive tells it
	unsure      bool          // a kill may have made the crawl forget it
	taken       bool          // it was taken down, or never was: nobody knows any more
}

// usualOf is how many response times make the usual one. With those that may be forgotten, and those that were taken
// down, so many more are kept. Where more are unsure than maxUnsure, nothing is required.
const (
	usualOf   = 5
	maxUnsure = 2*evidence.AtKill + mostTaken
)

func (s *answers) add(t answerTime) {
	if len(s.last) == usualOf+maxUnsure {
		s.last = slices.Delete(s.last, 0, 1)
	}
	s.last = append(s.last, t)
}

// cross notes that the archive goes on in another file.
func (s *answers) cross() {
	for i := max(0, len(s.last)-evidence.AtKill); i < len(s.last); i++ {
		s.last[i].unsure = true
	}
}

// answerPace is the pause that response times ask for: at least, and what that may be where the archive does not say
// when answers began. The crawl may have forgotten any of those that are unsure, so the least that any choice of them
// gives is what can be required. The crawl itself may have kept any of those choices; the longest of them is largest.
// So it is with those that were taken down; unlessTaken is the least without them.
type answerPace struct{ least, most, largest, unlessTaken time.Duration }

func (s *answers) pace() (p answerPace) {
	var unsure []int
	for i := range s.last {
		if s.last[i].unsure || s.last[i].taken {
			unsure = append(unsure, i)
		}
	}
	switch {
	case len(s.last) == 0:
		return p
	case len(unsure) > maxUnsure:
		return answerPace{largest: answerMost}
	}
	p.least, p.most, p.unlessTaken = answerMost, answerMost, answerMost
	var low, high []time.Duration
	for forgotten := range 1 << len(unsure) {
		out := 0
		for at, i := range unsure {
			if s.last[i].taken && forgotten>>at&1 == 0 {
				out++
			}
		}
		if out > s.mostOut {
			continue
		}
		low, high = low[:0], high[:0]
		for i := len(s.last) - 1; i >= 0 && len(low) < usualOf; i-- {
			if at := slices.Index(unsure, i); at >= 0 && forgotten>>at&1 == 1 {
				continue
			}
			low, high = append(low, s.last[i].least), append(high, s.last[i].most)
		}
		fast, slow := answerFactor*usual(low), answerFactor*usual(high)
		p.least, p.most, p.largest = min(p.least, fast), min(p.most, slow), max(p.largest, slow)
		if out == 0 {
			p.unlessTaken = min(p.unlessTaken, fast)
		}
	}
	return p
}

// usual is the middle one; of an even number the larger of the two in the middle (docs/trust/politeness.md, rule 9).
func usual(ds []time.Duration) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[len(ds)/2]
}
