package crawldir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger/checkpoint"
)

func noteOf(t *testing.T, origin string, size int64) *checkpoint.Note {
	t.Helper()
	s, err := checkpoint.NewSigner(make([]byte, 32))
	require.NoError(t, err)
	b, err := s.Sign(checkpoint.Checkpoint{Origin: origin, Size: size})
	require.NoError(t, err)
	n, err := checkpoint.Parse(b)
	require.NoError(t, err)
	return n
}

func TestHeads_KeepTheNewestOfEachLedger(t *testing.T) {
	t.Parallel()
	h := HeadsBeside(filepath.Join(t.TempDir(), "curtsy", "ledger.key"))
	got, err := h.Of("curtsy-1/a")
	assert.Truef(t, got == nil && err == nil, "%+v %v of nothing", got, err)
	for _, n := range []*checkpoint.Note{noteOf(t, "curtsy-1/a", 3), noteOf(t, "curtsy-1/b", 7), noteOf(t, "curtsy-1/a", 9)} {
		require.NoError(t, h.Keep("/crawls/"+n.Origin, n))
	}
	for origin, size := range map[string]int64{"curtsy-1/a": 9, "curtsy-1/b": 7} {
		got, err := h.Of(origin)
		require.Truef(t, err == nil && got.Size == size && got.Origin == origin && got.Dir == "/crawls/"+origin && len(got.Signatures) == 1, "%s: %+v %v", origin, got, err)
		at, file, err := h.At(got.Dir)
		assert.Truef(t, err == nil && at == origin && file != "", "%s: %+v %v", got.Dir, at, err)
		fi, err := os.Stat(got.File)
		assert.Truef(t, err == nil && fi.Mode().Perm()&0o077 == 0, "%v %v", fi, err)
		require.NoError(t, os.WriteFile(got.File, []byte("{}"), 0o600))
		got, err = h.Of(origin)
		assert.Errorf(t, err, "a damaged file is read as %+v", got)
	}
	require.NoError(t, h.Begin("/crawls/curtsy-1/a", "curtsy-1/c"))
	at, _, err := h.At("/crawls/curtsy-1/a")
	require.NoError(t, err)
	require.Equal(t, "curtsy-1/c", at)
}

func TestLedgerSigner_AKeyThatCannotBeMadeIsAnError(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, t.TempDir())
	}
	path, err := LedgerKey.Path()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	require.NoError(t, err)
	if err := os.Symlink("nowhere", path); err != nil {
		t.Skip("no symbolic links:", err)
	}
	signer, _, err := LedgerSigner(true)
	assert.Errorf(t, err, "made: %v without an error", signer)
	signer, _, err = LedgerSigner(false)
	assert.Truef(t, signer == nil && err == nil, "read: %v, %v", signer, err)
}
