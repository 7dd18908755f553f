package forgery

import (
	"archive/zip"
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/proof"
)

// elsewhere is the evidence of the crawl in dir, with a ledger of the same operator that says of a page what the crawl's
// does not.
func elsewhere(t *testing.T, dir string) *evidence {
	e := readEvidence(t, dir)
	e.value(e.lineOf(e.of(bread)), "depth", "7")
	e.resign()
	return e
}

// headsOf is the head that a note is.
func headsOf(t *testing.T, note string) []checkpoint.Checkpoint {
	t.Helper()
	n, err := checkpoint.Parse([]byte(note))
	require.NoError(t, err)
	return []checkpoint.Checkpoint{n.Checkpoint}
}

// bundleOf makes the bundle of a site of the crawl in dir, which must hold under the operator's key, and returns its
// checkpoint.
func bundleOf(t *testing.T, dir string) string {
	t.Helper()
	g, err := proof.Of(t.Context(), proof.Crawl{Ledger: filepath.Join(dir, "ledger"), Archive: filepath.Join(dir, "warc"),
		Index: []string{filepath.Join(dir, filepath.FromSlash(index))}, TempDir: t.TempDir()}, "bakery.test")
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = proof.Make(t.Context(), &b, g.Source)
	require.NoError(t, err)
	require.NoError(t, g.Close())
	r, err := proof.Verify(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), proof.Options{Key: operatorKey.Key()})
	require.NoError(t, err)
	if !r.Holds || r.Level != proof.Signed || r.Summary.Lines < 5 {
		t.Errorf("the bundle does not hold by itself: %+v", r)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	f, err := z.Open("checkpoint")
	require.NoError(t, err)
	note, err := io.ReadAll(f)
	require.NoError(t, err)
	return string(note)
}
