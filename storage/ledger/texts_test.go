package ledger

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextsAreTheLinesOfScan(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, SegmentSize: 4 << 10})
	for i := range 100 {
		write(t, w, numbered(i))
	}
	closing(t, w)
	var want [][]byte
	for e, err := range Skim(dir) {
		require.NoError(t, err)
		require.Nil(t, e.Problem)
		want = append(want, bytes.Clone(e.Text))
	}
	n := 0
	for x, err := range Texts(dir) {
		if err != nil || x.Index != int64(n) || n >= len(want) || !bytes.Equal(x.Line, want[n]) {
			t.Fatalf("line %d: entry %d, %s, %v", n, x.Index, x.Line, err)
		}
		n++
	}
	if n != len(want) || n < 100 {
		t.Errorf("%d lines, want %d", n, len(want))
	}
	for x, err := range Texts(dir) { // a reader may have enough
		if x.Index == 50 || err != nil {
			break
		}
	}
}
