package fetch

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// code returns s in a content coding.
func code(t testing.TB, coding, s string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		return zip(s)
	case "br":
		w = brotli.NewWriterLevel(&b, 4)
	case "zstd":
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	say(w, s)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// coded is a response whose body is in a content coding.
func coded(coding, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", coding, len(body), body)
}

var codings = []string{"gzip", "br", "zstd"}

// Politeness rule 24: what we offer is what we decode; the payload stays as it was sent.
func TestCodingsAreDecoded(t *testing.T) {
	page := strings.Repeat("<p>bread and butter</p>\n", 5000)
	for _, coding := range codings {
		for name, want := range map[string]string{"page": page, "short": "b", "empty": ""} {
			t.Run(coding+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sent := code(t, coding, want)
					w := &world{serve: always(coded(coding, sent))}
					f := w.fetcher(t, Config{})
					for range 3 { // the second and third with a decoder of the pool
						x := get(t, f, "http://a.test/")
						expect(t, x, "", "")
						if got := text(t, x.Body); got != want || x.Undecoded != "" || x.PayloadSize != int64(len(sent)) {
							t.Errorf("body of %d octets, undecoded %q, payload of %d; want %d, none, %d",
								len(got), x.Undecoded, x.PayloadSize, len(want), len(sent))
						}
					}
					if len(w.dialed) != 1 {
						t.Errorf("%d connections: a decoded body must leave its connection fit", len(w.dialed))
					}
				})
			})
		}
	}
}

// What is no coding is none (RFC 9110 8.4.1 names those there are), and what we did not offer is undone all the same.
func TestABodyIsReadWhateverItsCodingIsCalled(t *testing.T) {
	const page = "<p>bread</p>"
	for value, sent := range map[string]string{
		"utf-8": page, "none": page, "binary": page, "8bit": page, "text/html": page, "aws-chunked": page, "identity": page, "": page,
		"gzip": page, "gzip, br": code(t, "br", zip(page)), "br, br": code(t, "br", code(t, "br", page)), "zstd, gzip": zip(code(t, "zstd", page)),
		"gzip, gzip": zip(page), "br;q=1": code(t, "br", page), "utf-8, gzip": zip(page), "deflate": deflated(t, page), "gzip, deflate": zip(page),
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{serve: answering(coded(value, sent))}
			x := get(t, w.fetcher(t, Config{}), "http://a.test/")
			expect(t, x, "", "")
			if x.Undecoded != "" || text(t, x.Body) != page || x.PayloadSize != int64(len(sent)) {
				t.Errorf("%q: undecoded %q, body %q, payload of %d octets", value, x.Undecoded, text(t, x.Body), x.PayloadSize)
			}
		})
	}
}

func deflated(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	say(w, s)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A coding that there is, and that is not undone, stays, and is named.
func TestACodingThatCannotBeUndoneStays(t *testing.T) {
	for _, value := range []string{"compress", "gzip, compress", "dcb", "dcz", "gzip, gzip, gzip, gzip, gzip"} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{serve: answering(coded(value, "octets"))}
			x := get(t, w.fetcher(t, Config{}), "http://a.test/")
			expect(t, x, "", "")
			if x.Undecoded != value || text(t, x.Body) != "octets" {
				t.Errorf("%s: undecoded %q, body %q", value, x.Undecoded, text(t, x.Body))
			}
		})
	}
}

// A damaged body is of class coding, came whole, and spoils neither its decoder nor its connection's successor.
func TestDamagedCodingIsCoding(t *testing.T) {
	page := strings.Repeat("bread and butter, ", 500)
	for _, coding := range []string{"br", "zstd"} {
		whole := code(t, coding, page)
		for name, body := range map[string]string{
			"ends early":    whole[:len(whole)-3],
			"half":          whole[:len(whole)/2],
			"first octet":   whole[:1],
			"octets behind": whole + "junk",
			"broken":        whole[:len(whole)/2] + "\xff\xff\xff\xff\xff\xff" + whole[len(whole)/2+6:],
		} {
			t.Run(coding+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := 0
					w := &world{}
					w.serve = func(_ int, conn net.Conn) {
						for request(conn) != "" {
							if n++; n == 1 {
								say(conn, coded(coding, body))
							} else {
								say(conn, coded(coding, whole))
							}
						}
					}
					f := w.fetcher(t, Config{})
					x := get(t, f, "http://a.test/")
					expect(t, x, Coding, "")
					if x.PayloadSize != int64(len(body)) {
						t.Errorf("payload of %d octets, want %d", x.PayloadSize, len(body))
					}
					x = get(t, f, "http://a.test/")
					expect(t, x, "", "")
					if text(t, x.Body) != page {
						t.Error("the next body is damaged, too")
					}
				})
			})
		}
	}
}

// RFC 9659 3: a window of 8 MiB is the most that a zstd body may ask for.
func TestZstdWindowIsBounded(t *testing.T) {
	for _, c := range []struct {
		log   byte // of the window's size
		class Class
	}{{20, ""}, {23, ""}, {24, Coding}, {27, Coding}, {41, Coding}} {
		// RFC 8878 3.1.1: magic, frame header descriptor, window descriptor; then one raw block, the last one.
		frame := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, (c.log - 10) << 3}, 5<<3|1, 0, 0)
		frame = append(frame, "bread"...)
		synctest.Test(t, func(t *testing.T) {
			w := &world{serve: answering(coded("zstd", string(frame)))}
			x := get(t, w.fetcher(t, Config{}), "http://a.test/")
			if class(x) != c.class || c.class == "" && text(t, x.Body) != "bread" {
				t.Errorf("window of 2^%d: %v", c.log, x.Failure)
			}
		})
	}
}

// A frame of a single segment has a window of its whole size.
func TestZstdSingleSegmentIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frame := binary.LittleEndian.AppendUint32([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0}, 1<<24)
		frame = append(frame, 5<<3|1, 0, 0)
		w := &world{serve: answering(coded("zstd", string(frame)+"bread"))}
		expect(t, get(t, w.fetcher(t, Config{}), "http://a.test/"), Coding, "")
	})
}

// "Large window brotli" is no content coding: RFC 7932 9.1 ends at 24 bits.
func TestLargeWindowBrotliIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The first octet 0x11 is the pattern that RFC 7932 leaves invalid and large windows use; 30 bits follow.
		w := &world{serve: answering(coded("br", "\x11\x1e\x8b\x02\x80bread\x03"))}
		expect(t, get(t, w.fetcher(t, Config{}), "http://a.test/"), Coding, "")
	})
}

// A bomb stops at MaxBody, and is cut by us: no failure of the host's. What it costs is the cap and a window.
func TestBombsStopAtMaxBody(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads much, for long under the race detector")
	}
	const most = 1 << 20
	for _, coding := range codings {
		t.Run(coding, func(t *testing.T) {
			bomb := code(t, coding, strings.Repeat("\x00", 48<<20))
			if len(bomb) > most {
				t.Fatalf("a bomb of %d octets is none", len(bomb))
			}
			synctest.Test(t, func(t *testing.T) {
				w := &world{serve: answering(coded(coding, bomb))}
				f := w.fetcher(t, Config{MaxBody: most})
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				x := get(t, f, "http://a.test/")
				runtime.ReadMemStats(&after)
				expect(t, x, "", CutLength)
				if x.Body.Size() != most {
					t.Errorf("body of %d octets", x.Body.Size())
				}
				if grown := after.TotalAlloc - before.TotalAlloc; grown > 40<<20 {
					t.Errorf("allocated %d MiB", grown>>20)
				}
			})
		})
	}
}
