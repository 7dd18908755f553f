package audit

import (
	"os"
	"strings"
	"testing"
	"time"

	"curtsy/storage/ledger"
)

// BenchmarkWitnesses compares 100,000 exchanges with ledger and access log. SetBytes counts exchanges: 1 MB/s are a
// million a second.
func BenchmarkWitnesses(b *testing.B) {
	const n = 100_000
	base := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	dir := b.TempDir()
	w, err := ledger.Open(ledger.Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	es := make([]*Exchange, n)
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
	log := b.TempDir() + "/access.log"
	var text strings.Builder
	for _, e := range es {
		text.WriteString(logged(e, ourAgent))
	}
	if err := os.WriteFile(log, []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(n)
	b.ResetTimer()
	for b.Loop() {
		book, err := NewLedger(b.Context(), LedgerOptions{Dir: dir, TempDir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		r := &Result{}
		for _, with := range []Witness{book, NewAccessLogs(LogOptions{Logs: []AccessLog{{Path: log}}, TempDir: b.TempDir()})} {
			for _, e := range es {
				if err := with.Exchange(b.Context(), e, nil); err != nil {
					b.Fatal(err)
				}
			}
			if err := with.Close(b.Context(), r, func(f Finding) { b.Fatal(f) }); err != nil {
				b.Fatal(err)
			}
		}
		if r.Logs[0].Agree != n || r.Ledger.Agree != n {
			b.Fatal("not all agree")
		}
	}
}
