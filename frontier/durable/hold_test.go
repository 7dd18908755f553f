package durable

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHold_OneCallerAtATime(t *testing.T) {
	dir := t.TempDir()
	other, err := Hold(t.TempDir())
	require.NoError(t, err)
	defer other.Close()
	for range 3 {
		held, err := Hold(dir)
		require.NoError(t, err)
		_, err = Hold(dir)
		assert.ErrorIs(t, err, ErrHeld, "it is held twice")
		assert.NoError(t, held.Close())
	}
	_, err = Hold(filepath.Join(dir, "none"))
	assert.ErrorIs(t, err, fs.ErrNotExist, "no folder")
}
