package ledger

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"
)

// Read takes lines whose salt was removed, which Scan reports.
func FuzzScan(f *testing.F) {
	good := newLedger(f, testKey(1), 0, 2)
	b, err := os.ReadFile(path(good, 0))
	require.NoError(f, err)
	note, err := os.ReadFile(filepath.Join(good, CheckpointName))
	require.NoError(f, err)
	f.Add(b, note, false)
	f.Add(b, []byte("x"), false)
	f.Add(b[:len(b)/2], note, false)
	f.Add(bytes.Replace(b, []byte(`,"salt":"`), []byte(`,"sa1t":"`), 1), note, false)
	f.Add([]byte("{}\n\n"+`{"mark":"begin"}`+"\n"+`{"mark":"stop","time":"`), []byte("o\n9223372036854775807\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n"), false)
	f.Add([]byte(`{"mark":"begin","schema":3,"segment":0,"first":9223372036854775807,"lines":9223372036854775807,"origin":"o"}`+"\n"+
		`{"mark":"hosts","time":"2026-01-01T00:00:00.000000Z","size":9223372036854775807,"hosts":9223372036854775807,"root":"`+strings.Repeat("00", 32)+`"}`+"\n"+
		`{"mark":"redaction","time":"2026-01-01T00:00:00.000000Z","extent":"all","subject_sha256":"`+strings.Repeat("00", 32)+`","entries":[9223372036854775807,0]}`+"\n"+
		string(Stub(tlog.Hash{}))+"\n"), note, false)
	z, err := zstd.NewWriter(nil)
	require.NoError(f, err)
	f.Add(z.EncodeAll(b, nil), note, true)
	f.Add(z.EncodeAll(make([]byte, 1<<20), nil), note, true)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text, note []byte, packed bool) {
		file := path(dir, 0)
		if packed {
			file += packedSuffix
		}
		require.NoError(t, os.WriteFile(file, text, 0o644))
		defer os.Remove(file)
		require.NoError(t, os.WriteFile(filepath.Join(dir, CheckpointName), note, 0o644))
		whole, end := true, false
		var decisions []string
		named := 0
		for e, err := range Scan(dir) {
			require.NoError(t, err)
			if e.Mark != nil && e.Mark.Kind != KindHosts || e.Problem == nil && e.Mark == nil {
				end = e.Mark != nil && e.Mark.Kind == KindStop
			}
			switch {
			case e.Problem != nil:
				whole = false
				if e.Problem.Fault == Unreadable {
					named++
				}
			case e.Mark == nil && !e.Forgotten:
				decisions = append(decisions, e.Line.URL)
			}
		}
		if whole && !end {
			t.Fatalf("called whole: %q", text)
		}
		for l, err := range Read(dir) {
			if err != nil || l.Decision == "" {
				continue
			}
			if len(decisions) == 0 {
				break // Scan gave up on the segment
			}
			switch {
			case l.URL == decisions[0]:
				decisions = decisions[1:]
			case named == 0:
				t.Fatalf("Read has %q and Scan %q", l.URL, decisions[0])
			default:
				named--
			}
		}
		require.Emptyf(t, decisions, "Scan has %q more", decisions)
	})
}

type endless struct {
	pattern string
	left    int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), e.left))
	for i := 0; i < n; i += copy(p[i:n], e.pattern) {
	}
	e.left -= int64(n)
	return n, nil
}

func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	large := int64(64 << 20)
	if long() {
		large = maxSegment + 1<<20
	}
	for _, c := range []struct {
		name    string
		pattern string
		size    int64
		window  int
		want    string
	}{
		{"one line without end", strings.Repeat("\x00", 1<<10), large, 1 << 20, ""},
		{"lines of nothing", strings.Repeat("\n", 1<<10), large, 1 << 20, "passed over"},
		{"a wide window", "x", 64 << 20, 64 << 20, "window"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := os.Create(path(dir, 0) + packedSuffix)
			require.NoError(t, err)
			z, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(c.window), zstd.WithEncoderLevel(zstd.SpeedFastest))
			require.NoError(t, err)
			_, err = io.Copy(z, &endless{c.pattern, c.size})
			require.NoError(t, err)
			require.NoError(t, z.Close())
			require.NoError(t, f.Close())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			problems, n := []string{}, 0
			for e, err := range Scan(dir) {
				require.NoError(t, err)
				require.NotNil(t, e.Problem, e)
				if n++; len(problems) < 2000 {
					problems = append(problems, e.Problem.String())
				}
			}
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 80<<20 {
				t.Errorf("%d octets allocated", got)
			}
			if text := strings.Join(problems, "\n"); n == 0 || n > 1100 || !strings.Contains(text, c.want) {
				t.Errorf("%d problems: %.400s", n, text)
			}
		})
	}
}

func FuzzHosts(f *testing.F) {
	b, err := os.ReadFile(filepath.Join(newLedger(f, nil, 0, 1), HostsName))
	require.NoError(f, err)
	f.Add(b)
	f.Add(b[:len(b)-1])
	f.Add([]byte("{}\n\n"))
	file := filepath.Join(f.TempDir(), HostsName)
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(file, text, 0o644))
		for e, err := range hostsIn(file) {
			if err != nil {
				continue
			}
			if again, err := parseHost(appendHost(nil, &e)); err != nil || again != e {
				t.Fatalf("%+v, %v; want %+v", again, err, e)
			}
		}
	})
}

func TestParseMark_RefusesAnEarlierSchemaByName(t *testing.T) {
	_, err := ParseMark([]byte(`{"mark":"begin","schema":2,"segment":0,"lines":0}`)) // which had no first and no origin
	assert.ErrorContains(t, err, "schema 2 is of an earlier version")
}

func FuzzMark(f *testing.F) {
	dir := newLedger(f, testKey(1), 0, 1)
	for e := range Scan(dir) {
		if e.Mark != nil {
			f.Add(append([]byte(nil), e.Text...))
		}
	}
	f.Add(appendMark(nil, &Mark{Kind: KindRedaction, Redaction: &Redaction{Extent: ExtentBodies, Subject: strings.Repeat("0a", 32), Entries: []int64{1, 2},
		Records: []RedactedRecord{{ID: "x"}}, Files: []RedactedFile{{"w", 1, strings.Repeat("0b", 32), strings.Repeat("0c", 32)}}}}))
	f.Add(appendMark(nil, &Mark{Kind: KindKey, Note: string(rotated(f, 1, 2)[0])}))
	f.Add(appendMark(nil, &Mark{Kind: KindFleet, Time: time.Unix(9, 0), Fleet: &Fleet{Crawl: "c", Dir: "d", Taken: []int{0, 255}, Given: []int{7},
		Members: map[string]string{"d": "w1", "e": "w\u202e"}, Asked: time.Unix(1e9, 0), Server: time.Unix(2e9, 0)}}))
	f.Add(appendMark(nil, &Mark{Kind: KindFile, Name: "warc/\u202e", Octets: 1 << 62, SHA256: strings.Repeat("0d", 32)}))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := ParseMark(line)
		if err != nil || m.Kind == KindBegin && m.Schema > Schema {
			return
		}
		m.Time = m.Time.UTC().Truncate(time.Microsecond)
		if m.Kind != KindBegin && (m.Time.Year() < 0 || m.Time.Year() > 9999) {
			return // no time of RFC 3339
		}
		again, err := ParseMark(appendMark(nil, m))
		require.NoError(t, err)
		require.Equalf(t, string(appendMark(nil, m)), string(appendMark(nil, again)), "%+v, %v; want %+v", again, err, m)
	})
}
