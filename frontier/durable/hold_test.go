package durable

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
)

func TestAFolderIsHeldByOneAtATime(t *testing.T) {
	dir := t.TempDir()
	other, err := Hold(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for range 3 {
		held, err := Hold(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Hold(dir); !errors.Is(err, ErrHeld) {
			t.Errorf("it is held twice: %v", err)
		}
		if err := held.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Hold(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
