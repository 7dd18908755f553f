package export

import (
	"os"
	"testing"

	"curtsy/storage/tables"
)

// BenchmarkTables makes the tables of the crawl directory that CURTSY_EXPORT_DIR names, a row for each loop.
func BenchmarkTables(b *testing.B) {
	dir := os.Getenv("CURTSY_EXPORT_DIR")
	if dir == "" {
		b.Skip("CURTSY_EXPORT_DIR names no crawl directory")
	}
	for _, s := range Sources() {
		b.Run(s.Table.Name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; n < b.N; {
				in, err := Open(b.Context(), "", dir)
				if err != nil {
					b.Fatal(err)
				}
				out := NewOut(s.Table, func(tables.Row) error { return nil })
				if err := s.Rows(b.Context(), in, out); err != nil {
					b.Fatal(err)
				}
				if n += int(out.Rows); out.Rows == 0 {
					b.Skip("no rows")
				}
				if err := in.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
