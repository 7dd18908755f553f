package warc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExchangeAllocatesItsIDs(t *testing.T) {
	w := open(t, Options{Dir: t.TempDir()})
	defer closing(t, w)
	p, err := w.compressor() // not from the pool each time: the race detector has that forget
	require.NoError(t, err)
	ctx, r := t.Context(), withDecision(1)
	if n := testing.AllocsPerRun(100, func() {
		if p.ex.prepare(ctx, p, w, &r) != nil || p.spool.Reset() != nil || p.ex.compress(ctx, p, "urn:x:1") != nil {
			t.Fail()
		}
	}); n != 2 {
		t.Errorf("%v allocations for an exchange with three records, not 2", n)
	}
}
