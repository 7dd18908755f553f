package accesslog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"curtsy/storage/audit/evidence"
)

// BenchmarkCompare compares 100,000 exchanges with an access log. SetBytes counts exchanges: 1 MB/s are a million a
// second.
func BenchmarkCompare(b *testing.B) {
	const n = 100_000
	base := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	es := make([]*evidence.Exchange, n)
	var text strings.Builder
	for i := range es {
		es[i] = asked(fmt.Sprintf("http://a.test/%d", i), base.Add(time.Duration(i)*time.Second), 40*time.Millisecond, 200)
		text.WriteString(logged(es[i], ourAgent))
	}
	log := logFile(b, text.String())
	b.SetBytes(n)
	for b.Loop() {
		r, _ := witnessed(b, Compare(Options{Logs: []Log{{Path: log}}, TempDir: b.TempDir()}), es...)
		if r.Logs[0].Agree != n {
			b.Fatal("not all agree")
		}
	}
}
