package reconcile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// minute is an instant of a day.
func minute(n int) time.Time { return time.Date(2026, 5, 3, 12, n, 0, 0, time.UTC) }

// A mark explains a record without its body, if it has the blocks of the line and nothing else differs; no other record,
// and no other difference.
func TestAMarkExplainsABodyAndNothingElse(t *testing.T) {
	const id, blocks = "urn:uuid:1", "b10c"
	line := storage.Line{Record: id, URL: "http://a.test/", Began: minute(0), Status: 200, Payload: "ab", Blocks: blocks, Heads: "4ead",
		Decision: storage.DecisionAllow, Octets: 100}
	told := line
	told.Payload, told.Blocks = "", ""
	record := func() *evidence.Exchange {
		return &evidence.Exchange{URL: line.URL, Place: finding.Place{Record: id}, Began: line.Began, Status: 200, Answered: true, Octets: 40,
			Line: &told, Cut: "unspecified", Blocks: "other", Heads: "4ead"}
	}
	mark := func(r ledger.Redaction) *ledger.Mark {
		return &ledger.Mark{Kind: ledger.KindRedaction, Time: minute(1), Redaction: &r}
	}
	bodies := ledger.Redaction{Extent: ledger.ExtentBodies, Records: []ledger.RedactedRecord{{ID: id, Blocks: blocks}}}
	for _, c := range []struct {
		what string
		mark *ledger.Mark
		do   func(l *storage.Line, e *evidence.Exchange)
		want bool
	}{
		{"as the mark says", mark(bodies), func(*storage.Line, *evidence.Exchange) {}, true},
		{"no mark", &ledger.Mark{Kind: ledger.KindStop, Time: minute(1)}, func(*storage.Line, *evidence.Exchange) {}, false},
		{"a mark of another record", mark(ledger.Redaction{Extent: ledger.ExtentBodies, Records: []ledger.RedactedRecord{{ID: "urn:uuid:2", Blocks: blocks}}}), func(*storage.Line, *evidence.Exchange) {}, false},
		{"a mark of other blocks", mark(ledger.Redaction{Extent: ledger.ExtentBodies, Records: []ledger.RedactedRecord{{ID: id, Blocks: "x"}}}), func(*storage.Line, *evidence.Exchange) {}, false},
		{"a mark that the record is gone", mark(ledger.Redaction{Extent: ledger.ExtentAll, Records: bodies.Records}), func(*storage.Line, *evidence.Exchange) {}, false},
		{"another body in its place", mark(bodies), func(_ *storage.Line, e *evidence.Exchange) { e.Cut, e.Payload = "", "sha256:cd" }, false},
		{"another head", mark(bodies), func(_ *storage.Line, e *evidence.Exchange) { e.Heads = "5ead" }, false},
		{"another status", mark(bodies), func(_ *storage.Line, e *evidence.Exchange) { e.Status = 404 }, false},
		{"another time", mark(bodies), func(_ *storage.Line, e *evidence.Exchange) { e.Began = minute(2) }, false},
		{"another line", mark(bodies), func(l *storage.Line, _ *evidence.Exchange) { l.Decision = storage.DecisionRobots }, false},
	} {
		var r redacted
		r.mark(c.mark)
		l, e := line, record()
		c.do(&l, e)
		a, b := lineRow("segment 0 line 1", &l), recordRow(e)
		require.NotEmptyf(t, differences(&a, &b), "%s: nothing differs", c.what)
		if got := r.body(&a, &b); got != c.want {
			t.Errorf("%s: explained %v (%s)", c.what, got, differences(&a, &b))
		}
	}
}

// Lines that were taken away are of about the time of their neighbours, and of no other.
func TestStubsAreOfTheTimeOfTheirNeighbours(t *testing.T) {
	var r redacted
	r.time(minute(10))
	r.stub()
	r.stub()
	r.time(minute(12))
	r.time(minute(20))
	for at, want := range map[int]bool{5: false, 10: true, 11: true, 12: true, 15: false, 20: false} {
		assert.Equalf(t, want, r.within(minute(at), minute(at)), "minute %d", at)
	}
	if !r.within(minute(5), minute(11)) || r.within(minute(13), minute(30)) {
		t.Error("a stretch of time is not what it holds")
	}
	var none redacted
	none.time(minute(1))
	assert.False(t, none.within(minute(0), minute(2)), "nothing was taken away")
}

// Each takedown is named once, however many marks it has, and is no violation.
func TestEachTakedownIsNamedOnce(t *testing.T) {
	var r redacted
	for i, subject := range []string{"a", "a", "b"} {
		r.mark(&ledger.Mark{Kind: ledger.KindRedaction, Time: minute(i), Redaction: &ledger.Redaction{Extent: ledger.ExtentAll,
			Subject: subject, Reason: "by mail", Records: make([]ledger.RedactedRecord, 2), Entries: make([]int64, 3)}})
	}
	var said []string
	r.tell("ledger", func(f finding.Finding) {
		if f.Code != finding.TakenDown || !f.Note {
			t.Errorf("%+v", f)
		}
		said = append(said, f.Observed)
	})
	if len(said) != 2 || said[0] != `4 requests and 6 lines; the reason: "by mail"` || said[1] != `2 requests and 3 lines; the reason: "by mail"` {
		t.Errorf("%q", said)
	}
}
