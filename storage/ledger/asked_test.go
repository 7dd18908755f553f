package ledger

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

// A text of the web must not pass for a field.
func TestAsked_CountsLines(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, SegmentSize: 2000})
	for i := range 200 {
		l := storage.Line{
			Time: time.Unix(int64(i), 0), URL: fmt.Sprintf("http://a.test/%d", i), Decision: []storage.Decision{"allow", "robots", "refuse"}[i%3],
			Reason: `,"record":"x","status":200,"octets":7,"decision":"robots"`,
		}
		if i%3 < 2 && i%5 > 0 {
			l.Record, l.Octets, l.Began = fmt.Sprintf("urn:uuid:%d", i), int64(i), l.Time
		}
		if i%2 == 0 {
			l.Status, l.Type = 200, []string{"text/html", "image/png", ""}[i%3]
		}
		require.NoError(t, w.Append(t.Context(), l))
	}
	require.NoError(t, w.Close())
	want := storage.Asked{Kinds: map[string]int64{}}
	for l, err := range Read(dir) {
		require.NoError(t, err)
		if l.Record == "" {
			continue
		}
		want.Exchanges++
		want.Octets += l.Octets
		if l.Status > 0 {
			want.Answers++
			for _, kind := range storage.KindsOfAnswer(l.Status, l.Type) {
				want.Kinds[kind]++
			}
		}
		if l.Decision == "robots" {
			want.Robots++
		}
	}
	got, err := Asked(dir, time.Time{})
	if err != nil || !reflect.DeepEqual(got, want) || want.Exchanges == 0 || want.Answers == want.Exchanges || want.Robots == 0 {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if got, err := Asked(t.TempDir(), time.Time{}); err != nil || got.Exchanges+got.Octets+int64(len(got.Kinds)) != 0 {
		t.Errorf("a ledger without a line: %+v, %v", got, err)
	}
}
