package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"curtsy/storage"
)

// Rests finds what says a rest in the last two segments, be they packed, torn or damaged, in order and nothing else. A
// text of the web cannot pass for one.
func TestRestsAreThoseOfTheLastTwoSegments(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(Options{Dir: dir, SegmentSize: 2000})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 60 {
		l := storage.Line{Time: time.Unix(int64(i), 0), URL: fmt.Sprintf("http://a.test/%d", i), Decision: "allow", Reason: `,"rest_ms":5`}
		if i%3 == 0 {
			l.Rest, l.RestBy = time.Duration(i+1)*time.Second, "retry-after"
			want = append(want, l.URL)
		}
		if err := w.Append(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for l, err := range Rests(dir) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l.URL)
	}
	if len(got) < 3 || len(got) == len(want) || !slices.Equal(got, want[len(want)-len(got):]) {
		t.Errorf("%q of %q", got, want)
	}
	for range Rests(t.TempDir()) {
		t.Error("a ledger without a line says a rest")
	}
}
