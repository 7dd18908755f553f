package report

import "time"

// maxSlots is how many points in time the throughput is drawn at, at most.
const maxSlots = 120

// Timeline is what was received over time, in slots of equal length.
type Timeline struct {
	Start  time.Time `json:"start"`
	SlotS  int64     `json:"slot_s"` // length of a slot in seconds
	Slots  []Slot    `json:"slots"`
	origin int64     // Start in seconds
}

// Slot is what began in a slot.
type Slot struct {
	Exchanges int64 `json:"exchanges"`
	Octets    int64 `json:"octets"`
}

// add counts an exchange. Slots become twice as long as often as the end needs it. An exchange before the start, by a
// clock that was set back, is counted in the first.
func (tl *Timeline) add(t time.Time, octets int64) {
	at := t.Unix()
	if len(tl.Slots) == 0 {
		tl.Start, tl.SlotS, tl.origin = t.UTC().Truncate(time.Second), 1, at
	}
	for (at-tl.origin)/tl.SlotS >= maxSlots {
		tl.double()
	}
	i := max(int((at-tl.origin)/tl.SlotS), 0)
	for len(tl.Slots) <= i {
		tl.Slots = append(tl.Slots, Slot{})
	}
	tl.Slots[i].Exchanges++
	tl.Slots[i].Octets += octets
}

func (tl *Timeline) double() {
	tl.SlotS *= 2
	half := tl.Slots[:0]
	for i, s := range tl.Slots {
		if i%2 == 0 {
			half = append(half, s)
			continue
		}
		half[i/2].Exchanges += s.Exchanges
		half[i/2].Octets += s.Octets
	}
	tl.Slots = half
}
