package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/storage"
)

func TestATallyIsBounded(t *testing.T) {
	x := newTally()
	for n := range 3 * keptLines {
		x.add(storage.Line{Time: testTime, URL: fmt.Sprintf("http://a.test/%d", n), Attempt: 1, Reason: fmt.Sprintf("reason %d", n), Outcome: storage.OutcomeFailed})
	}
	assert.Truef(t, len(x.last) <= 2*keptLines && len(x.errors) <= keptClasses+1, "%d lines, %d classes", len(x.last), len(x.errors))
	got := x.newest(2, func(l *storage.Line) bool { return strings.HasSuffix(l.URL, "8") })
	assert.Truef(t, len(got) == 2 && got[0].URL == "http://a.test/5998" && got[1].URL == "http://a.test/5988", "%+v", got)
	for _, f := range x.failures() {
		assert.LessOrEqualf(t, len(f.Examples), keptExamples, "%d examples of %s", len(f.Examples), f.Class)
	}
}

func TestAHistogramCountsWhatIsShorterThanWasDue(t *testing.T) {
	h := histogramOf([]Gap{{Kept: 999 * time.Millisecond, Due: time.Second}, {Kept: time.Second, Due: time.Second}, {Kept: 90 * time.Second, Due: time.Second, By: storage.ByFloor}})
	sum := 0
	for _, n := range h.Counts {
		sum += n
	}
	assert.Truef(t, h.Shorter == 1 && h.N == 3 && sum == 3 && h.Pace == time.Second && h.Least == 999*time.Millisecond && h.By == "floor", "%+v", h)
	svg := string(histogramOf(nil).SVG())
	assert.Truef(t, strings.HasPrefix(svg, "<svg"), "%s", svg)
}
