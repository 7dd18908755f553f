package evidence

import (
	"strconv"
	"testing"
	"time"
)

// However many answers there are, no revisit is accused for another's: what was forgotten is not in the files.
func TestManyOriginalsAccuseNobody(t *testing.T) {
	o := newOriginals()
	const n = 3 * maxOriginals
	row := func(i int) original {
		id := "urn:test:" + strconv.Itoa(i)
		return o.of(id, "sha256:"+id, id, "")
	}
	for i := range n {
		o.add(row(i))
	}
	kept := 0
	for i := range n {
		if was, ok := o.find("urn:test:" + strconv.Itoa(i)); ok {
			if kept++; was != row(i) {
				t.Fatalf("%d is %+v, not %+v", i, was, row(i))
			}
		}
	}
	if kept < maxOriginals/2 {
		t.Errorf("%d of %d are kept", kept, maxOriginals)
	}
}

func TestDatesHaveAResolution(t *testing.T) {
	for date, want := range map[string]time.Duration{
		"2026-03-01T12:00:00Z": time.Second, "2026-03-01T12:00:00.1Z": 100 * time.Millisecond,
		"2026-03-01T12:00:00.123456Z": time.Microsecond, "2026-03-01T12:00:00.123456789Z": 1, "2026-03-01": 0, "": 0, "9999-99-99T00:00:00Z": 0,
	} {
		if _, got, ok := instant(date); got != want || ok != (want > 0) {
			t.Errorf("%q: %v, %v", date, got, ok)
		}
	}
}
