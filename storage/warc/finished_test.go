package warc

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hearing checks the size and digest of each complete segment reported.
type hearing struct {
	t   *testing.T
	dir string
	all []string
}

func (h *hearing) finished(name string, octets int64, sum [32]byte) error {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil || int64(len(b)) != octets || sha256.Sum256(b) != sum {
		h.t.Errorf("%s is reported with %d octets of digest %x; it has %d (%v)", name, octets, sum, len(b), err)
	}
	open, _ := filepath.Glob(filepath.Join(h.dir, "*"+openSuffix))
	assert.Truef(h.t, len(open) <= 0, "%s: another segment was started before: %v", name, open)
	h.all = append(h.all, name)
	return nil
}

func TestFinished_ReportsEachSegment(t *testing.T) {
	h := &hearing{t: t, dir: t.TempDir()}
	o := Options{Dir: h.dir, SegmentSize: 2500, Finished: h.finished}
	for range 2 { // the second run adds only its own
		w := open(t, o)
		for i := range 8 {
			write(t, w, simple(i))
			require.NoError(t, w.Refuse(t.Context(), *withDecision(i).Line))
		}
		closing(t, w)
	}
	files := ls(t, h.dir)
	assert.Truef(t, len(files) >= 6 && slices.Equal(h.all, files), "reported %v, there are %v", h.all, files)
	w := open(t, o)
	closing(t, w)
	files = ls(t, h.dir)
	assert.Truef(t, slices.Equal(h.all, files), "a run without an exchange: reported %v, there are %v", h.all, files)
}

func TestFinished_ReportsRepairedSegment(t *testing.T) {
	segment, ends := threeExchanges(t)
	for _, n := range []int64{ends[1], ends[1] + 5, ends[3] - 1, ends[3], 7} {
		h := &hearing{t: t, dir: leave(t, segment[:n])}
		closing(t, open(t, Options{Dir: h.dir, Finished: h.finished}))
		files := ls(t, h.dir)
		assert.Truef(t, slices.Equal(h.all, files), "%d octets: reported %v, there are %v", n, h.all, files)
	}
}

func TestFinished_ErrorEndsWriter(t *testing.T) {
	full := errors.New("no room in the ledger")
	for _, fails := range []int{0, 1} {
		dir, n := t.TempDir(), 0
		w := open(t, Options{Dir: dir, SegmentSize: 2500, Finished: func(string, int64, [32]byte) error {
			if n++; n > fails {
				return full
			}
			return nil
		}})
		var err error
		for i := 0; i < 20 && err == nil; i++ {
			_, err = w.Record(t.Context(), simple(i))
		}
		assert.Truef(t, errors.Is(err, full) && strings.Contains(err.Error(), fmt.Sprintf("-%05d", fails)), "%d reported: %v", fails, err)
		assert.ErrorIs(t, w.Close(), full, "Close")
		assert.Equalf(t, fails+1, len(ls(t, dir)), "%d reported", fails)
		_, err = Open(Options{Dir: leave(t, segmentOf(t)), Name: "crawl", Finished: func(string, int64, [32]byte) error { return full }})
		assert.ErrorIsf(t, err, full, "Open: %v", err)
	}
}

func segmentOf(t *testing.T) []byte {
	segment, _ := threeExchanges(t)
	return segment
}
