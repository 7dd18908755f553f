package durable_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"

	"curtsy/storage/durable"
)

func TestNamesOfADirectoryThatIsNotThereAreAnError(t *testing.T) {
	dir := t.TempDir()
	if err := durable.Names(dir); err != nil {
		t.Error(err)
	}
	err := durable.Names(filepath.Join(dir, "none"))
	if runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
