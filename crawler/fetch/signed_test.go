package fetch

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stamp is a Signer that shows what it was told.
type stamp struct{}

func (stamp) Append(head []byte, authority string, at time.Time) []byte {
	return fmt.Appendf(head, "Signature: %s at %d\r\n", authority, at.UnixMilli())
}

// A signature says when it was made: it must be made when the request goes out, after look-up, connection, handshake
// and whatever Begin waits for; and anew where a kept connection proves dead and the request goes over a fresh one.
func TestSignatureIsMadeAtTheMomentOfSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		w := &world{serve: func(n int, conn net.Conn) {
			if seen = append(seen, request(conn)); n == 0 {
				say(conn, "HTTP/1.1 204 No Content\r\n\r\n")
				time.Sleep(time.Second) // it ends while the second exchange waits in Begin
				return
			}
			say(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		}}
		f := w.fetcher(t, Config{Signer: stamp{}})
		var all []*Exchange
		begins := 0
		for _, path := range []string{"rolls", "buns"} {
			all = append(all, do(t, f, Request{
				URL:   mustURL(t, "http://bakery.test:8080/"+path),
				Begin: func(context.Context) error { begins++; time.Sleep(90 * time.Second); return nil },
			}))
		}
		closed(t, f)
		w.wg.Wait()
		if begins != 3 || len(seen) != 2 {
			t.Fatalf("Begin was called %d times, and %d requests came: no connection proved dead", begins, len(seen))
		}
		for i, x := range all {
			want := fmt.Sprintf("\r\nSignature: bakery.test:8080 at %d\r\n\r\n", x.Start.UnixMilli())
			if !strings.HasSuffix(seen[i], want) || string(x.Request) != seen[i] || strings.Count(seen[i], "\r\n\r\n") != 1 {
				t.Errorf("sent %q, kept %q, want it to end %q", seen[i], x.Request, want)
			}
		}
	})
}
