package evidence

import (
	"context"
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

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// An audit of a crawl that runs reads all of the segment that is completed between the listing of the archive and its turn,
// be it the only one or the last.
func TestASegmentMayBeCompletedMeanwhile(t *testing.T) {
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
		if err != nil || (len(files) > 1) != (exchanges > 1) {
			t.Fatalf("%d segments: %v", len(files), err)
		}
		files[len(files)-1] += unfinished // as they were listed
		var got []string
		rd := NewReader(Options{Files: files, Ours: true}, func(finding.Finding) {})
		err = rd.Each(t.Context(), func(_ context.Context, ev Event) error {
			if ev.Exchange != nil {
				got = append(got, ev.Exchange.Exchange.URL)
			}
			return nil
		})
		if err != nil || len(got) != exchanges || !slices.IsSorted(got) {
			t.Errorf("%q of %d exchanges: %v", got, exchanges, err)
		}
		require.NoError(t, os.Remove(strings.TrimSuffix(files[0], unfinished)))
		assert.Error(t, NewReader(Options{Files: files, Ours: true}, func(finding.Finding) {}).Each(t.Context(), nil), "a file that is not there is no error")
	}
}
