package fetch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"curtsy/storage/spool"
)

// small are responses that tell their own end.
var small = map[string]string{
	"length":             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbread",
	"chunked":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked("bread", 2),
	"chunked, trailer":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbread\r\n0\r\nX-Sum: 7\r\n\r\n",
	"gzip, chunked":      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(zip("bread"), 7),
	"interim and length": "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbread",
	"no body":            "HTTP/1.1 204 No Content\r\nX: y\r\n\r\n",
}

// A response that ends before its end is never a success, wherever that is, and what came is kept.
func TestResponseCutAtEveryOctet(t *testing.T) {
	for name, whole := range small {
		for cut := range len(whole) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{serve: answering(whole[:cut])}
				x := get(t, w.fetcher(t, Config{}), "http://a.test/")
				want := Incomplete
				if x.Status == 0 {
					want = Reset
				}
				if class(x) != want {
					t.Errorf("%s cut at %d: failure %v, want class %s", name, cut, x.Failure, want)
				}
				interim := strings.Index(whole, "HTTP/1.1 200")
				if interim <= 0 || cut < interim {
					interim = 0
				}
				switch got := whole[interim:cut]; {
				case got == "" && (x.Response != nil || x.Truncated != ""):
					t.Errorf("%s cut at %d: response %q, truncated %q", name, cut, text(t, x.Response), x.Truncated)
				case got != "" && (text(t, x.Response) != got || x.Truncated != CutDisconnect):
					t.Errorf("%s cut at %d: response %q, truncated %q; want %q", name, cut, text(t, x.Response), x.Truncated, got)
				}
			})
		}
	}
}

// Likewise if it stops coming: every exchange ends, and as a time-out.
func TestResponseStuckAtEveryOctet(t *testing.T) {
	for name, whole := range small {
		for cut := range len(whole) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{serve: func(_ int, conn net.Conn) {
					request(conn)
					say(conn, whole[:cut])
					drain(conn)
				}}
				x := get(t, w.fetcher(t, Config{}), "http://a.test/")
				if class(x) != Timeout || x.Response != nil && x.Truncated != CutTime {
					t.Errorf("%s stuck at %d: failure %v, truncated %q", name, cut, x.Failure, x.Truncated)
				}
			})
		}
	}
}

func TestNotHTTP(t *testing.T) {
	for name, response := range map[string]string{
		"greeting":               "220 mail.test ESMTP\r\n\r\n",
		"HTTP/0.9":               "<html>bread</html>\n",
		"HTTP/2":                 "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
		"no status code":         "HTTP/1.1 OK\r\n\r\n",
		"short status code":      "HTTP/1.1 099 Low\r\n\r\n",
		"signed status code":     "HTTP/1.1 +20 Odd\r\n\r\n",
		"field without colon":    "HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n",
		"two lengths":            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"negative length":        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"unknown transfer":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"unasked switch":         "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
		"broken chunk size":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbread\r\nzz\r\n",
		"chunk without its end":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbreadXX0\r\n\r\n",
		"chunk size over 2^64":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11112222333344445\r\n",
		"chunk line over 4 KiB":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("e", 5000) + "\r\n",
		"trailer over 4 KiB":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + strings.Repeat("e", 5000) + "\r\n\r\n",
		"control octets in name": "HTTP/1.1 200 OK\r\nA\x00B: c\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{serve: func(_ int, conn net.Conn) {
					request(conn)
					say(conn, response)
					drain(conn) // not closed: the octets alone must tell
				}}
				f := w.fetcher(t, Config{})
				x := get(t, f, "http://a.test/")
				expect(t, x, Protocol, CutOther)
				if got := text(t, x.Response); !strings.HasPrefix(response, got) || got == "" {
					t.Errorf("response %q", got)
				}
				if s := x.Failure.Error(); len(s) > 300 || strings.ContainsAny(s, "\x00\r\n") {
					t.Errorf("message of %d octets: %q", len(s), s)
				}
				if again := get(t, f, "http://a.test/"); again.Reused {
					t.Error("the connection was used again")
				}
			})
		})
	}
}

// Politeness rule 24: response header ≤ 64 KiB, exactly.
func TestHeadLimit(t *testing.T) {
	head := func(size int) string {
		const begin, end = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ", "\r\n\r\n"
		return begin + strings.Repeat("x", size-len(begin)-len(end)) + end
	}
	const early = "HTTP/1.1 103 Early Hints\r\n\r\n"
	for _, c := range []struct {
		name, response string
		fits           bool
	}{
		{"at the limit", head(headLimit), true},
		{"one over", head(headLimit + 1), false},
		{"one over within the last buffer", head(headLimit + readBuffer), false},
		{"1 MiB", head(1 << 20), false},
		{"interim counts", early + head(headLimit-len(early)), true},
		{"interim counts, one over", early + head(headLimit-len(early)+1), false},
		{"one endless line", "HTTP/1.1 200 " + strings.Repeat("O", 1<<20), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{serve: answering(c.response)}
				x := get(t, w.fetcher(t, Config{}), "http://a.test/")
				if c.fits {
					expect(t, x, "", "")
					return
				}
				expect(t, x, Protocol, CutOther)
				if x.Status != 0 || x.Response.Size() > headLimit+readBuffer {
					t.Errorf("status %d, %d octets read", x.Status, x.Response.Size())
				}
			})
		})
	}
}

func TestInterimFlood(t *testing.T) {
	const interim = "HTTP/1.1 100 Continue\r\n\r\n"
	for n, want := range map[int]Class{maxInterim: "", maxInterim + 1: Protocol, 1 << 20: Protocol} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{serve: func(_ int, conn net.Conn) {
				request(conn)
				for range n {
					if _, err := io.WriteString(conn, interim); err != nil {
						return
					}
				}
				say(conn, ok("bread"))
			}}
			if x := get(t, w.fetcher(t, Config{}), "http://a.test/"); class(x) != want || x.Interim > maxInterim+1 {
				t.Errorf("%d interim responses: %v, read %d", n, x.Failure, x.Interim)
			}
		})
	}
}

// Politeness rule 24: caps are on decoded octets, and there is one on what is taken from the connection.
func TestBodyCaps(t *testing.T) {
	const most = 1000
	bomb := zip(strings.Repeat("\x00", 10<<20))
	for _, c := range []struct {
		name, response string
		body           int64 // octets; -1 for none
		truncated      string
		unwanted       string
	}{
		{"declared, at the cap", ok(strings.Repeat("b", most)), most, "", ""},
		{"declared, one over", ok(strings.Repeat("b", most+1)), -1, CutLength, TooLarge},
		{"declared, absurd", "HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\n", -1, CutLength, TooLarge},
		{"chunked, at the cap", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(strings.Repeat("b", most), 100), most, "", ""},
		{"chunked, one over", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(strings.Repeat("b", most+1), 100), most, CutLength, ""},
		{"until close, at the cap", "HTTP/1.0 200 OK\r\n\r\n" + strings.Repeat("b", most), most, "", ""},
		{"until close, over", "HTTP/1.0 200 OK\r\n\r\n" + strings.Repeat("b", 1<<20), most, CutLength, ""},
		{"gzip, at the cap", "HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zip(strings.Repeat("b", most)), most, "", ""},
		{"gzip, one over", "HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zip(strings.Repeat("b", most+1)), most, CutLength, ""},
		{"gzip bomb", "HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + bomb, most, CutLength, ""},
		{"empty gzip members", "HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + strings.Repeat(zip(""), 1<<15), 0, CutLength, ""},
		{"chunks of one octet with long extensions", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("1;eeeeeeee\r\nb\r\n", 990) + "0\r\n\r\n", 990, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{serve: answering(c.response)}
				x := do(t, w.fetcher(t, Config{}), Request{URL: mustURL(t, "http://a.test/"), MaxBody: most})
				expect(t, x, "", c.truncated)
				if x.Unwanted != c.unwanted {
					t.Errorf("unwanted %q, want %q", x.Unwanted, c.unwanted)
				}
				size := int64(-1)
				if x.Body != nil {
					size = x.Body.Size()
				}
				if size != c.body {
					t.Errorf("%d octets of body, want %d", size, c.body)
				}
				if got, bound := x.Response.Size(), int64(2*most+2*headLimit+readBuffer); got > bound {
					t.Errorf("%d octets taken, bound %d", got, bound)
				}
				got := text(t, x.Response)
				if !strings.HasPrefix(c.response, got) {
					t.Errorf("response is no prefix of what was sent")
				}
				// Where there is no framing between head and payload, the digest can be checked against the archive.
				if _, payload, _ := strings.Cut(got, "\r\n\r\n"); x.Body != nil && !strings.Contains(got, "chunked") &&
					(x.PayloadSize != int64(len(payload)) || x.PayloadDigest != sha256.Sum256([]byte(payload))) {
					t.Errorf("payload of %d octets is not the %d of the response", x.PayloadSize, len(payload))
				}
			})
		})
	}
}

// RFC 9309 2.5: an oversized robots.txt is read up to the limit, whatever it declares.
func TestPartialReadsUpToTheCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		response := ok(strings.Repeat("b", 1<<20))
		w := &world{serve: answering(response)}
		x := do(t, w.fetcher(t, Config{}), Request{URL: mustURL(t, "http://a.test/robots.txt"), MaxBody: 1000, Partial: true})
		expect(t, x, "", CutLength)
		if got := text(t, x.Body); got != strings.Repeat("b", 1000) || x.Unwanted != "" {
			t.Errorf("unwanted %q, %d octets of body", x.Unwanted, len(got))
		}
		if got := text(t, x.Response); !strings.HasPrefix(response, got) || x.PayloadDigest != sha256.Sum256([]byte(got[x.HeadSize:])) {
			t.Errorf("%d octets of response, payload of %d", len(got), x.PayloadSize)
		}
	})
}

func TestDefaultCapIsThatOfConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{serve: answering(ok("bread"))}
		if x := get(t, w.fetcher(t, Config{MaxBody: 4}), "http://a.test/"); x.Unwanted != TooLarge {
			t.Errorf("unwanted %q", x.Unwanted)
		}
	})
}

func TestBrokenCoding(t *testing.T) {
	whole := zip("bread and butter")
	damaged := []byte(whole)
	damaged[len(damaged)-6] ^= 1 // in the checksum
	for name, body := range map[string]string{
		"ends early":      whole[:len(whole)-9],
		"header only":     whole[:10],
		"part of header":  whole[:5],
		"wrong checksum":  string(damaged),
		"broken in midst": whole[:12] + "\xff\xff\xff\xff" + whole[16:],
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				response := "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(body, 4)
				w := &world{serve: answering(response)}
				x := get(t, w.fetcher(t, Config{}), "http://a.test/")
				expect(t, x, Coding, "")
				if got := text(t, x.Response); got != response {
					t.Errorf("response %q, want all of %q", got, response)
				}
				if x.PayloadDigest != sha256.Sum256([]byte(body)) {
					t.Error("digest is not that of the whole payload")
				}
				if got := text(t, x.Body); name != "broken in midst" && !strings.HasPrefix("bread and butter", got) {
					t.Errorf("body %q", got)
				}
			})
		})
	}
}

func TestUnwanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{serve: func(_ int, conn net.Conn) {
			request(conn)
			say(conn, "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 50\r\n\r\n")
			drain(conn) // the body never comes: nobody may wait for it
		}}
		f := w.fetcher(t, Config{})
		x := do(t, f, Request{URL: mustURL(t, "http://a.test/"), Want: func(status int, h http.Header) string {
			return fmt.Sprint(status, " ", h.Get("Content-Type"))
		}})
		expect(t, x, "", CutOther)
		if x.Unwanted != "200 video/mp4" || x.Body != nil || x.Status != 200 {
			t.Errorf("unwanted %q, body %v, status %d", x.Unwanted, x.Body, x.Status)
		}
		w.wg.Wait() // the connection was closed
	})
}

func TestSpoolGoesToDiskAndAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := strings.Repeat("0123456789abcdef", 40_000)
		body := zip(page[:500_000]) + zip(page[500_000:])
		for name, response := range map[string]string{
			"plain": ok(page), // one spool
			"gzip":  "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(body, 100),
		} {
			dir := t.TempDir()
			w := &world{serve: answering(response)}
			x := get(t, w.fetcher(t, Config{SpoolDir: dir}), "http://a.test/")
			expect(t, x, "", "")
			if text(t, x.Response) != response || text(t, x.Body) != page {
				t.Errorf("%s: %d octets of response, %d of body", name, x.Response.Size(), x.Body.Size())
			}
			if err := errors.Join(x.Close(), x.Close()); err != nil {
				t.Error(err)
			}
			if _, err := x.Body.ReadAt(make([]byte, 1), 0); !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s: reading after Close: %v", name, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s: left behind: %v, %v", name, left, err)
			}
		}
	})
}

// A full or missing disk is our failure, not the host's.
func TestSpoolFailureIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := t.TempDir() + "/gone"
		page := strings.Repeat("b", 2*spool.Memory)
		for name, response := range map[string]string{
			"response": ok(page),
			"body":     "HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zip(page),
		} {
			w := &world{serve: answering(response)}
			f := w.fetcher(t, Config{SpoolDir: gone})
			x, err := f.Do(t.Context(), Request{URL: mustURL(t, "http://a.test/")})
			if x != nil || !errors.Is(err, os.ErrNotExist) || !strings.Contains(fmt.Sprint(err), gone) {
				t.Errorf("%s: %v, %v", name, x, err)
			}
		}
	})
}

// Politeness rule 24: every crawled string is hostile in a terminal, and parsers quote what they were given.
func TestFailureTextIsHarmless(t *testing.T) {
	f := &Failure{Protocol, errors.New("got \x1b[2J\r\n\u202e\xff" + strings.Repeat("ä", 1<<16))}
	if got, want := f.Error(), "fetch: protocol: got ?[2J????ää"; !strings.HasPrefix(got, want) || len(got) > 300 || !utf8.ValidString(got) || !strings.HasSuffix(got, "ä…") {
		t.Errorf("%d octets: %q", len(got), got)
	}
}
