package crawldir

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestDurationsInGoSyntaxBareZeroAllowedOtherBareNumbersNot(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want time.Duration
		bad  string
	}{
		{in: "0", want: 0},
		{in: "0s", want: 0},
		{in: "1s", want: time.Second},
		{in: "2h30m", want: 150 * time.Minute},
		{in: "1.5s", want: 1500 * time.Millisecond},
		{in: "5", bad: `"5" has no unit; write 5s, 5m or 5ms`},
		{in: "1.5", bad: `"1.5" has no unit; write 1.5s, 1.5m or 1.5ms`},
		{in: "-1s", bad: `"-1s" is negative`},
		{in: "fast", bad: `"fast" is not a duration; write it like 500ms, 1s or 2h30m`},
		{in: "", bad: `"" is not a duration; write it like 500ms, 1s or 2h30m`},
	} {
		var d Duration
		err := d.Set(tt.in)
		if (err == nil) != (tt.bad == "") || err != nil && err.Error() != tt.bad || time.Duration(d) != tt.want {
			t.Errorf("%q: %v, %v; want %v, %q", tt.in, time.Duration(d), err, tt.want, tt.bad)
		}
	}
}

func TestSizesWithUnits(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
		bad  bool
	}{
		{in: "0", want: 0},
		{in: "100MiB", want: 100 << 20},
		{in: "1.5GiB", want: 3 << 29},
		{in: "4096B", want: 4096},
		{in: "10 kB", want: 10_000},
		{in: "2MB", want: 2_000_000},
		{in: "100", bad: true},
		{in: "-1MiB", bad: true},
		{in: "NaNMiB", bad: true},
		{in: "9999999999TiB", bad: true},
		{in: "MiB", bad: true},
		{in: "1XB", bad: true},
	} {
		var z Size
		err := z.Set(tt.in)
		assert.Truef(t, (err != nil) == tt.bad && int64(z) == tt.want, "%q: %d, %v; want %d, an error: %v", tt.in, int64(z), err, tt.want, tt.bad)
	}
}

// crawl.toml depends on this.
func TestSizesAndDurationsReadWhatTheyWrite(t *testing.T) {
	for _, n := range []int64{0, 1, 1023, 1024, 1025, 100 << 20, 1<<30 + 1, 3 << 29} {
		z := Size(n)
		var back Size
		err := back.Set(z.String())
		assert.Truef(t, err == nil && back == z, "%d octets: wrote %q, read %d, %v", n, z.String(), back, err)
	}
	for d, want := range map[time.Duration]string{
		0: "0", 300 * time.Second: "5m", 2 * time.Hour: "2h", 90 * time.Minute: "1h30m", 3630 * time.Second: "1h0m30s", 10 * time.Second: "10s", 20 * time.Minute: "20m",
	} {
		got := Duration(d)
		assert.Truef(t, got.String() == want, "%d ns: %s, want %s", d, got.String(), want)
	}
	for _, n := range []time.Duration{0, time.Millisecond, time.Second, 90 * time.Minute, 10 * time.Hour, 20 * time.Minute} {
		d := Duration(n)
		var back Duration
		err := back.Set(d.String())
		assert.Truef(t, err == nil && back == d, "%v: wrote %q, read %v, %v", n, d.String(), back, err)
	}
}
