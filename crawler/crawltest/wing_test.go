package crawltest

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// A web of the wing can be served, and a crawl that asked nothing has shown nothing.
func TestWingIsUnshownUntilAsked(t *testing.T) {
	web := New(append(Wing(0), Guarded()...)...)
	bubble(t, web, func(*client) {})
	rows := 0
	for _, row := range web.Referee().Judge(Rules{Partial: true}).Rows {
		if rows++; row.Verdict != Unshown {
			t.Errorf("%s is %s before anybody came: %s", row.Rule, row.Verdict, row.Evidence)
		}
	}
	if rows < 50 {
		t.Errorf("%d rows", rows)
	}
}

// Every ill site can be found from the first one.
func TestWingIsLinkedFromItsIndex(t *testing.T) {
	for _, sites := range [][]*Site{Wing(0), Guarded()} {
		links := strings.Join(sites[0].Pages["/"].Links, " ") + " "
		for _, s := range sites[1:] {
			if linked := strings.Contains(links, "http://"+s.Name+"/ "); linked == s.Expect.Closed {
				t.Errorf("%s: linked %v, at an address that is not public %v", s.Name, linked, s.Expect.Closed)
			}
		}
	}
}

// A bomb is small on the wire and goes off: it is what its coding says, of the size that it claims.
func TestBombs(t *testing.T) {
	for _, tc := range []struct {
		name   string
		raw    Raw
		decode func(io.Reader) (io.Reader, error)
	}{
		{"gzip", gzipBomb, func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
		{"zstd", say(ok()+zstdBomb(windowUsual), true), func(r io.Reader) (io.Reader, error) {
			return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			near, far := net.Pipe()
			sent := make(chan []byte)
			go func() {
				b, _ := io.ReadAll(near)
				sent <- b
			}()
			if !tc.raw(context.Background(), far, nil) {
				t.Fatal("it was not sent")
			}
			far.Close()
			_, body, _ := bytes.Cut(<-sent, []byte("\r\n\r\n"))
			if len(body) > 2<<20 {
				t.Errorf("%d octets on the wire", len(body))
			}
			if testing.Short() {
				t.Skip("it goes off in the long run")
			}
			r, err := tc.decode(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, r); n != bombSize || err != nil {
				t.Errorf("%d octets, %v", n, err)
			}
		})
	}
}
