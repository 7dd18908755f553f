package fetch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"curtsy/storage/coding"
)

// FuzzResponse: any bytes end an exchange within its bounds. Response is part of them, and a success is one whole response.
func FuzzResponse(f *testing.F) {
	for _, s := range small {
		f.Add([]byte(s))
		f.Add([]byte(s[:len(s)-1]))
		f.Add([]byte(s + s))
	}
	f.Add([]byte("HTTP/1.0 200 OK\r\n\r\nbread"))
	f.Add([]byte("HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zip("bre", "ad") + "junk"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked("bread", 1)))
	// A gzip header whose name does not end.
	f.Add([]byte("HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\b\b00000000000"))
	const most = 1 << 10
	f.Fuzz(func(t *testing.T, response []byte) {
		synctest.Test(t, func(t *testing.T) {
			x := do(t, (&world{serve: answering(string(response))}).fetcher(t, Config{}), Request{URL: mustURL(t, "http://a.test/"), MaxBody: most})
			got := ""
			if x.Response != nil {
				got = text(t, x.Response)
			}
			require.Truef(t, bytes.Contains(response, []byte(got)), "response %q is not part of %q", got, response)
			if x.Body != nil && x.Body.Size() > most {
				t.Fatalf("body of %d octets", x.Body.Size())
			}
			if x.Failure != nil || x.Truncated != "" || x.Body == nil {
				return
			}
			length, payload, left, err := reread(got)
			require.NoError(t, err)
			require.Emptyf(t, left, "success, but of %q: %v, behind it: %q", got, err, left)
			require.Equal(t, int64(len(payload)), x.PayloadSize)
			require.Equal(t, sha256.Sum256(payload), x.PayloadDigest)
			if length >= 0 && length != int64(len(payload)) {
				t.Fatalf("declared %d octets, payload %d", length, len(payload))
			}
			body := text(t, x.Body)
			undo, _ := coding.Of(x.Header)
			if len(undo) == 0 {
				require.Equalf(t, string(payload), body, "body %q, payload %q", body, payload)
				return
			}
			if !slices.Equal(undo, []string{"gzip"}) {
				return // package coding has fuzz tests of the others
			}
			if z, err := gzip.NewReader(bytes.NewReader(payload)); err == nil {
				plain, _ := io.ReadAll(io.LimitReader(z, most+1)) // also stops at bytes behind the last member
				require.Equalf(t, body, string(plain), "body %q, gunzip gives %q", body, plain)
			} else if body != string(payload) {
				t.Fatalf("body %q of a payload that is not gzip: %q", body, payload)
			}
		})
	})
}

// reread returns declared length (-1 without), payload and rest. net/http reads trailers only if two line ends follow.
func reread(response string) (length int64, payload []byte, left string, err error) {
	const ends = "\r\n\r\n"
	if !strings.Contains(strings.ToLower(response), "chunked") {
		return readAgain(response)
	}
	if length, payload, left, err = readAgain(response + ends); strings.HasSuffix(left, ends) {
		return length, payload, strings.TrimSuffix(left, ends), err
	}
	return readAgain(response) // not chunked after all: its body goes to the end
}

func readAgain(response string) (length int64, payload []byte, left string, err error) {
	r := bufio.NewReader(strings.NewReader(response))
	whole, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, nil, "", err
	}
	payload, err = io.ReadAll(whole.Body)
	err = errors.Join(err, whole.Body.Close())
	rest, restErr := io.ReadAll(r)
	return whole.ContentLength, payload, string(rest), errors.Join(err, restErr)
}
