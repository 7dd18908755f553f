package trap

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkDigester reads a page of 8 KiB of text, without and with its shape.
func BenchmarkDigester(b *testing.B) {
	u := parse(b, "http://h.test/viewtopic.php?t=17")
	text := strings.Repeat("some words and 12 numbers, a/b ", 270)
	for _, shape := range []bool{false, true} {
		b.Run(fmt.Sprintf("shape=%t", shape), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d := NewDigester(u, shape)
				d.Text(text)
				d.Digests()
			}
		})
	}
}

// BenchmarkTurn measures a page without its text: the full history of a host is read, queried, updated and written.
func BenchmarkTurn(b *testing.B) {
	var h History
	for i := range 3000 {
		u := parse(b, fmt.Sprintf("http://h.test/%s?m=%d", letters(i%60), i))
		h.Turn(u)
		h.Brought(u, uint64(i), Limits{Queries: 10})
		h.Leads(u, uint64(i)+1, 0)
	}
	kept := h.Append(nil)
	u := parse(b, "http://h.test/viewtopic.php?t=17")
	b.ReportMetric(float64(len(kept)), "octets")
	b.ReportAllocs()
	for b.Loop() {
		h, err := Read(kept)
		if err != nil {
			b.Fatal(err)
		}
		h.Held(u, Limits{})
		h.Turn(u)
		h.Brought(u, 7, Limits{})
		h.Leads(u, 7, h.Copies("http://h.test/", 7))
		h.Append(nil)
	}
}
