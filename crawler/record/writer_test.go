package record

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/fetch"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// books are an archive and a ledger that record the order of their calls.
type books struct {
	calls   []string
	records []storage.Record
	lines   []storage.Line // of the ledger
	fail    string         // the call that fails
}

var errFull = errors.New("full")

func (b *books) call(ctx context.Context, name string) error {
	b.calls = append(b.calls, name)
	if name == b.fail {
		return errFull
	}
	return ctx.Err()
}

// archive and ledger implement the two interfaces over books.
type (
	archive struct{ *books }
	ledger  struct{ *books }
)

func (a archive) Record(ctx context.Context, r storage.Record) (storage.Receipt, error) {
	a.records = append(a.records, r)
	return storage.Receipt{ID: "urn:1", Blocks: "b1"}, a.call(ctx, "record")
}
func (a archive) Refuse(ctx context.Context, _ storage.Line) error { return a.call(ctx, "refuse") }
func (a archive) Sync(ctx context.Context) error                   { return a.call(ctx, "sync archive") }

func (l ledger) Begin(ctx context.Context) error { return l.call(ctx, "begin") }
func (l ledger) Sync(ctx context.Context) error  { return l.call(ctx, "sync ledger") }
func (l ledger) Append(ctx context.Context, line storage.Line) error {
	l.lines = append(l.lines, line)
	return l.call(ctx, "append")
}

func (b *books) writer() *Writer { return New(archive{b}, ledger{b}, NewDates()) }

func parse(t *testing.T, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	require.NoError(t, err)
	return u
}

// answered is an exchange whose response has a head of four bytes and that body.
func answered(t *testing.T, body string) *fetch.Exchange {
	all := "head" + body
	return &fetch.Exchange{
		URL: parse(t, "http://a.test/x"), Start: time.Now(), End: time.Now().Add(time.Second), Request: []byte("GET"),
		Response: io.NewSectionReader(strings.NewReader(all), 0, int64(len(all))), HeadSize: 4, Status: 200,
		PayloadSize: int64(len(body)), PayloadDigest: [32]byte{1},
	}
}

// A line names the archived record; one with a back-off is synced at once.
func TestWriteIsArchiveThenLedger(t *testing.T) {
	made := Evidence{Exchange: answered(t, "body")}
	unmade := Evidence{Exchange: &fetch.Exchange{URL: parse(t, "http://a.test/x")}}
	for _, c := range []struct {
		name     string
		line     storage.Line
		evidence Evidence
		want     string
	}{
		{"an exchange", storage.Line{Attempt: 1}, made, "record, append"},
		{"one that asks for a rest", storage.Line{Attempt: 1, Rest: 1}, made, "record, append, sync ledger"},
		{"one without a connection", storage.Line{Attempt: 1}, unmade, "append"},
		{"such a one with a rest", storage.Line{Attempt: 1, Rest: 1}, unmade, "append, sync ledger"},
		{"robots.txt forbids it", storage.Line{Decision: storage.DecisionDisallow}, Evidence{}, "refuse, append"},
		{"refused", storage.Line{Decision: storage.DecisionRefuse}, Evidence{}, "refuse, append"},
		{"held", storage.Line{Decision: storage.DecisionHold}, Evidence{}, "refuse, append"},
	} {
		var b books
		id, err := b.writer().Write(t.Context(), c.line, c.evidence)
		if got := strings.Join(b.calls, ", "); got != c.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
		record, blocks := "", ""
		if c.evidence.made() {
			record, blocks = "urn:1", "b1"
		}
		if l := b.lines[0]; id != record || l.Record != record || l.Blocks != blocks {
			t.Errorf("%s: id %q, the line names %q and %q", c.name, id, l.Record, l.Blocks)
		}
	}
}

func TestWriteStopsAtTheFirstFailure(t *testing.T) {
	made, refused := Evidence{Exchange: answered(t, "body")}, storage.Line{Decision: storage.DecisionDisallow}
	for _, c := range []struct {
		fail     string
		line     storage.Line
		evidence Evidence
		want     string
	}{
		{"record", storage.Line{Attempt: 1, Rest: 1}, made, "record"},
		{"append", storage.Line{Attempt: 1, Rest: 1}, made, "record, append"},
		{"sync ledger", storage.Line{Attempt: 1, Rest: 1}, made, "record, append, sync ledger"},
		{"refuse", refused, Evidence{}, "refuse"},
		{"append", refused, Evidence{}, "refuse, append"},
	} {
		b := books{fail: c.fail}
		_, err := b.writer().Write(t.Context(), c.line, c.evidence)
		if got := strings.Join(b.calls, ", "); got != c.want || !errors.Is(err, errFull) {
			t.Errorf("%s fails: %s, %v; want %s", c.fail, got, err, c.want)
		}
	}
}

// Lines and counts add up to the refusals, also at the end of the run, which syncs them once.
func TestFlush_WritesCounts(t *testing.T) {
	const n = MaxLines + 7
	var b books
	w := b.writer()
	for range n {
		l := storage.Line{URL: "http://a.test/x", Decision: storage.DecisionRefuse, Reason: "trap:repeat"}
		if _, err := w.Write(t.Context(), l, Evidence{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.calls = nil
	_ = w.Flush(ctx)
	if last := b.lines[len(b.lines)-1]; len(b.lines) != MaxLines+1 || last.Count != 7 {
		t.Errorf("%d lines, the last one counts %d", len(b.lines), last.Count)
	}
	assert.Equal(t, "refuse, append, sync archive", strings.Join(b.calls[:3], ", "), "the end")
	b.calls = nil
	if err := w.Flush(t.Context()); err != nil || len(b.calls) > 0 {
		t.Errorf("a second end: %v, %v", b.calls, err)
	}
}

// Politeness rule 19.
func TestRule19_HeadOnlyKeepsTheHeadAndTheDigest(t *testing.T) {
	for _, c := range []struct {
		name, body     string
		headOnly, want bool
	}{
		{"asked", "body", true, true}, {"not asked", "body", false, false}, {"no body", "", true, false},
	} {
		var b books
		e := Evidence{Exchange: answered(t, c.body), HeadOnly: c.headOnly, Page: true}
		l := storage.Line{Attempt: 1}
		e.Describe(&l)
		if _, err := b.writer().Write(t.Context(), l, e); err != nil {
			t.Fatal(err)
		}
		r, cut := b.records[0], ""
		kept, err := io.ReadAll(r.Response)
		want := "head" + c.body
		if c.want {
			want, cut = "head", fetch.CutOther
		}
		if string(kept) != want || err != nil || r.HeadOnly != c.want || r.Truncated != cut || l.Truncated != cut {
			t.Errorf("%s: %q is kept, head only %v, truncated %q, %q", c.name, kept, r.HeadOnly, r.Truncated, l.Truncated)
		}
		if !r.HasPayload || !strings.HasPrefix(l.Payload, "0100") || l.Octets != int64(4+len(c.body)) {
			t.Errorf("%s: payload %v %q, %d bytes", c.name, r.HasPayload, l.Payload, l.Octets)
		}
	}
}

func TestRepeatable_OnlyWholePages(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *Evidence)
		want   bool
	}{
		"a page":        {func(*Evidence) {}, true},
		"the last 2xx":  {func(e *Evidence) { e.Exchange.Status = 299 }, true},
		"robots.txt":    {func(e *Evidence) { e.Page = false }, false},
		"only the head": {func(e *Evidence) { e.HeadOnly = true }, false},
		"it broke off":  {func(e *Evidence) { e.Exchange.Failure = &fetch.Failure{} }, false},
		"it was cut":    {func(e *Evidence) { e.Exchange.Truncated = fetch.CutLength }, false},
		"a redirect":    {func(e *Evidence) { e.Exchange.Status = 301 }, false},
		"an error page": {func(e *Evidence) { e.Exchange.Status = 404 }, false},
		"it is empty":   {func(e *Evidence) { e.Exchange.PayloadSize = 0 }, false},
	} {
		var b books
		e := Evidence{Exchange: answered(t, "body"), Page: true}
		c.change(&e)
		_, err := b.writer().Write(t.Context(), storage.Line{Attempt: 1}, e)
		require.NoError(t, err)
		assert.Equalf(t, c.want, b.records[0].Repeatable, "%s: repeatable", name)
	}
}

func TestA304HasNoPayload(t *testing.T) {
	var b books
	was, l := &storage.Original{ID: "urn:0"}, storage.Line{Attempt: 1}
	e := Evidence{Exchange: answered(t, ""), Confirmed: was}
	e.Exchange.Status = 304
	e.Describe(&l)
	_, err := b.writer().Write(t.Context(), l, e)
	if r := b.records[0]; err != nil || r.HasPayload || l.Payload != "" || r.NotModified != was {
		t.Errorf("payload %v %q of %v, %v", r.HasPayload, l.Payload, r.NotModified, err)
	}
}

// Lines come before the frontier closes anything: URLs, then hosts by name, even with a cancelled context.
func TestClosedWritesALineForEachURLAndHost(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b books
	u, ah, bh := parse(t, "http://c.test/x"), parse(t, "http://a.test/"), parse(t, "http://b.test/")
	err := Closed(archive{&b}, ledger{&b})(ctx, frontier.Closings{
		URLs:  []frontier.Candidate{{URL: u, Kind: frontier.KindLink, Via: "http://c.test/", Depth: 2}},
		Hosts: map[canon.Authority]int64{bh.Authority(): 3, ah.Authority(): 4},
	})
	want := "begin, refuse, append, refuse, append, refuse, append, sync archive, sync ledger"
	if got := strings.Join(b.calls, ", "); got != want || err != nil {
		t.Fatalf("%s, %v; want %s", got, err, want)
	}
	var got []string
	for _, l := range b.lines {
		got = append(got, l.URL)
		if l.Decision != storage.DecisionRefuse || l.Reason != frontier.ReasonOperator || l.Outcome != "dropped" {
			t.Errorf("%+v", l)
		}
	}
	assert.Equal(t, []string{"http://c.test/x", "http://a.test/", "http://b.test/"}, got)
	if b.lines[0].Count != 0 || b.lines[0].Depth != 2 || b.lines[1].Count != 4 || b.lines[2].Count != 3 {
		t.Errorf("%+v", b.lines)
	}
}

func TestClosedStopsAtTheFirstFailure(t *testing.T) {
	closed := frontier.Closings{Hosts: map[canon.Authority]int64{parse(t, "http://a.test/").Authority(): 4}}
	all := []string{"begin", "refuse", "append", "sync archive", "sync ledger"}
	for i, fail := range all {
		b := books{fail: fail}
		err := Closed(archive{&b}, ledger{&b})(t.Context(), closed)
		if !slices.Equal(b.calls, all[:i+1]) || !errors.Is(err, errFull) {
			t.Errorf("%s fails: %q, %v", fail, b.calls, err)
		}
	}
}

func TestNothingClosedWritesNothing(t *testing.T) {
	var b books
	cs := []frontier.Candidate{{URL: parse(t, "http://a.test/")}, {URL: parse(t, "http://b.test/")}}
	err := errors.Join(
		Closed(archive{&b}, ledger{&b})(t.Context(), frontier.Closings{}),
		Quarantined(t.Context(), archive{&b}, ledger{&b}, nil),
		Barred(t.Context(), archive{&b}, ledger{&b}, cs, frontier.Added{New: 2}),
	)
	require.NoError(t, err)
	assert.Empty(t, b.calls)
	err = Barred(t.Context(), archive{&b}, ledger{&b}, cs, frontier.Added{Barred: []int{1}})
	if err != nil || len(b.lines) != 1 || b.lines[0].URL != "http://b.test/" {
		t.Errorf("%+v, %v", b.lines, err)
	}
}
