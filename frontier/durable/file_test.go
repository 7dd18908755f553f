package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func say(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

// The folder is synced after the rename, and an error of that is reported.
func TestFile_SyncsFolderAfterRename(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	var synced []string
	failed := errors.New("failed")
	err := replace(path, 0o666, say("whole"), func(dir string) error {
		b, err := os.ReadFile(path)
		synced = append(synced, dir, string(b))
		return errors.Join(err, failed)
	})
	assert.Truef(t, errors.Is(err, failed) && slices.Equal(synced, []string{dir, "whole"}), "%v, synced %q", err, synced)
	err = replace(path, 0o666, func(io.Writer) error { return failed }, func(string) error {
		t.Error("synced though nothing was written")
		return nil
	})
	b, _ := os.ReadFile(path)
	assert.Truef(t, errors.Is(err, failed) && string(b) == "whole", "%v, %q", err, b)
}

// The draft of a killed File is removed by the next one of its path; drafts in use, and similar names, stay.
func TestFile_RemovesAbandonedDrafts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.wacz")
	kept := []string{".x.wacz.abcdefg.new", ".x.wacz.abcdefgh", ".x.wacz.ABCDEFGH.new", ".y.x.wacz.abcdefgh.new", "x.wacz.abcdefgh.new"}
	for _, name := range append(kept, ".x.wacz.abcdefgh.new", ".x.wacz.22222222.new") {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	var other *os.File
	err := replace(path, 0o666, func(w io.Writer) error {
		var err error
		if other, err = draft(path, 0o666); err != nil { // another process, at the same time
			return err
		}
		return say("x")(w)
	}, Names)
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, File(path, say("y")))
	want := append(kept, "x.wacz", filepath.Base(other.Name()))
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	slices.Sort(want)
	assert.Truef(t, err == nil && slices.Equal(left, want), "%v, %v is left, want %v", err, left, want)
}
