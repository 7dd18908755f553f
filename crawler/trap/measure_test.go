package trap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Pages of data differ only by numbers, as do calendars and render times, which are not new.
func TestRule22_DataIsNewAndDatesAreNot(t *testing.T) {
	const rates = "Rates of %d.%d.2020: USD 1.11%d JPY 12%d.75 GBP 0.8%d CHF +1.07%d%% SEK 10.5%d NOK 9.8%d DKK 7.47%d PLN 4,29%d"
	page := func(form string, n int) string {
		args := make([]any, strings.Count(form, "%d"))
		for i := range args {
			args[i] = n
		}
		return fmt.Sprintf(form, args...)
	}
	days := strings.Repeat("Mo %d.5 no events at 18.30, %d/12/2020, %d.12.2020, 1.2.%d ", 12)
	for _, tt := range []struct {
		name, form string
		fresh      bool
	}{
		{"rates of exchange", rates, true},
		{"a week of dates", days, false},
		{"whole numbers", strings.Repeat("%d ", 40), false},
		{"made in so many seconds", "No such thing. Made in 0.03%d seconds with 12 queries and 4.2%d MiB for 10.0.0.%d by v1.4.%d", false},
	} {
		shape := func(n int) uint64 {
			d := NewDigester(parse(t, "http://h.test/?n="+fmt.Sprint(n)), true)
			d.Text(page(tt.form, n))
			_, shape := d.Digests()
			return shape
		}
		fresh := shape(3) != shape(4)
		assert.Truef(t, fresh == tt.fresh, "%s: new %v; want %v", tt.name, fresh, tt.fresh)
	}
}

func TestIsMeasure(t *testing.T) {
	for word, want := range map[string]bool{
		"1.0823": true, "121.75": true, "(9.99": true, "€9,99": true, "-3.45%": true, "1,234": true, "20.75°C": true,
		"12.05": false, "31.12.": false, "1.5": false, "02.01.2020": false, "10.0.0.1": false, "v1.4.2": false, "12:30": false,
		"1.": false, ".5": false, "a.b": false, "": false, ".": false, "1.x": false, "1,234,567": false,
	} {
		assert.Equal(t, want, isMeasure(word), word)
	}
}
