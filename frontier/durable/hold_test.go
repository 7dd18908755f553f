package durable

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAFolderIsHeldByOneAtATime(t *testing.T) {
	dir := t.TempDir()
	other, err := Hold(t.TempDir())
	require.NoError(t, err)
	defer other.Close()
	for range 3 {
		held, err := Hold(dir)
		require.NoError(t, err)
		if _, err := Hold(dir); !errors.Is(err, ErrHeld) {
			t.Errorf("it is held twice: %v", err)
		}
		assert.NoError(t, held.Close())
	}
	if _, err := Hold(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
