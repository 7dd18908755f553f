package warc

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

var decision = storage.Line{
	Via: "http://a.test/", Kind: "link", Depth: 2, Seed: "http://a.test/", Tag: "tag é", Decision: "allow", Reason: "allowed", Own: true,
	RobotsLine: 3, RobotsRule: "Allow: /x", RobotsGroup: "*", RunnerUp: "Disallow: /", RobotsSHA256: "00ff", RobotsRecord: "urn:x:1", Standard: "rfc9309",
	Pace: 1500 * time.Millisecond, PaceBy: "crawl-delay", Gap: 1501999999, Attempt: 1, Change: "changed", Modified: page.UTC().Truncate(time.Second), Holds: time.Hour, Began: page.UTC().Truncate(time.Microsecond), Took: 7_000_999, FirstByte: 5 * time.Millisecond, Ahead: 4 * time.Second,
	Rest: 60 * time.Second, RestBy: "errors",
	Outcome: "fetched", Proxy: "http://proxy.test:3128", Interim: 2, Status: 200, Truncated: "length", List: "11ee", Directives: "noindex", Asked: "X-Robots-Tag: noindex\nmeta robots: all", Prefs: "header tdm-reservation: 1", NeedsScript: true,
}

func withDecision(i int) storage.Record {
	r := simple(i)
	l := decision
	r.Line, r.HeadSize, r.PayloadSize, r.Repeatable = &l, r.Response.Size()-4, 4, true
	r.Outlinks = []storage.Outlink{{URL: "http://a.test/1", Kind: "link"}, {URL: "http://a.test/a b", Kind: "link"}, {URL: "http://a.test/2", Kind: "embed"}}
	return r
}

const wantMetadata = "via: http://a.test/\r\ndepth: 2\r\nkind: link\r\nseed: http://a.test/\r\nsourceTag: tag é\r\nfetchTimeMs: 7\r\nfirstByteTimeMs: 5\r\n" +
	"decision: allow\r\nreason: allowed\r\noutcome: fetched\r\ninterimAnswers: 2\r\nstatus: 200\r\nattempt: 1\r\nchange: changed\r\nownHost: true\r\nrobotsLine: 3\r\nrobotsRule: Allow: /x\r\n" +
	"robotsGroup: *\r\nrobotsRunnerUp: Disallow: /\r\nrobotsSha256: 00ff\r\nrobotsStandard: rfc9309\r\nrobotsRecord: urn:x:1\r\npaceMs: 1500\r\npaceBy: crawl-delay\r\n" +
	"gapMs: 1501.999\r\nclockAheadMs: 4000\r\nrestMs: 60000\r\nrestBy: errors\r\ndirectives: noindex\r\nasked: X-Robots-Tag: noindex\r\nasked: meta robots: all\r\nprefs: header tdm-reservation: 1\r\nlistSha256: 11ee\r\n" +
	"truncated: length\r\noutlink: http://a.test/1 link\r\noutlink: http://a.test/2 embed\r\noutlinksLeftOut: 1\r\n"

func TestMetadata(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	silent := record("http://a.test/silent", "GET /silent HTTP/1.1\r\n\r\n", "", 0)
	silent.Line = &storage.Line{Decision: "allow", PaceBy: "floor"}
	unasked := record("http://a.test/unasked", "", "HTTP/1.1 408 Slow\r\n\r\n", 0)
	unasked.Line = &storage.Line{Reason: "a\r\nWARC-Type: \x00b\xff"}
	write(t, w, withDecision(1), silent, unasked)
	closing(t, w)
	es := read(t, filepath.Join(dir, "crawl-00000.warc.gz"))
	var kinds []string
	for _, e := range es {
		kinds = append(kinds, e.Type)
	}
	equal(t, "records", kinds, []string{"warcinfo", "request", "response", "metadata", "request", "metadata", "response", "metadata"})
	q, a, m := es[1], es[2], es[3]
	ids := func(e entry) string { return strings.Join(e.Fields.Values("WARC-Concurrent-To"), " ") }
	equal(t, "pairs", []string{ids(q), ids(a), ids(m), ids(es[4]), ids(es[5]), ids(es[6]), ids(es[7])}, []string{
		"<" + a.ID() + "> <" + m.ID() + ">", "<" + q.ID() + ">", "<" + a.ID() + ">",
		"<" + es[5].ID() + ">", "<" + es[4].ID() + ">", "<" + es[7].ID() + ">", "<" + es[6].ID() + ">",
	})
	equal(t, "fields", []string{m.Fields.Get("WARC-Date"), m.Fields.Get("Content-Type"), m.TargetURI(), string(es[5].block), string(es[7].block)},
		[]string{a.Fields.Get("WARC-Date"), typeFields, a.TargetURI(),
			"decision: allow\r\npaceMs: 0\r\npaceBy: floor\r\nheadsSha256: " + headsOf(string(es[4].block)) + "\r\n",
			"reason: a  WARC-Type:  b\ufffd\r\nheadsSha256: " + headsOf("") + "\r\n"})
	heads := headsOf(string(q.block) + string(a.block[:len(a.block)-4]))
	if want := strings.Replace(wantMetadata, "outlink:", "headsSha256: "+heads+"\r\nlastModified: 2026-03-04T04:06:07.000000Z\r\nholdsMs: 3600000\r\nneedsScript: true\r\nproxy: http://proxy.test:3128\r\noutlink:", 1); string(m.block) != want {
		t.Errorf("got %q\nwant %q", m.block, want)
	}
	m.Block = bytes.NewReader(m.block)
	l, links, err := m.Metadata()
	want := decision
	want.URL, want.Record, want.Gap, want.Took, want.Heads = a.TargetURI(), a.ID(), 1501999000, 7_000_000, heads
	want.Time = want.Began.Add(want.Took)
	if err != nil || l != want || !slices.Equal(links, []storage.Outlink{{URL: "http://a.test/1", Kind: "link"}, {URL: "http://a.test/2", Kind: "embed"}}) {
		t.Errorf("read back\n %+v\n %v, %v\nwant\n %+v", l, links, err, want)
	}
}

func TestOutlinksAreBounded(t *testing.T) {
	links := slices.Repeat([]storage.Outlink{{URL: "http://a.test/", Kind: "link"}}, MaxOutlinks+5)
	b := appendMetadata(nil, &storage.Line{}, &storage.Record{Outlinks: links})
	_, got, err := parseMetadata(bytes.NewReader(b), true)
	if err != nil || len(got) != MaxOutlinks || !bytes.HasSuffix(b, []byte("outlinksLeftOut: 5\r\n")) {
		t.Errorf("%d links, %v, …%q", len(got), err, b[len(b)-40:])
	}
}

func TestMetadataKeepsEveryField(t *testing.T) {
	elsewhere := []string{"Time", "URL", "Began", "Addr", "Type", "Octets", "Payload", "Record", "Blocks", "Heads", "Count"}
	v := reflect.ValueOf(decision)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		assert.Falsef(t, v.Field(i).IsZero() && !slices.Contains(elsewhere, name), "the example has no %s", name)
	}
}

// Any decision is read back from its block, field for field, apart from line ends.
func FuzzMetadata(f *testing.F) {
	f.Add("a", "b: c", "http://a.test/", int64(1500), 3)
	f.Add("\r\noutlink: x", "\xff", "http://a.test/ b", int64(-1), -1)
	f.Fuzz(func(t *testing.T, reason, rule, link string, micros int64, n int) {
		l := storage.Line{Reason: reason, RobotsRule: rule, RobotsLine: n, Gap: time.Duration(micros % 1e12 * 1000), Depth: n}
		links := []storage.Outlink{{URL: link, Kind: "link"}}
		b := appendMetadata(nil, &l, &storage.Record{Outlinks: links, HeadOnly: true})
		got, back, err := parseMetadata(bytes.NewReader(b), true)
		l.Reason, l.RobotsRule = oneLine(reason), oneLine(rule)
		if link == "" || !solid(link) {
			links = nil
		}
		got.Reason, got.RobotsRule = oneLine(got.Reason), oneLine(got.RobotsRule)
		require.Truef(t, err == nil && got == l && slices.Equal(back, links), "%q: %+v, %v, %v", b, got, back, err)
	})
}

// known is an Originals and Index in memory.
type known struct {
	by      map[[32]byte]storage.Original
	added   []Entry
	events  []string
	failing error
}

func (k *known) Original(d [32]byte) (storage.Original, bool, error) {
	o, ok := k.by[d]
	return o, ok, k.failing
}

func (k *known) Add(e Entry) error {
	if k.failing == nil {
		k.added = append(k.added, e)
	}
	return k.failing
}

func (k *known) Complete(file string) error {
	k.events = append(k.events, "complete "+file)
	return k.failing
}

func (k *known) Mended(path, file string, end int64, removed bool) error {
	_, err := os.Stat(path)
	k.events = append(k.events, fmt.Sprintf("mended %s %d %v %v", file, end, removed, err == nil))
	return k.failing
}

func TestRevisits(t *testing.T) {
	first := storage.Original{URL: "http://old.test/", Date: page, ID: "urn:x:7"}
	sum := sha256.Sum256([]byte("0001"))
	for name, c := range map[string]struct {
		change func(*storage.Record, *known)
		kind   string
	}{
		"known":         {func(*storage.Record, *known) {}, "revisit"},
		"without id":    {func(_ *storage.Record, k *known) { k.by[sum] = storage.Original{URL: "http://old.test/", Date: page} }, "revisit"},
		"unknown":       {func(_ *storage.Record, k *known) { clear(k.by) }, "response"},
		"robots.txt":    {func(r *storage.Record, _ *known) { r.Repeatable = false }, "response"},
		"cut":           {func(r *storage.Record, _ *known) { r.Truncated = "length" }, "response"},
		"no payload":    {func(r *storage.Record, _ *known) { r.HasPayload = false }, "response"},
		"empty payload": {func(r *storage.Record, _ *known) { r.PayloadSize = 0 }, "response"},
		"no head":       {func(r *storage.Record, _ *known) { r.HeadSize = 0 }, "response"},
		"hostile":       {func(_ *storage.Record, k *known) { k.by[sum] = storage.Original{URL: "a\r\nb", Date: page} }, "response"},
		"no date":       {func(_ *storage.Record, k *known) { k.by[sum] = storage.Original{URL: "a"} }, "response"},
	} {
		dir := t.TempDir()
		k := &known{by: map[[32]byte]storage.Original{sum: first}}
		w := open(t, Options{Dir: dir, Originals: k, Index: k})
		r := withDecision(1)
		c.change(&r, k)
		write(t, w, r)
		closing(t, w)
		a := read(t, filepath.Join(dir, "crawl-00000.warc.gz"))[2]
		assert.Falsef(t, a.Type != c.kind || (a.Length == r.HeadSize) != (c.kind == "revisit") && name != "no head", "%s: a %s of %d octets", name, a.Type, a.Length)
		if c.kind != "revisit" {
			continue
		}
		equal(t, name, []string{
			a.Fields.Get("WARC-Profile"), bare(a.Fields.Get("WARC-Refers-To")), a.Fields.Get("WARC-Refers-To-Target-URI"), a.Fields.Get("WARC-Refers-To-Date"), a.Fields.Get("WARC-Payload-Digest"),
		}, []string{profileIdentical, k.by[sum].ID, first.URL, "2026-03-04T04:06:07.089012Z", labelled([]byte("0001"))})
		e := k.added[0]
		assert.Truef(t, e.Kind == "revisit" && !e.Repeatable && e.Payload == sum && e.Status == 200, "%s: indexed as %+v", name, e)
	}
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	r := record("http://a.test/", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n", 0)
	r.NotModified = &first
	write(t, w, r)
	closing(t, w)
	a := read(t, filepath.Join(dir, "crawl-00000.warc.gz"))[2]
	equal(t, "304", []string{a.Type, a.Fields.Get("WARC-Profile"), a.Fields.Get("WARC-Payload-Digest"), string(a.block)},
		[]string{"revisit", profileNotModified, "", "HTTP/1.1 304 Not Modified\r\n\r\n"})
}

func TestWriter_ReportsToIndex(t *testing.T) {
	dir := t.TempDir()
	k := &known{}
	w := open(t, Options{Dir: dir, Index: k, SegmentSize: 2600})
	typed := record("http://a.test/typed", "GET /typed HTTP/1.1\r\n\r\n", "HTTP/1.1 404 No\r\ncontent-type:  Image/PNG ; q=1\r\n\r\nx", 1)
	typed.HeadSize = typed.Response.Size() - 1
	ids := write(t, w, withDecision(1), typed, withDecision(2), withDecision(3))
	closing(t, w)
	for i, e := range k.added {
		b, err := os.ReadFile(filepath.Join(dir, e.File))
		require.NoError(t, err)
		rd := NewReader(bytes.NewReader(b[e.Offset : e.Offset+e.Length]))
		rec, err := rd.Next()
		if err != nil || rec.ID() != ids[i] || e.ID != ids[i] || e.URL != rec.TargetURI() || e.Kind != rec.Type || rec.Fields.Get("WARC-Date") != e.Date.Format(dateForm) {
			t.Errorf("%+v stands for %v, %v", e, rec, err)
		}
	}
	if len(k.added) != 4 || k.added[1].Status != 404 || k.added[1].Type != "image/png" || k.added[0].Type != "" || !k.added[0].Repeatable || k.added[1].Repeatable {
		t.Errorf("added %+v", k.added)
	}
	equal(t, "events", k.events, []string{"complete crawl-00000.warc.gz", "complete crawl-00001.warc.gz", "complete crawl-00002.warc.gz"})

	segment, ends := threeExchanges(t)
	for size, want := range map[int64][]string{
		ends[2] + 9: {fmt.Sprintf("mended crawl-00000.warc.gz %d false true", ends[2]), "complete crawl-00000.warc.gz"},
		9:           {"mended crawl-00000.warc.gz 0 true true"},
	} {
		k := &known{}
		w := open(t, Options{Dir: leave(t, segment[:size]), Index: k})
		closing(t, w)
		equal(t, "events", k.events, want)
	}
}

func TestIndexFailurePoisons(t *testing.T) {
	k := &known{failing: io.ErrClosedPipe}
	w := open(t, Options{Dir: t.TempDir(), Index: k})
	for range 2 {
		_, err := w.Record(t.Context(), withDecision(1))
		assert.ErrorIsf(t, err, io.ErrClosedPipe, "recorded: %v", err)
	}
	assert.ErrorIs(t, w.Refuse(t.Context(), decision), io.ErrClosedPipe, "refused")
	assert.ErrorIs(t, w.Close(), io.ErrClosedPipe, "closed")
}

func TestIndexMustFollow(t *testing.T) {
	dir := t.TempDir()
	k := &known{}
	w := open(t, Options{Dir: dir, Index: k})
	write(t, w, withDecision(1))
	k.failing = io.ErrClosedPipe
	assert.ErrorIs(t, w.Close(), io.ErrClosedPipe, "closed")
	segment, ends := threeExchanges(t)
	dir = leave(t, segment[:ends[2]+9])
	for range 2 {
		_, err := Open(Options{Dir: dir, Name: "crawl", Index: k})
		assert.ErrorIsf(t, err, io.ErrClosedPipe, "opened: %v", err)
	}
	k.failing, k.events = nil, nil
	closing(t, open(t, Options{Dir: dir, Index: k}))
	equal(t, "events", k.events, []string{fmt.Sprintf("mended crawl-00000.warc.gz %d false true", ends[2]), "complete crawl-00000.warc.gz"})
}

func refusal(i, size int) storage.Line {
	return storage.Line{Time: page.UTC(), URL: fmt.Sprintf("http://a.test/%d/%s", i, strings.Repeat("x", size)), Decision: "disallow", Reason: "disallowed"}
}

func refusals(t *testing.T, dir string) (batches []int, urls []string) {
	t.Helper()
	for _, name := range ls(t, dir) {
		for _, e := range read(t, filepath.Join(dir, name)) {
			if !e.IsRefusals() {
				continue
			}
			assert.Falsef(t, len(e.block) > maxBatch && bytes.Count(e.block, []byte("\n")) > 1, "a batch of %d octets", len(e.block))
			n := 0
			for l, err := range ParseRefusals(bytes.NewReader(e.block)) {
				require.NoError(t, err)
				require.EqualValues(t, "disallow", l.Decision, l)
				n++
				urls = append(urls, l.URL)
			}
			batches = append(batches, n)
		}
	}
	return batches, urls
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := open(t, Options{Dir: dir, SegmentSize: 40_000})
		var want []string
		refuse := func(n, size int) {
			for range n {
				l := refusal(len(want), size)
				require.NoError(t, w.Refuse(t.Context(), l))
				want = append(want, l.URL)
			}
		}
		sync := func(gathered int) {
			t.Helper()
			err := w.Sync(t.Context())
			require.Truef(t, err == nil && w.refused.count == gathered, "%d gathered, want %d, %v", w.refused.count, gathered, err)
		}
		refuse(3, 10)
		sync(3)
		time.Sleep(syncAge)
		sync(0)
		refuse(3, syncBatch/3)
		sync(0)
		refuse(2001, 1)
		time.Sleep(syncAge)
		sync(0)
		refuse(2, 100_000)
		refuse(7, 10_000)
		refuse(2, 10)
		closing(t, w)
		batches, urls := refusals(t, dir)
		equal(t, "URLs", urls, want)
		assert.Equalf(t, "[3 3] [1 1 6 3]", fmt.Sprint(batches[:2], batches[len(batches)-4:]), "batches %v", batches)
		assert.ErrorIs(t, w.Refuse(t.Context(), refusal(1, 1)), os.ErrClosed, "closed")
	})
}

func TestRefusalsCompleteTheirSegment(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, SegmentSize: 6000})
	write(t, w, withDecision(1))
	require.NoError(t, w.Refuse(t.Context(), refusal(1, 1)))
	write(t, w, record("http://a.test/big", "GET /big HTTP/1.1\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n"+string(noise(6000)), 6000))
	es := read(t, filepath.Join(dir, "crawl-00000.warc.gz"))
	assert.Truef(t, es[len(es)-1].IsRefusals() && es[len(es)-1].end <= 6000, "the last of segment 0 is a %s", es[len(es)-1].Type)
	closing(t, w)
}

func TestExchangesAreTornWhole(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	silent := record("http://a.test/silent", "GET /silent HTTP/1.1\r\n\r\n", "", 0)
	silent.Line = &decision
	unasked := record("http://a.test/unasked", "", "HTTP/1.1 408 Slow\r\n\r\n", 0)
	unasked.Line = &decision
	quiet := record("http://a.test/quiet", "GET /quiet HTTP/1.1\r\n\r\n", "", 0) // without its metadata record
	write(t, w, withDecision(1), silent, unasked, quiet, simple(2))
	require.NoError(t, w.Refuse(t.Context(), refusal(1, 1)))
	closing(t, w)
	path := filepath.Join(dir, "crawl-00000.warc.gz")
	es := read(t, path)
	segment, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, es, 12)
	ends := []int64{0, es[3].end, es[5].end, es[7].end, es[8].end, es[10].end, es[11].end}
	for n := range int64(len(segment)) + 1 {
		i, found := slices.BinarySearch(ends, n)
		if !found {
			i--
		}
		if end, cause, err := whole(bytes.NewReader(segment[:n])); end != ends[i] || err != nil || cause != nil && !errors.Is(cause, io.ErrUnexpectedEOF) {
			t.Fatalf("of %d octets %d remain, want %d (%v, %v)", n, end, ends[i], cause, err)
		}
	}
}

func TestRefusalsWhileOthersWrite(t *testing.T) {
	dir := t.TempDir()
	k := &known{}
	w := open(t, Options{Dir: dir, SegmentSize: 20_000, Index: k})
	const workers, each = 16, 60
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for j := range each {
				assert.NoError(t, w.Refuse(t.Context(), refusal(i*each+j, 400)))
				if j%10 == 0 {
					_, err := w.Record(t.Context(), withDecision(i*each+j))
					assert.NoError(t, err)
				}
				if j%15 == 0 {
					assert.NoError(t, w.Sync(t.Context()))
				}
			}
		})
	}
	wg.Wait()
	closing(t, w)
	_, urls := refusals(t, dir)
	slices.Sort(urls)
	n := len(slices.Compact(urls))
	assert.Truef(t, n == workers*each && len(urls) == n, "%d refusals, %d of them different; want %d", len(urls), n, workers*each)
	c := NewChecker()
	found := func(f Finding) { t.Errorf("%v", f) }
	for _, name := range ls(t, dir) {
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		_, err = c.File(f, found)
		assert.NoError(t, err)
		f.Close()
		es := read(t, filepath.Join(dir, name))
		for i, e := range es {
			if e.Type != "response" {
				continue
			}
			q, m := es[i-1], es[i+1]
			if q.Type != "request" || m.Type != "metadata" || q.TargetURI() != e.TargetURI() || m.TargetURI() != e.TargetURI() {
				t.Fatalf("%s: neighbours are %s of %s and %s of %s", name, q.Type, q.TargetURI(), m.Type, m.TargetURI())
			}
			assert.Equalf(t, es[0].ID(), bare(e.Fields.Get("WARC-Warcinfo-ID")), "%s: a record of another segment", name)
		}
	}
	c.Finish(func(_ int, f Finding) { found(f) })
	for _, e := range k.added {
		r, f, err := ReadAt(filepath.Join(dir, e.File), e.Offset)
		require.NoError(t, err)
		require.Equal(t, e.ID, r.ID(), e)
		end, err := r.Block.(*lenientBlock).l.End()
		assert.Truef(t, err == nil && end == e.Offset+e.Length, "%+v ends at %d, %v", e, end, err)
		f.Close()
	}
	assert.Len(t, k.added, workers*each/10, "answers are indexed")
}
