package warc

import (
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// TestExchangeAllocatesItsIDs: a record's cost is that of its octets. One string for the ids of its records is handed out.
func TestExchangeAllocatesItsIDs(t *testing.T) {
	w := open(t, Options{Dir: t.TempDir()})
	defer closing(t, w)
	p, err := w.press() // not from the pool each time: the race detector has that forget
	if err != nil {
		t.Fatal(err)
	}
	ctx, r := t.Context(), told(1)
	if n := testing.AllocsPerRun(100, func() {
		if p.ex.prepare(ctx, p, w, &r) != nil || p.spool.reset() != nil || p.ex.press(ctx, p, "urn:x:1") != nil {
			t.Fail()
		}
	}); n != 1 {
		t.Errorf("%v allocations for an exchange with three records, not 1", n)
	}
}

func TestTextsAreCompressedWithoutAllocating(t *testing.T) {
	c, met, out := newTextCode(), new(textTable), make([]byte, 0, 64<<10)
	for _, text := range someTexts(4) {
		if n := testing.AllocsPerRun(10, func() { out = c.compress(out[:0], text, met) }); n != 0 {
			t.Errorf("%v allocations for %d octets", n, len(text))
		}
	}
}

// BenchmarkText is the cost of compressing a request's record, and one of metadata, in the code that is made beforehand
// and in one of their own.
func BenchmarkText(b *testing.B) {
	texts := someTexts(400)
	for kind, name := range []string{"request", "metadata"} {
		octets := 0
		for i := kind; i < len(texts); i += 2 {
			octets += len(texts[i])
		}
		octets /= len(texts) / 2
		b.Run(name+", made beforehand", func(b *testing.B) {
			c, met, out := newTextCode(), new(textTable), []byte(nil)
			b.SetBytes(int64(octets))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				text := texts[kind+i*2%len(texts)]
				out = c.compress(out[:0], text, met)
				_ = crc32.ChecksumIEEE(text)
			}
		})
		b.Run(name+", its own", func(b *testing.B) {
			s := &spool{}
			z, err := gzip.NewWriterLevel(s, 1)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(octets))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.mem = s.mem[:0]
				z.Reset(s)
				if _, err := z.Write(texts[kind+i*2%len(texts)]); err != nil {
					b.Fatal(err)
				}
				if err := z.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
