package ndjson

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

func mustParse(t testing.TB, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	require.NoError(t, err)
	return u
}

// whole is a frontier with every field of an item.
func whole(t testing.TB) []frontier.Item {
	seed, page := mustParse(t, "https://a.test/"), mustParse(t, "https://a.test/p?q=1&r=<2>")
	a := seed.Authority()
	h := &frontier.Host{
		Authority: a, HostUpdate: frontier.HostUpdate{Condition: frontier.Parked, Reason: "status 503\xff", Pace: time.Second,
			Width: 3, Robots: []byte{0, 1, 255}, Memory: []byte("notes")},
		Hold: frontier.Hold{Act: frontier.Park, Reason: "asked by phone", Wait: frontier.Never}, Wait: 90 * time.Minute,
		Leased: true, Queued: 1, InFlight: 2, Deferred: 3,
	}
	h.Outcomes[frontier.Fetched], h.Outcomes[frontier.Held] = 4, 5
	return []frontier.Item{
		{Head: &frontier.Head{Secret: []byte("0123456789abcdef"), Openings: 7, Unclean: true, Floor: time.Second}},
		{Seed: &frontier.Seed{URL: seed, Tag: "news\xfe", From: ""}},
		{Seed: &frontier.Seed{URL: page, From: "https://a.test/"}},
		{Blob: []byte("User-agent: *\n")},
		{Blob: []byte{}},
		{Host: h},
		{URL: &frontier.Entry{Candidate: frontier.Candidate{URL: seed, Kind: frontier.KindSeed, Seed: "https://a.test/", Tag: "\u2028"},
			Print: 1, Outcome: frontier.Failed, Reason: "status 500", Attempts: 3, Stops: 2, Alone: 1}},
		{URL: &frontier.Entry{Candidate: frontier.Candidate{URL: page, Kind: frontier.KindEmbed, Via: "https://a.test/", Depth: 1, Hops: 2, Embeds: 3, Away: 1},
			Print: 1<<64 - 1, Deferred: true, Wait: 1, Replaced: mustParse(t, "https://a.test/P")}},
		{Refused: []frontier.Fingerprint{2, 1 << 63}},
		{Totals: &frontier.Totals{Refused: map[canon.Authority]int64{a: 2}, Strange: 1, Reasons: map[string]int64{"scope:host": 2, "\xff": 1},
			Capped: map[string]int64{frontier.ReasonCapHost: 3}, Counts: map[string]int64{"pages": 4}}},
	}
}

func written(t testing.TB, items []frontier.Item) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, i := range items {
		require.NoError(t, w.Write(i))
	}
	_, err := w.Close()
	require.NoError(t, err)
	return b.Bytes()
}

// read reads an export to its end, or to the first error.
func read(export []byte, damaged func(*LineError)) (items []frontier.Item, err error) {
	r := NewReader(bytes.NewReader(export))
	r.Damaged = damaged
	for {
		i, err := r.Next()
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return items, err
		}
		items = append(items, i)
	}
}

func TestReader_ReadsWrittenItems(t *testing.T) {
	want := whole(t)
	got, err := read(written(t, want), nil)
	require.NoError(t, err)
	require.Equalf(t, len(want), len(got), "%d items, want %d", len(got), len(want))
	for k := range want {
		assert.Equalf(t, want[k], got[k], "item %d", k)
	}
}

func TestWriter_SplitsLongLists(t *testing.T) {
	items := whole(t)
	many := make([]frontier.Fingerprint, 3*maxList+1)
	tally := map[canon.Authority]int64{}
	for i := range many {
		many[i] = frontier.Fingerprint(i + 1)
		tally[mustParse(t, "http://h"+strings.Repeat("x", i%50)+itoa(i)+".test/").Authority()] = int64(i)
	}
	items[len(items)-2].Refused, items[len(items)-1].Totals.Refused = many, tally
	b := written(t, items)
	for l := range bytes.Lines(b) {
		assert.LessOrEqualf(t, len(l), 200*maxList, "a line of %d octets", len(l))
	}
	got, err := read(b, nil)
	require.NoError(t, err)
	var prints []frontier.Fingerprint
	for _, i := range got {
		prints = append(prints, i.Refused...)
	}
	assert.True(t, reflect.DeepEqual(prints, many) && reflect.DeepEqual(got[len(got)-1].Totals.Refused, tally), "something is missing")
}

func itoa(n int) string {
	if n == 0 {
		return ""
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func TestReader_RefusesTruncatedExports(t *testing.T) {
	b := written(t, whole(t))
	for n := range len(b) {
		var e *LineError
		_, err := read(b[:n], nil)
		require.Truef(t, errors.As(err, &e), "cut after %d of %d octets: %v", n, len(b), err)
	}
}

func TestReader_DetectsChangedOctets(t *testing.T) {
	b := written(t, whole(t))
	for n := range b {
		c := bytes.Clone(b)
		c[n] ^= 1
		_, err := read(c, nil)
		assert.Errorf(t, err, "octet %d changed from %q to %q: no error", n, b[n], c[n])
	}
	for _, more := range []string{"\n", "{}\n", string(b)} {
		_, err := read(append(bytes.Clone(b), more...), nil)
		assert.ErrorIsf(t, err, ErrChanged, "with %.20q behind it", more)
	}
}

// Each line may be lost or spoilt; the rest is read, and the fault is reported by its line.
func TestReader_DamagedReportsEachFault(t *testing.T) {
	items := whole(t)
	lines := bytes.SplitAfter(written(t, items), []byte("\n"))
	lines = lines[:len(lines)-1]
	for n := 1; n < len(lines); n++ {
		spoilt := bytes.Clone(lines[n])
		spoilt[1] = '!'
		all := bytes.Join([][]byte{bytes.Join(lines[:n], nil), spoilt, bytes.Join(lines[n+1:], nil)}, nil)
		var reported []int64
		got, err := read(all, func(e *LineError) { reported = append(reported, e.Line) })
		require.NoErrorf(t, err, "line %d", n+1)
		assert.Truef(t, len(reported) != 0 && reported[0] == int64(n+1), "line %d was spoilt, and lines %d were reported", n+1, reported)
		last := got[len(got)-1]
		assert.Truef(t, last.Totals != nil, "line %d: the last item is %+v, want totals", n+1, last)
		known := map[canon.Authority]bool{}
		for _, i := range got {
			if i.Host != nil {
				known[i.Host.Authority] = true
			}
			if i.URL != nil {
				assert.Truef(t, known[i.URL.URL.Authority()], "line %d: %s comes before its host", n+1, i.URL.URL)
			}
		}
	}
	_, err := read(bytes.Join(lines[1:], nil), func(*LineError) {})
	assert.Error(t, err, "without its head an export was read")
}

func TestReader_RefusesFaultyLines(t *testing.T) {
	head := `{"head":{"format":1,"secret":"AAAA","openings":1}}` + "\n"
	for _, c := range []struct{ lines, says string }{
		{"", "line 1: it is empty"},
		{"hello\n", "line 1: not a line of an export"},
		{`{"head":{"format":2,"secret":"AAAA","openings":1}}` + "\n", "format 2"},
		{`{"head":{"format":1,"openings":1}}` + "\n", "line 1: a head without its secret"},
		{`{"blob":{"body":"AAAA"}}` + "\n", "without the head"},
		{head + head, "line 2: a second head"},
		{head + "{}\n", "line 2: a line has one member"},
		{"\n", "line 1: not a line of an export"},
		{head + "\n", "line 2: not a line of an export"},
		{head + `{"blob":{"body":"AAAA"},"seed":{"url":"http://a.test/"}}` + "\n", "line 2: a line has one member"},
		{head + `{"blob":{"body":"AAAA"}} {}` + "\n", "line 2: there is text after"},
		{head + `{"page":{}}` + "\n", `unknown field "page"`},
		{head + `{"seed":{"url":"ftp://a.test/"}}` + "\n", "line 2: "},
		{head + `{"url":{"url":"http://a.test/","kind":"link","print":"0000000000000000","state":"queued"}}` + "\n", "no fingerprint is zero"},
		{head + `{"url":{"url":"http://a.test/","kind":"lnk","print":"0000000000000001","state":"queued"}}` + "\n", `no kind "lnk"`},
		{head + `{"url":{"url":"http://a.test/","kind":"link","print":"0000000000000001","state":"done"}}` + "\n", `no state "done"`},
		{head + `{"url":{"url":"http://a.test/","kind":"link","print":"0000000000000001","state":"queued","depth":-1}}` + "\n", "negative"},
		{head + `{"host":{"authority":"http://a.test:80","wait":"soon"}}` + "\n", "line 2: "},
	} {
		_, err := read([]byte(c.lines), nil)
		var e *LineError
		assert.Truef(t, errors.As(err, &e) && strings.Contains(err.Error(), c.says), "%q: %v, want %q", c.lines, err, c.says)
	}
}

func TestReader_SkipsTooLongLines(t *testing.T) {
	long := io.MultiReader(strings.NewReader(`{"head":{"format":1,"secret":"AAAA","openings":1}}`+"\n"), io.LimitReader(xs{}, MaxLine+1<<20), strings.NewReader("\n{\"totals\":{}}\n"))
	r := NewReader(long)
	var reported []int64
	r.Damaged = func(e *LineError) { reported = append(reported, e.Line) }
	n := 0
	for {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		n++
	}
	assert.Truef(t, n == 2 && len(reported) == 2 && reported[0] == 2, "%d items, faults in lines %v; want head and totals, faults in line 2 and at the missing end", n, reported)
}

type xs struct{}

func (xs) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestWriter_NeedsTotals(t *testing.T) {
	_, err := NewWriter(io.Discard).Close()
	assert.Error(t, err, "no error")
}

func FuzzReader_RoundTrip(f *testing.F) {
	f.Add(written(f, whole(f)))
	f.Add([]byte(`{"head":{"format":1,"secret":"AAAA","openings":1}}` + "\n" + `{"totals":{"counts":[{"name":{"octets":"/w=="},"n":-1}]}}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		items, err := read(b, func(*LineError) {})
		if err != nil {
			return
		}
		again, err := read(written(t, items), nil)
		require.NoError(t, err)
		first, second := written(t, items), written(t, again)
		assert.Truef(t, bytes.Equal(first, second), "%s\nand then\n%s", first, second)
	})
}
