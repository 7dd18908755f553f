package fetch

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func live() int64 {
	runtime.GC()
	runtime.GC() // buffers that a pool dropped at the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Forty windows would take 640 MiB.
func TestSlowBodiesWithLargeWindowsCostNoWindows(t *testing.T) {
	const hosts, most = 40, 64 << 20
	// 24 bits of window, a block of 16 MiB that is not compressed, and the beginning of it.
	large := "\xcf\xff\xff\xff" + strings.Repeat("bread", 1000)
	for _, encoding := range []string{"br", "gzip, br"} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{serve: func(_ int, conn net.Conn) {
				request(conn)
				say(conn, "HTTP/1.1 200 OK\r\nContent-Encoding: "+encoding+"\r\nContent-Length: 17000000\r\n\r\n"+large)
				drain(conn)
			}}
			f := w.fetcher(t, Config{IdleTimeout: time.Minute})
			before := live()
			var all sync.WaitGroup
			for i := range hosts {
				all.Go(func() { do(t, f, Request{URL: mustURL(t, fmt.Sprintf("http://h%d.test/", i))}) })
			}
			time.Sleep(30 * time.Second) // all have sent their part
			synctest.Wait()
			if grown := live() - before; grown > most {
				t.Errorf("%s: %d bodies in flight hold %d MiB", encoding, hosts, grown>>20)
			}
			all.Wait()
			if grown := live() - before; grown > most {
				t.Errorf("%s: %d bodies that are over hold %d MiB", encoding, hosts, grown>>20)
			}
		})
	}
}

func TestBodiesWithLargeAndSmallWindowsAreDecoded(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads much, for long under the race detector")
	}
	for _, bits := range []int{16, 19, 20, 24} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) { decodesWindow(t, bits) })
	}
}

func decodesWindow(t *testing.T, bits int) {
	plain := strings.Repeat("<p>bread and butter</p>", 100_000)
	var b bytes.Buffer
	z := brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: 2, LGWin: bits})
	if _, err := z.Write([]byte(plain)); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, z.Close())
	for _, cut := range []int{0, 20} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{serve: func(_ int, conn net.Conn) {
				request(conn)
				say(conn, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: %d\r\n\r\n%s", b.Len(), b.Bytes()[:b.Len()-cut]))
			}}
			f := w.fetcher(t, Config{})
			var all sync.WaitGroup
			for i := range 3 * largeDecoders {
				all.Go(func() {
					x := do(t, f, Request{URL: mustURL(t, fmt.Sprintf("http://h%d.test/", i))})
					octets, err := io.ReadAll(x.Body)
					assert.NoError(t, err)
					body := string(octets)
					switch {
					case cut == 0 && (x.Failure != nil || body != plain):
						t.Errorf("%d octets of %d, %v", len(body), len(plain), x.Failure)
					case cut > 0 && (class(x) != Incomplete || !strings.HasPrefix(plain, body) || x.PayloadSize != int64(b.Len()-cut)):
						t.Errorf("cut off: %d octets of %d, payload %d, %v", len(body), len(plain), x.PayloadSize, x.Failure)
					}
				})
			}
			all.Wait()
		})
	}
}
