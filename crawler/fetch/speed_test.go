package fetch

import (
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Property: a response is complete if no span could have had too few bytes, and fails if all had.
func TestRule25_LeastSpeedOfRandomAnswers(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 1))
	for range 40 {
		size, pieces := 1+r.IntN(100_000), 1+r.IntN(60)
		pause := time.Duration(r.IntN(15_000)) * time.Millisecond
		synctest.Test(t, func(t *testing.T) {
			per := size/pieces + 1
			w := &world{serve: func(_ int, conn net.Conn) {
				request(conn)
				say(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
				for left := size; left > 0; left -= per {
					time.Sleep(pause)
					if _, err := io.WriteString(conn, strings.Repeat("b", min(per, left))); err != nil {
						return
					}
				}
			}}
			x := get(t, w.fetcher(t, Config{}), "http://a.test/")
			whole := pause * time.Duration((size+per-1)/per)
			inSpan := int64(0) // the least that came in any 30 s
			if pause > 0 {
				inSpan = int64(per) * int64(30*time.Second/pause)
			}
			switch {
			case whole < 30*time.Second || inSpan >= 3000:
				expect(t, x, "", "")
			case whole > 61*time.Second && inSpan+2*int64(per) < 3000:
				expect(t, x, Timeout, CutTime)
			}
		})
	}
}

func TestRule25_MaxRateDoesNotSlowTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{serve: answering(ok(strings.Repeat("b", 3000)))}
		m := &Meter{}
		begin := time.Now()
		x := do(t, w.fetcher(t, Config{MaxRate: 10}), Request{URL: mustURL(t, "http://a.test/"), Meter: m})
		expect(t, x, "", "")
		if took := time.Since(begin); took < 200*time.Second || m.Ours() != took || m.Octets() != x.Response.Size() {
			t.Errorf("took %v, of which %v are the crawler's; %d bytes", took, m.Ours(), m.Octets())
		}
	})
}
