package report_test

import (
	"testing"

	"curtsy/storage/report"
)

// BenchmarkMake reads 20,000 lines; SetBytes counts lines, so MB/s is millions of lines a second.
func BenchmarkMake(b *testing.B) {
	o := made(b, busy(20_000, 50)...)
	b.SetBytes(20_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := report.Make(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
}
