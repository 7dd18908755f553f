package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var begin = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

func TestRates_OfSamples(t *testing.T) {
	s := Keep(10, time.Second)
	for n := range 30 {
		s.Add(Sample{At: begin.Add(time.Duration(n) * time.Second), Pages: int64(2 * n), Permitted: 4})
		s.Add(Sample{At: begin.Add(time.Duration(n)*time.Second + 1), Pages: 1 << 40}) // too soon after it
	}
	assert.Len(t, s.all, 10)
	assert.Equal(t, 9*time.Second, s.Span())
	r := s.Over(5 * time.Second)
	assert.Truef(t, r.Pages == 2 && r.Permitted == 4, "%+v", r)
	c := s.Course(3)
	assert.Truef(t, len(c) == 3 && c[0].Pages == 2, "%+v", c)
	s.Add(Sample{At: begin.Add(time.Minute)}) // a new generation counts from zero
	assert.EqualValues(t, 0, s.Over(time.Second).Pages)
}
