package audit

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// A field that may come more than once costs what its octets cost, however often an archive has it.
func TestMetadataOfManyValuesIsReadInLinearTime(t *testing.T) {
	for _, field := range []string{"asked", "prefs"} {
		lines := strings.Repeat(field+": x\r\n", 40_000)
		a := ours(t)
		a.add(fetch{url: "http://a.test/robots.txt", status: 404})
		a.add(fetch{url: "http://a.test/", at: 2 * time.Second, meta: lines})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a.audit(Options{})
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 40<<20 {
			t.Errorf("%s: allocated %d octets for a block of %d", field, n, len(lines))
		}
	}
}
