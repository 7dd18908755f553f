package report

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnAxisOfCountsHasRoundNumbersAtTheirHeights(t *testing.T) {
	for most, want := range map[int64]string{
		0: "0", 1: "0 1", 2: "0 1 2", 3: "0 1 2 3", 4: "0 1 2 3 4", 5: "0 2 4", 7: "0 2 4 6", 15: "0 5 10 15", 24: "0 5 10 15 20", 99: "0 20 40 60 80",
		1023: "0 500 1000", math.MaxInt64 / 4: "",
	} {
		c := newChart("", "")
		c.heights(most)
		var labels []string
		for _, tick := range c.Y {
			label := strings.Map(func(r rune) rune {
				if r < '0' || r > '9' {
					return -1
				}
				return r
			}, tick.Label)
			labels = append(labels, label)
			n, err := strconv.ParseFloat(label, 64)
			require.NoError(t, err)
			c.Bars = nil
			c.bar(0, 1, n/float64(max(most, 1)), false, "")
			d := c.Bars[0].Y - tick.At
			assert.Falsef(t, n > 0 && math.Abs(d) > 0.2, "of %d: %s is %v px off its height", most, tick.Label, d)
		}
		got := strings.Join(labels, " ")
		assert.Falsef(t, want != "" && got != want, "of %d: %s, want %s", most, got, want)
		assert.LessOrEqualf(t, len(labels), 5, "of %d: %d ticks", most, len(labels))
	}
}
