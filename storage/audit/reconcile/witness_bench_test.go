package reconcile

import (
	"testing"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// BenchmarkLedger compares 100,000 exchanges with a ledger. SetBytes counts exchanges: 1 MB/s are a
// million a second.
func BenchmarkLedger(b *testing.B) {
	const n = 100_000
	base := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	dir := b.TempDir()
	w, err := ledger.Open(ledger.Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	es := make([]*evidence.Exchange, n)
	for i := range es {
		e, l := pair(i, base.Add(time.Duration(i)*time.Second))
		es[i] = e
		if err := w.Append(b.Context(), l); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(n)
	b.ResetTimer()
	for b.Loop() {
		book, err := Open(b.Context(), Options{Dir: dir, TempDir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		r := &audit.Result{}
		for _, e := range es {
			if err := book.Exchange(b.Context(), e, nil); err != nil {
				b.Fatal(err)
			}
		}
		if err := book.Close(b.Context(), r, func(f finding.Finding) { b.Fatal(f) }); err != nil {
			b.Fatal(err)
		}
		if r.Ledger.Agree != n {
			b.Fatal("not all agree")
		}
	}
}
