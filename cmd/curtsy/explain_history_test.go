package main

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/explain"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// noon is the start of each crawl.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	historyPage = "http://a.test/private/x"
	robotsTxt   = "http://a.test/robots.txt"
)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// crawl writes a ledger and returns its directory.
func crawl(t *testing.T, dir string, lines ...storage.Line) string {
	t.Helper()
	w, err := ledger.Open(ledger.Options{Dir: filepath.Join(dir, crawldir.LedgerName)})
	require.NoError(t, err)
	for _, l := range lines {
		require.NoError(t, w.Append(t.Context(), l))
	}
	require.NoError(t, w.Close())
	return dir
}

// explainArchived archives exchanges for robots.txt, one a minute, and returns their lines. "" is status 404.
func explainArchived(t *testing.T, dir string, texts ...string) (lines []storage.Line) {
	t.Helper()
	w, err := warc.Open(warc.Options{Dir: filepath.Join(dir, crawldir.ArchiveName), Name: "crawl"})
	require.NoError(t, err)
	for i, text := range texts {
		l := storage.Line{Time: at(i + 1), URL: robotsTxt, Decision: storage.DecisionRobots, Attempt: 1, Began: at(i + 1), Status: 200}
		wire := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		if text == "" {
			l.Status, l.Reason = 404, "status 404"
			wire = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
		}
		kept, err := w.Record(t.Context(), storage.Record{URL: robotsTxt, Time: l.Began,
			Addr: netip.MustParseAddrPort("192.0.2.7:80"), Request: []byte("GET /robots.txt HTTP/1.1\r\nHost: a.test\r\n\r\n"),
			Response: io.NewSectionReader(strings.NewReader(wire), 0, int64(len(wire)))})
		require.NoError(t, err)
		l.Record = kept.ID
		lines = append(lines, l)
	}
	require.NoError(t, w.Close())
	return lines
}

func explainOf(t *testing.T, dir string, x explainSubject) *view {
	t.Helper()
	u, err := canon.Parse(historyPage)
	require.NoError(t, err)
	x.Dir, x.URL = dir, u
	l := of(x)
	require.NoError(t, l.Read(t.Context()))
	l.Pack()
	return l
}

func past(t *testing.T, dir string, until time.Time) (l *view, e explain.Explanation) {
	t.Helper()
	l = explainOf(t, dir, explainSubject{At: until})
	l.Past(&e)
	return l, e
}

func decided(minutes int, url string, kind storage.Kind, outcome storage.Outcome) storage.Line {
	return storage.Line{Time: at(minutes), URL: url, Kind: kind, Decision: storage.DecisionAllow, Outcome: outcome}
}

func TestAHistoryEndsAtItsInstant(t *testing.T) {
	t.Parallel()
	dir := crawl(t, t.TempDir(),
		decided(0, "http://a.test/", storage.KindSeed, storage.OutcomeFetched),
		decided(1, historyPage, storage.KindLink, storage.OutcomeDeferred),
		decided(2, "http://a.test/x/../private/x", "", storage.OutcomeFetched), // another spelling of it
		decided(2, historyPage+"y", "", storage.OutcomeGone),
		decided(2, "http://b.test/private/x", "", ""),
		decided(3, historyPage, "", storage.OutcomeGone),
	)
	for _, c := range []struct {
		until time.Time
		total int
		last  storage.Outcome
	}{
		{at(0), 0, ""},
		{at(1), 1, storage.OutcomeDeferred},
		{at(2).Add(-1), 1, storage.OutcomeDeferred},
		{at(2), 2, storage.OutcomeFetched},
		{at(3), 3, storage.OutcomeGone},
		{time.Time{}, 3, storage.OutcomeGone},
	} {
		l := explainOf(t, dir, explainSubject{At: c.until, Via: "http://a.test/"})
		if l.Total != c.total || len(l.Lines) != c.total || l.Last.Outcome != c.last {
			t.Errorf("until %v: %d decisions, %d lines, last %q", c.until, l.Total, len(l.Lines), l.Last.Outcome)
		}
		if l.Began == nil || !l.Began.Equal(at(0)) || l.Found == nil || !l.Found.Equal(at(0)) {
			t.Errorf("until %v: began %v, found %v", c.until, l.Began, l.Found)
		}
		if c.total > 0 && (!l.First.Equal(at(1)) || l.How.Kind != storage.KindLink) {
			t.Errorf("until %v: first %v, found as %q", c.until, l.First, l.How.Kind)
		}
	}
	l := explainOf(t, dir, explainSubject{At: at(0).Add(-1)})
	if l.Began != nil || len(l.Notes) != 1 || !strings.Contains(l.Notes[0], "2026-03-01T12:00:00.000Z") {
		t.Errorf("before the crawl: began %v, %q", l.Began, l.Notes)
	}
}

func TestTheLastLinesAreKept(t *testing.T) {
	t.Parallel()
	var lines []storage.Line
	for i := range maxHistory + 5 {
		lines = append(lines, storage.Line{Time: at(i), URL: historyPage, Decision: storage.DecisionAllow,
			Outcome: storage.OutcomeDeferred, Attempt: i + 1, FirstByte: time.Duration(i) * time.Millisecond, Began: at(i), Took: time.Second},
			storage.Line{Time: at(i), URL: robotsTxt, Decision: storage.DecisionRobots, Reason: "timeout"})
	}
	l := explainOf(t, crawl(t, t.TempDir(), lines...), explainSubject{})
	if l.Total != maxHistory+5 || len(l.Decisions()) != maxHistory || l.Decisions()[maxHistory-1].Attempt != l.Total {
		t.Errorf("%d decisions, %d kept", l.Total, len(l.Decisions()))
	}
	if n := len(l.Asked()); n != maxRobots || !l.Asked()[n-1].Time.Equal(at(maxHistory+4)) {
		t.Errorf("%d exchanges for robots.txt", n)
	}
	if n := len(l.responses); n != 5 || l.responses[0] != maxHistory*time.Millisecond {
		t.Errorf("of the last answers: %v", l.responses)
	}
	assert.Truef(t, l.ended.Equal(at(maxHistory+4).Add(time.Second)), "the last exchange ended at %v", l.ended)
}

func TestWhichExchangesAreForTheRobotsTxtOfAHost(t *testing.T) {
	t.Parallel()
	const other = "http://b.test/robots.txt"
	for _, c := range []struct {
		url, via string
		decision storage.Decision
		want     bool
	}{
		{robotsTxt, "", storage.DecisionRobots, true},
		{other, robotsTxt, storage.DecisionRobots, true},
		{other, "", storage.DecisionRobots, false},
		{robotsTxt, other, storage.DecisionRobots, false}, // it answers for the other host
		{robotsTxt, "", storage.DecisionAllow, false},     // a link to it
	} {
		assert.Equal(t, c.want, isRobotsOf(storage.Line{URL: c.url, Via: c.via, Decision: c.decision}, robotsTxt), c)
	}
}

func TestThePastIsToldByTheRobotsTxtThatWasValid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := explainArchived(t, dir, "User-agent: *\nDisallow: /private\n", "User-agent: *\nDisallow: /x\n", "")
	crawl(t, dir, lines...)
	for _, c := range []struct {
		until  time.Time
		known  bool
		allow  bool
		record string
	}{
		{at(1).Add(-1), false, false, ""},
		{at(1), true, false, lines[0].Record},
		{at(2).Add(-1), true, false, lines[0].Record},
		{at(2), true, true, lines[1].Record},
		{at(3), true, true, lines[2].Record},
	} {
		_, e := past(t, dir, c.until)
		v := e.Robots.Verdict
		if (v != nil) != c.known || v != nil && v.Allow != c.allow || e.Robots.Record != c.record {
			t.Errorf("at %v: %+v by record %q, want %q", c.until, v, e.Robots.Record, c.record)
		}
		if v != nil && !v.Allow && (v.Line != 2 || v.Rule != "Disallow: /private") {
			t.Errorf("at %v: by line %d, %q", c.until, v.Line, v.Rule)
		}
	}
}

func TestARecordThatIsGoneIsNamedAndTeachesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := explainArchived(t, dir, "User-agent: *\nDisallow: /private\n", "")
	lines[1].Record = "urn:uuid:00000000-0000-4000-8000-000000000000"
	lines = append(lines, slices.Repeat(lines[1:], maxReplayNotes)...)
	l, e := past(t, crawl(t, dir, lines...), at(9))
	if v := e.Robots.Verdict; v == nil || v.Allow || e.Robots.Record != lines[0].Record || len(l.Notes) != maxReplayNotes || !strings.Contains(l.Notes[0], lines[1].Record) {
		t.Errorf("%+v by record %q, %q", v, e.Robots.Record, l.Notes)
	}
}

// A forged line of the index or ledger opens no file outside of the archive.
func TestNoRecordIsLookedForOutsideOfTheArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := explainArchived(t, dir, "")
	files, err := crawldir.Entries(filepath.Join(dir, crawldir.ArchiveName), "", ".warc.gz")
	require.NoError(t, err)
	require.Lenf(t, files, 1, "%q, error %v", files, err)
	name := filepath.Base(files[0])
	offset, err := offsetOf(files[0], lines[0].Record)
	require.NoError(t, err)
	a := &replay{dir: dir}
	rec, closer, err := a.at(name, offset, lines[0].Record)
	require.NoError(t, err)
	require.Equal(t, lines[0].Record, rec.ID())
	closer.Close() // only read
	for _, name := range []string{"../" + crawldir.ArchiveName + "/" + name, "x/" + name, files[0]} {
		if _, _, err := a.at(name, offset, lines[0].Record); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
	if _, _, err := a.at(name, offset, lines[0].Record+"0"); err == nil {
		t.Error("another record was taken")
	}
	require.NoError(t, os.Rename(files[0], files[0]+".open"))
	_, closer, err = a.at(name, offset, lines[0].Record)
	require.NoError(t, err, "in the file that is still written")
	closer.Close() // only read
}
