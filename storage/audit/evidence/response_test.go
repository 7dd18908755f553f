package evidence

import (
	"bufio"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

func FuzzHead(f *testing.F) {
	for _, line := range []string{
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n", "HTTP/1.0 301 Moved\r\nLocation: /x\r\nlocation: /y\r\n", "HTTP/1.1  404\r\nAge: 1\r\n\tAge: 2\r\n", "HTTP/1.1 200\nDate:\r\n x\r\n y\r\n",
		"HTTP/1.1 200 OK\r\nRetry-After : 3\r\nRetry-After\t: 4\r\nRetry-After: \x855\xa0\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\nContent-Encoding: br\r\n",
		"HTTP/1.1 200 OK\r\n: x\r\nCache-Control: a, b\r\nCache-Control:\r\nExpires:\r\n", "HTTP/1.1 200 OK\r\r\nAge: 1\r\r\n\r\r\n", "HTTP/1.1 103 Early Hints\r\n",
		"HTTP/1.1 200 OK\r\nAge: 1\r\n\t\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding:\r\nContent-Encoding: gzip\r\nContent-Encoding: \r\n",
		"HTTP/1.1 200 OK\r\nRateLimit:\r\nRateLimit: \"p\";r=0;t=9\r\n", "HTTP/1.1 200 OK\r\nRateLimit: \"p\";r=0;t=9\r\nRateLimit:\r\n",
	} {
		f.Add(line + "\r\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil) //nolint:bodyclose // a text has nothing to close
		if err != nil || resp.ProtoMajor != 1 || resp.StatusCode < 100 || len(text) > storage.MaxHead {
			return // the crawl makes nothing of it
		}
		for _, values := range resp.Header { // an empty line that is folded leaves a space, which the crawl's readers trim
			for i := range values {
				values[i] = strings.TrimSpace(values[i])
			}
		}
		a := &Reader{}
		a.block.init()
		a.block.begin(&warc.Record{Block: strings.NewReader(text)}, false)
		var h partial
		require.NoErrorf(t, a.head(&h, URL{Target: RobotsPath}), "%q", text)
		got := h.Answer
		want := AnswerHead{RetryAfter: resp.Header.Values("Retry-After"), CacheControl: resp.Header.Values("Cache-Control")}
		for name, o := range map[string]*First{"Location": &want.Location, "Expires": &want.Expires, "Date": &want.Date, "Age": &want.Age} {
			if v := resp.Header.Values(name); len(v) > 0 {
				o.set([]byte(v[0]))
			}
		}
		want.Coding = strings.Join(slices.DeleteFunc(resp.Header.Values("Content-Encoding"), func(s string) bool { return s == "" }), ",")
		want.RateLimit = strings.Join(resp.Header.Values("RateLimit"), ",") // as the crawl's reader joins it
		require.Equalf(t, a.block.chunked, (len(resp.TransferEncoding) > 0), "%q: chunked", text)
		if h.Status != resp.StatusCode || len(got.Coding) < finding.MaxText && len(got.RateLimit) < maxRateLimit && fmt.Sprint(facts(got)) != fmt.Sprint(facts(want)) {
			t.Fatalf("%q: status %d, %q; net/http has %d, %q", text, h.Status, facts(got), resp.StatusCode, facts(want))
		}
	})
}

func facts(s AnswerHead) []any {
	return []any{s.Location, s.Expires, s.Date, s.Age, s.CacheControl, s.RetryAfter, s.RateLimit, s.Coding}
}

func TestRateLimitIsReadLikeTheCrawlReadsIt(t *testing.T) {
	const s = time.Second
	spaced := func(space, until time.Duration) quota { return quota{Given: true, Space: space, Until: until} }
	for field, want := range map[string]quota{
		`"p";r=10;t=60`:                        spaced(6*s, 60*s),
		`"p";r=10;t=0`:                         {Given: true},
		`"a";r=100;t=10, "b";r=50;t=100`:       spaced(2*s, 100*s),
		`"a";r=0;t=5,"b";r=2;t=10`:             {Given: true, Wait: 5 * s, Space: 5 * s, Until: 10 * s},
		`"p";r=0;t=999999999999999`:            {Given: true, Wait: day},
		`"p;r=1";r=10; t=60`:                   spaced(6*s, 60*s),
		`"p";r=1;t=999;r=10;t=60`:              spaced(6*s, 60*s),
		`"p\"";a=:cHNm:;x;y=?1;z="\"";r=1;t=2`: spaced(2*s, 2*s),
		`"p";w=tok/en;v=1.5;u=-1;r=1;t=2`:      spaced(2*s, 2*s),
		`"p";r=10`:                             {}, `p;r=10;t=60`: {}, `"p";r=-1;t=60`: {}, `"p";r=1.5;t=60`: {}, `"p";r="1";t=60`: {},
		`"p";r;t=60`: {}, `"p";r=;t=60`: {}, `"p";r=10;t=60,`: {}, `"p";r=10;t=60 "q"`: {}, `"p;r=10;t=60`: {}, `"p";R=10;t=60`: {},
		`"p";r=1000000000000000000;t=60`: {}, `"p";r=0;t=30, nonsense`: {}, "\"p\";r=10;t=60\x00": {}, "": {},
		`"` + strings.Repeat("p", maxRateLimit) + `";r=10;t=60`: {},
	} {
		assert.Equalf(t, want, RateLimit(field), "%.80s", field)
	}
}

func TestReader_SegmentCompletedDuringAudit(t *testing.T) {
	for _, exchanges := range []int{1, 9} {
		dir := t.TempDir()
		w, err := warc.Open(warc.Options{Dir: dir, Name: "curtsy", SegmentSize: 4000})
		require.NoError(t, err)
		answer := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>" + strings.Repeat("x", 5000)
		for i := range exchanges {
			began := time.Date(2026, 11, 1, 0, 0, i, 0, time.UTC)
			url := fmt.Sprintf("http://a.example/%d", i)
			_, err := w.Record(t.Context(), storage.Record{
				URL: url, Time: began, Addr: netip.MustParseAddrPort("192.0.2.1:80"), Request: []byte("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"),
				Response: io.NewSectionReader(strings.NewReader(answer), 0, int64(len(answer))), HeadSize: int64(strings.Index(answer, "<")),
				Line: &storage.Line{URL: url, Decision: storage.DecisionAllow, Attempt: 1, Began: began, Status: 200, Outcome: storage.OutcomeFetched},
			})
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		files, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
		require.NoError(t, err)
		require.Equalf(t, (exchanges > 1), (len(files) > 1), "%d segments", len(files))
		files[len(files)-1] += unfinished // as they were listed
		var got []string
		rd := NewReader(Options{Files: files, Ours: true}, func(finding.Finding) {})
		err = rd.Each(t.Context(), func(_ context.Context, ev Event) error {
			if ev.Exchange != nil {
				got = append(got, ev.Exchange.URL)
			}
			return nil
		})
		if err != nil || len(got) != exchanges || !slices.IsSorted(got) {
			t.Errorf("%q of %d exchanges: %v", got, exchanges, err)
		}
		require.NoError(t, os.Remove(strings.TrimSuffix(files[0], unfinished)))
		assert.Error(t, NewReader(Options{Files: files, Ours: true}, func(finding.Finding) {}).Each(t.Context(), nil), "a missing file is not an error")
	}
}

func TestOddity_NamesForeignFields(t *testing.T) {
	t.Parallel()
	const sent = "GET /a HTTP/1.1\r\nHost: a.test\r\nUser-Agent: x\r\nAccept: */*\r\n"
	for name, c := range map[string]struct{ head, want string }{
		"a request":              {sent + "\r\n", ""},
		"of all fields":          {sent + "From: a@b.test\r\nAccept-Encoding: gzip\r\nAccept-Language: en\r\nIf-None-Match: \"x: y\"\r\nIf-Modified-Since: x\r\nConnection: close\r\n\r\n", ""},
		"signed":                 {sent + "Signature-Agent: sig1=\"https://a.test\"\r\nSignature-Input: sig1=(\"@authority\")\r\nSignature: sig1=:eA==:\r\n\r\n", ""},
		"to an own host, masked": {sent + "Authorization: (masked)\r\nX-Api-Key: (masked)\r\n\r\n", ""},
		"through a proxy":        {"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		"HEAD":                   {"HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		"a foreign field":        {sent + "X-Api-Key: sesame\r\n\r\n", "the field X-Api-Key"},
		"another spelling":       {sent + "accept-language: en\r\n\r\n", "the field accept-language"},
		"a field twice":          {sent + "Accept: a\r\n\r\n", "the field Accept twice"},
		"a kept connection":      {sent + "Connection: keep-alive\r\n\r\n", "the field Connection"},
		"no blank":               {sent + "Accept-Language:en\r\n\r\n", `the line "Accept-Language:en"`},
		"a folded line":          {sent + " x\r\n\r\n", `the line " x"`},
		"bare LF":                {"GET /a HTTP/1.1\nHost: a.test\r\n\r\n", "lines that do not end in CRLF"},
		"bare LF at the end":     {"GET /a HTTP/1.1\r\nHost: a.test\r\n\n", "lines that do not end in CRLF"},
		"a bare CR":              {"GET /a HTTP/1.1\r\nHost: a\r.test\r\n\r\n", "lines that do not end in CRLF"},
		"HTTP/1.0":               {"GET /a HTTP/1.0\r\nHost: a.test\r\n\r\n", `the request line "GET /a HTTP/1.0"`},
		"two blanks":             {"GET  /a HTTP/1.1\r\nHost: a.test\r\n\r\n", `the request line "GET  /a HTTP/1.1"`},
	} {
		assert.Equal(t, c.want, oddity([]byte(c.head)), name)
	}
}

func TestRequestHead_ComparesWholeNames(t *testing.T) {
	var h RequestHead
	for _, name := range []string{"x-cookie-jar", "cookie", "proxy-authorization"} {
		h.take(name, []byte(Masked))
	}
	assert.True(t, h.Has("cookie"))
	assert.True(t, h.Has("proxy-authorization"))
	assert.False(t, h.Has("authorization"))
	assert.False(t, h.Has("jar"))
}

func TestOriginals_OverflowIsHarmless(t *testing.T) {
	o := &originals{make([]original, maxOriginals), maphash.MakeSeed()}
	const n = 3 * maxOriginals
	row := func(i int) original {
		id := "urn:test:" + strconv.Itoa(i)
		return o.of(id, "sha256:"+id, id, "")
	}
	for i := range n {
		o.add(row(i))
	}
	kept := 0
	for i := range n {
		if was, ok := o.find("urn:test:" + strconv.Itoa(i)); ok {
			if kept++; was != row(i) {
				t.Fatalf("%d is %+v, not %+v", i, was, row(i))
			}
		}
	}
	assert.GreaterOrEqualf(t, kept, maxOriginals/2, "%d of %d remain", kept, maxOriginals)
}

func TestDatesHaveAResolution(t *testing.T) {
	for date, want := range map[string]time.Duration{
		"2026-03-01T12:00:00Z": time.Second, "2026-03-01T12:00:00.1Z": 100 * time.Millisecond,
		"2026-03-01T12:00:00.123456Z": time.Microsecond, "2026-03-01T12:00:00.123456789Z": 1, "2026-03-01": 0, "": 0, "9999-99-99T00:00:00Z": 0,
	} {
		if _, got, ok := instant(date); got != want || ok != (want > 0) {
			t.Errorf("%q: %v, %v", date, got, ok)
		}
	}
}
