package fetch

import (
	"bytes"
	"encoding/binary"
	"errors"
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

func TestSeveralCodingsStay(t *testing.T) {
	for _, value := range []string{"gzip, br", "br, br", "zstd, gzip", "deflate", "br;q=1", "dcb", "dcz", "aws-chunked"} {
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
			"plain text":    "<p>bread</p>",
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

// FuzzCodingRoundTrip: what an encoder made of any octets is decoded to them, whatever the reads and the chunks.
func FuzzCodingRoundTrip(f *testing.F) {
	f.Add([]byte("<p>bread</p>"), byte(0), byte(3))
	f.Add([]byte(""), byte(1), byte(1))
	f.Add(bytes.Repeat([]byte("bread "), 600), byte(2), byte(200))
	d := newDecoders()
	f.Fuzz(func(t *testing.T, plain []byte, which, step byte) {
		coding := codings[int(which)%len(codings)]
		z := d.get(coding, &slowly{code(t, coding, string(plain)), int(step)%512 + 1})
		defer d.put(coding, z)
		got, err := io.ReadAll(z)
		if err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("%s: %d octets became %d: %v", coding, len(plain), len(got), err)
		}
	})
}

// slowly gives a few octets at a time.
type slowly struct {
	s    string
	most int
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.s == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.most)], s.s)
	s.s = s.s[n:]
	return n, nil
}

// FuzzCodingGarbage: any octets end, as a body or as an error, within the memory of a window; the decoder is fit for the
// next body.
func FuzzCodingGarbage(f *testing.F) {
	for i, coding := range codings {
		s := code(f, coding, strings.Repeat("bread ", 100))
		f.Add([]byte(s), byte(i))
		f.Add([]byte(s[:len(s)/2]), byte(i))
		f.Add(append([]byte(s), s...), byte(i))
	}
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x01, 0, 0}, byte(2)) // a content of 2^63
	f.Add(binary.LittleEndian.AppendUint32([]byte{0x5d, 0x2a, 0x4d, 0x18}, 1<<32-1), byte(2))                        // a skippable frame of 4 GiB
	d := newDecoders()
	f.Fuzz(func(t *testing.T, garbage []byte, which byte) {
		const most, window = 1 << 20, 32 << 20
		coding := codings[int(which)%len(codings)]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		z := d.get(coding, bytes.NewReader(garbage))
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(z, most), make([]byte, 32<<10))
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > window {
			t.Errorf("%s: %d octets allocated %d MiB", coding, len(garbage), grown>>20)
		}
		if n == 0 && err == nil && len(garbage) > 64 && coding == "gzip" && !bytes.HasPrefix(garbage, []byte{0x1f, 0x8b}) {
			t.Errorf("%s: nothing, and no error, of %q", coding, garbage)
		}
		z.reset(strings.NewReader(code(t, coding, "bread")))
		if got, err := io.ReadAll(z); err != nil || string(got) != "bread" {
			t.Errorf("%s: the next body is %q, %v", coding, got, err)
		}
		d.put(coding, z)
	})
}

// A pooled decoder holds no body: its source is let go of.
func TestPooledDecoderLetsGo(t *testing.T) {
	d := newDecoders()
	for _, coding := range codings {
		z := d.get(coding, strings.NewReader(code(t, coding, strings.Repeat("bread ", 1000))))
		if _, err := io.ReadFull(z, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		z.reset(nil)
		if n, err := z.Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: after reset, %d octets and %v", coding, n, err)
		}
	}
}
