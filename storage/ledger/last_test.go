package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func TestLastReadsTheLastTwoSegments(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, SegmentSize: 2000})
	var want []string
	for i := range 60 {
		l := storage.Line{Time: time.Unix(int64(i), 0), URL: fmt.Sprintf("http://a.test/%d", i), Decision: "allow", Reason: `,"rest_ms":5`}
		if i%3 == 0 {
			l.Rest, l.RestBy = time.Duration(i+1)*time.Second, "retry-after"
			want = append(want, l.URL)
		}
		if i%3 == 1 { // half of them pages
			l.Outcome, l.Status, l.Record, l.Type = storage.OutcomeFetched, 200, "urn:uuid:1", []string{"text/html", "image/png"}[i%2]
			if l.IsPage() {
				want = append(want, l.URL)
			}
		}
		require.NoError(t, w.Append(t.Context(), l))
	}
	require.NoError(t, w.Close())
	var got []string
	for l, err := range Last(dir) {
		require.NoError(t, err)
		got = append(got, l.URL)
	}
	if len(got) < 3 || len(got) == len(want) || !slices.Equal(got, want[len(want)-len(got):]) {
		t.Errorf("%q of %q", got, want)
	}
	for range Last(t.TempDir()) {
		t.Error("a ledger without a line has a rest")
	}
}

func TestTold_FindsMarkedFiles(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, SegmentSize: 2000})
	sum := strings.Repeat("0", 64)
	for i := range 60 {
		err := w.Append(t.Context(), storage.Line{Time: time.Unix(int64(i), 0), URL: fmt.Sprintf("http://a.test/%d", i), Decision: "allow",
			Reason: `{"mark":"file","name":"warc/none"`})
		if i%20 == 1 {
			err = errors.Join(err, w.File(t.Context(), fmt.Sprintf("warc/%d", i), 1, sum))
		}
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	marked, err := Told(dir, "warc/1", "warc/41", "warc/none", "warc/4")
	if err != nil || len(marked) != 2 || !marked["warc/1"] || !marked["warc/41"] {
		t.Errorf("%v %v", marked, err)
	}
	if marked, err := Told(t.TempDir(), "warc/1"); err != nil || len(marked) > 0 {
		t.Errorf("without a ledger: %v %v", marked, err)
	}
}
