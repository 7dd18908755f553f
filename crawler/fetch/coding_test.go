package fetch

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha256"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func code(coding, s string) string {
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "br":
		w = brotli.NewWriterLevel(&b, 4)
	case "zstd":
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // the options are right
		}
		w = z
	}
	say(w, s)
	if err := w.Close(); err != nil {
		panic(err) // a bytes.Buffer takes everything
	}
	return b.String()
}

var codings = []string{"gzip", "br", "zstd"}

func TestCodingsAreDecoded(t *testing.T) {
	page := strings.Repeat("<p>bread and butter</p>\n", 5000)
	for _, coding := range codings {
		for name, want := range map[string]string{"page": page, "short": "b", "empty": ""} {
			bubble(t, coding+" "+name, func(t *testing.T) {
				sent := code(coding, want)
				w := &world{serve: always(coded(coding, len(sent)) + sent)}
				f := w.fetcher(t, Config{})
				for range 3 { // the second and third with a decoder of the pool
					x := get(t, f, "http://a.test/")
					expect(t, x, "", "")
					if got := text(t, x.Body); got != want || x.Undecoded != "" || x.PayloadSize != int64(len(sent)) {
						t.Errorf("body of %d octets, undecoded %q, payload of %d; want %d, none, %d",
							len(got), x.Undecoded, x.PayloadSize, len(want), len(sent))
					}
				}
				assert.Len(t, w.dialed, 1, "connections: a decoded body must leave its connection fit")
			})
		}
	}
}

func TestDamagedCodingIsCoding(t *testing.T) {
	page := strings.Repeat("bread and butter, ", 500)
	for _, coding := range codings {
		whole := code(coding, page)
		damaged := map[string]string{
			"ends early": whole[:len(whole)-3],
			"half":       whole[:len(whole)/2],
			"broken":     whole[:len(whole)/2] + "\xff\xff\xff\xff\xff\xff" + whole[len(whole)/2+6:],
		}
		if coding == "gzip" {
			damaged["header only"] = whole[:10]
			damaged["part of header"] = whole[:5]
			damaged["wrong checksum"] = whole[:len(whole)-6] + string([]byte{whole[len(whole)-6] ^ 1}) + whole[len(whole)-5:]
		} else {
			damaged["first octet"] = whole[:1]
			damaged["octets behind"] = whole + "junk"
		}
		for name, body := range damaged {
			bubble(t, coding+" "+name, func(t *testing.T) {
				first := "HTTP/1.1 200 OK\r\nContent-Encoding: " + coding + "\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(body, 40)
				n := 0
				w := &world{serve: func(_ int, conn net.Conn) {
					for request(conn) != "" {
						if n++; n == 1 {
							say(conn, first)
						} else {
							say(conn, coded(coding, len(whole))+whole)
						}
					}
				}}
				f := w.fetcher(t, Config{})
				x := get(t, f, "http://a.test/")
				expect(t, x, Coding, "")
				if text(t, x.Response) != first || x.PayloadDigest != sha256.Sum256([]byte(body)) || x.PayloadSize != int64(len(body)) {
					t.Errorf("payload of %d octets in a response of %d; want all of %d in %d", x.PayloadSize, x.Response.Size(), len(body), len(first))
				}
				if got := text(t, x.Body); name != "broken" && name != "octets behind" && !strings.HasPrefix(page, got) {
					t.Errorf("body %q", got)
				}
				x = get(t, f, "http://a.test/")
				expect(t, x, "", "")
				assert.Equal(t, page, text(t, x.Body), "the next body is also damaged")
			})
		}
	}
}

// A bomb costs at most the cap and a window.
func TestBombsStopAtMaxBody(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads much, for long under the race detector")
	}
	const most = 1 << 20
	for _, coding := range codings {
		t.Run(coding, func(t *testing.T) {
			bomb := code(coding, strings.Repeat("\x00", 48<<20))
			require.LessOrEqualf(t, len(bomb), most, "a bomb of %d bytes is too large", len(bomb))
			synctest.Test(t, func(t *testing.T) {
				f := (&world{serve: answering(coded(coding, len(bomb)) + bomb)}).fetcher(t, Config{MaxBody: most})
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				x := get(t, f, "http://a.test/")
				runtime.ReadMemStats(&after)
				expect(t, x, "", CutLength)
				assert.EqualValues(t, most, x.Body.Size())
				if grown := after.TotalAlloc - before.TotalAlloc; grown > 40<<20 {
					t.Errorf("allocated %d MiB", grown>>20)
				}
			})
		})
	}
}
