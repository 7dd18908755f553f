package fetch

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

type stamp struct{}

func (stamp) Append(head []byte, authority string, at time.Time) []byte {
	return fmt.Appendf(head, "Signature: %s at %d\r\n", authority, at.UnixMilli())
}

// A signature must be made after lookup, connection, handshake and Begin, and again on a fresh connection.
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
		require.Equal(t, 3, begins)
		require.Len(t, seen, 2)
		for i, x := range all {
			want := fmt.Sprintf("\r\nSignature: bakery.test:8080 at %d\r\n\r\n", x.Start.UnixMilli())
			if !strings.HasSuffix(seen[i], want) || string(x.Request) != seen[i] || strings.Count(seen[i], "\r\n\r\n") != 1 {
				t.Errorf("sent %q, kept %q, want it to end %q", seen[i], x.Request, want)
			}
		}
	})
}
