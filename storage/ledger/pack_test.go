package ledger

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func packing(before func() error) system {
	sys := realSystem()
	sys.rename = func(from, to string) error {
		if strings.HasSuffix(to, packedSuffix) {
			if err := before(); err != nil {
				return err
			}
		}
		return os.Rename(from, to)
	}
	return sys
}

func TestAppendDoesNotWaitForPacking(t *testing.T) {
	appended := make(chan struct{})
	sys := packing(func() error { <-appended; return nil })
	dir := t.TempDir()
	w, err := openOn(Options{Dir: dir, SegmentSize: 1}, sys)
	require.NoError(t, err)
	var want []string
	for i := range 5 {
		l := numbered(i)
		want = append(want, l.URL)
		write(t, w, l)
		require.NoError(t, w.Sync(t.Context()))
		equal(t, "URLs meanwhile", urls(t, dir), want)
	}
	close(appended)
	closing(t, w)
	equal(t, "URLs", urls(t, dir), want)
	equal(t, "files", ls(t, dir), []string{"000000.jsonl.zst", "000001.jsonl.zst", "000002.jsonl.zst", "000003.jsonl.zst", "000004.jsonl"})
}

func TestPackingFails(t *testing.T) {
	full := errors.New("disk full")
	sys := packing(func() error { return full })
	dir := t.TempDir()
	w, err := openOn(Options{Dir: dir, SegmentSize: 1}, sys)
	require.NoError(t, err)
	write(t, w, numbered(0), numbered(1), numbered(2))
	if err := w.Close(); !errors.Is(err, full) || !strings.Contains(err.Error(), "000000.jsonl") {
		t.Errorf("close: %v", err)
	}
	equal(t, "files", ls(t, dir), []string{"000000.jsonl", "000001.jsonl", "000002.jsonl"})
	problems, entries := scanned(t, dir)
	assert.Empty(t, problems)
	closing(t, open(t, Options{Dir: dir, SegmentSize: 1}))
	equal(t, "files", ls(t, dir), []string{"000000.jsonl.zst", "000001.jsonl.zst", "000002.jsonl"})
	if p, e := scanned(t, dir); len(p) > 0 || !slices.Equal(e, entries) {
		t.Errorf("%v %q, want %q", p, e, entries)
	}
}
