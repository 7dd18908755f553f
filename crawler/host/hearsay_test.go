package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/storage"
)

// A failure leaves hearsay until it expires; a response replaces it.
func TestHearsayHoldsUntilItExpires(t *testing.T) {
	read := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var h Hearsay
	h.Hear(Pace{2500*time.Millisecond + time.Nanosecond, storage.ByRequestRate}, read.Add(time.Hour))
	want := Pace{2500*time.Millisecond + time.Microsecond, storage.ByRequestRate} // never less than the host asked for
	for _, at := range []time.Duration{0, time.Hour - time.Microsecond} {
		if h.Fail(read.Add(at)); h.Pace != want {
			t.Errorf("a failure after %v: %+v", at, h)
		}
	}
	if h.Fail(read.Add(time.Hour)); h != (Hearsay{}) {
		t.Errorf("a failure after the text expired: %+v", h)
	}
	h.Hear(Pace{time.Minute, storage.ByCrawlDelay}, read)
	if h.Hear(Pace{}, read.Add(time.Hour)); h != (Hearsay{}) {
		t.Errorf("a text that requires no delay: %+v", h)
	}
}

func TestHearsayIsAFloorOfThePace(t *testing.T) {
	var s State
	s.Hearsay.Hear(Pace{7 * time.Second, storage.ByRequestRate}, time.Time{})
	for floor, want := range map[time.Duration]Pace{time.Second: {7 * time.Second, storage.ByRequestRate}, 8 * time.Second: {8 * time.Second, storage.ByFloor}} {
		assert.Equalf(t, want, (Terms{Floor: floor, Own: true}).Pace(&s, 0), "with a floor of %v", floor)
	}
}
