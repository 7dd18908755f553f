package export

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/tables/sink"
)

func TestWrite_AFileIsCompleteOrNotThere(t *testing.T) {
	dir := crawled(t, newWeb(t, map[string]string{"/": "<title>Bakery</title>"}), "bakery")
	in, err := Open(t.Context(), t.TempDir(), dir)
	require.NoError(t, err)
	defer in.Close()
	out, whole, killed := filepath.Join(t.TempDir(), "out"), Sources()[0], errors.New("killed")
	path := filepath.Join(out, "pages.jsonl")
	broken := whole
	broken.Rows = func(ctx context.Context, in *Inputs, to *Out) error {
		err := whole.Rows(ctx, in, to)
		_, there := os.Stat(path)
		assert.Truef(t, errors.Is(there, fs.ErrNotExist) && to.Rows != 0, "after %d rows: %v", to.Rows, there)
		return errors.Join(err, killed)
	}
	for _, s := range []Source{broken, whole} {
		m, err := Write(t.Context(), in, Options{Dir: out, Format: sink.JSONL, Sources: []Source{s}})
		assert.Truef(t, (s.Count == nil || m == nil || m.Tables[0].Check.Agrees()) && (m != nil || errors.Is(err, killed)), "%+v, %v", m, err)
		left, err := filepath.Glob(filepath.Join(out, "*.jsonl"))
		assert.Truef(t, err == nil && len(left) == map[bool]int{true: 1}[m != nil], "%q, %v", left, err)
	}
}
