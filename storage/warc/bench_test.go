package warc

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"curtsy/storage"
)

func html(n int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 400)
	for i := range words {
		b := make([]byte, 2+rng.IntN(9))
		for j := range b {
			b[j] = "etaoinshrdlu"[rng.IntN(12)]
		}
		words[i] = string(b)
	}
	var s strings.Builder
	for s.Len() < n {
		fmt.Fprintf(&s, "<li><a href=\"/%s/%d\">%s</a>\n", words[rng.IntN(400)], rng.IntN(1000), words[rng.IntN(400)])
		for range 10 {
			s.WriteString(words[rng.IntN(400)] + " ")
		}
	}
	return s.String()[:n]
}

func BenchmarkRecord(b *testing.B) {
	const size = 20 << 10
	wire := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 20480\r\n\r\n" + html(size)
	line, links := decision, make([]storage.Outlink, 40)
	for i := range links {
		links[i] = storage.Outlink{URL: fmt.Sprintf("http://a.test/some/page-%d.html", i), Kind: "link"}
	}
	for _, c := range []struct {
		name               string
		parallel, withLine bool
	}{{"alone", false, false}, {"parallel", true, false}, {"alone, with metadata", false, true}, {"parallel, with metadata", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			w, err := Open(Options{Dir: b.TempDir(), Name: "bench"})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			r := record("http://a.test/page", "GET /page HTTP/1.1\r\nHost: a.test\r\nUser-Agent: curtsy\r\n\r\n", wire, 0)
			if c.withLine {
				r.Line, r.Outlinks = &line, links
			}
			one := func() {
				if _, err := w.Record(b.Context(), r); err != nil {
					b.Error(err)
				}
			}
			if !c.parallel {
				for b.Loop() {
					one()
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					one()
				}
			})
		})
	}
}
