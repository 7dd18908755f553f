package fetch

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"curtsy/storage/spool"
)

func TestSpoolGoesToDiskAndAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := strings.Repeat("0123456789abcdef", 40_000)
		body := zip(page[:500_000]) + zip(page[500_000:])
		for name, response := range map[string]string{
			"plain": ok(page), // one spool
			"gzip":  "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(body, 100),
		} {
			dir := t.TempDir()
			x := get(t, (&world{serve: answering(response)}).fetcher(t, Config{SpoolDir: dir}), "http://a.test/")
			expect(t, x, "", "")
			assert.Equal(t, response, text(t, x.Response), name)
			assert.Equal(t, page, text(t, x.Body), name)
			assert.NoError(t, errors.Join(x.Close(), x.Close()))
			if _, err := x.Body.ReadAt(make([]byte, 1), 0); !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s: reading after Close: %v", name, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s: left behind: %v, %v", name, left, err)
			}
		}
	})
}

func TestSpoolFailureIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := t.TempDir() + "/gone"
		page := strings.Repeat("b", 2*spool.Memory)
		for name, response := range map[string]string{
			"response": ok(page),
			"body":     "HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zip(page),
		} {
			f := (&world{serve: answering(response)}).fetcher(t, Config{SpoolDir: gone})
			x, err := f.Do(t.Context(), Request{URL: mustURL(t, "http://a.test/")})
			if x != nil || !errors.Is(err, os.ErrNotExist) || !strings.Contains(fmt.Sprint(err), gone) {
				t.Errorf("%s: %v, %v", name, x, err)
			}
		}
	})
}

// Politeness rule 24: parsers quote the host.
func TestFailureTextIsHarmless(t *testing.T) {
	f := &Failure{Protocol, errors.New("got \x1b[2J\r\n\u202e\xff" + strings.Repeat("ä", 1<<16))}
	if got, want := f.Error(), "fetch: protocol: got ?[2J????ää"; !strings.HasPrefix(got, want) || len(got) > 300 || !utf8.ValidString(got) || !strings.HasSuffix(got, "ä…") {
		t.Errorf("%d octets: %q", len(got), got)
	}
}
