package fetch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func BenchmarkExchange(b *testing.B) {
	page := strings.Repeat("<p>bread and butter</p>\n", 850)
	zipped := zip(page)
	for name, coding := range map[string]string{"plain": "", "gzip": "gzip"} {
		b.Run(name, func(b *testing.B) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if coding == "" {
					w.Header().Set("Content-Length", fmt.Sprint(len(page)))
					say(w, page)
					return
				}
				w.Header().Set("Content-Encoding", coding)
				say(w, zipped)
			}))
			defer srv.Close()
			f := mustNew(b, Config{AllowNet: nets("127.0.0.0/8")})
			u := mustURL(b, srv.URL)
			b.ReportAllocs()
			for b.Loop() {
				x, err := f.Do(b.Context(), Request{URL: u})
				if err != nil || x.Failure != nil || x.Body.Size() != int64(len(page)) {
					b.Fatal(err, x)
				}
				closed(b, x)
			}
		})
	}
}

// The pools must work, or every page costs its size again.
func TestExchangeAllocations(t *testing.T) {
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		page := ok(strings.Repeat("b", 20<<10))
		buffer := make([]byte, 4096)
		for {
			if _, err := far.Read(buffer); err != nil {
				return
			}
			say(far, page)
		}
	}()
	f := mustNew(t, Config{Resolve: resolveTo("93.184.215.14"), Dial: func(context.Context, string, string) (net.Conn, error) {
		return near, nil
	}})
	u := mustURL(t, "http://a.test/")
	got := testing.AllocsPerRun(200, func() {
		x, err := f.Do(t.Context(), Request{URL: u})
		if err != nil || x.Failure != nil {
			t.Fatal(err, x)
		}
		closed(t, x)
	})
	assert.LessOrEqual(t, got, 60.0)
	closed(t, f)
	<-done
}
