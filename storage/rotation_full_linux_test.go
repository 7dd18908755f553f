package storage_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Wherever a disk is full around the end of a segment of the archive and the packing of one of the ledger, the error says so
// and what happens next, and when there is room again nothing is missing.
func TestAFullDiskAroundRotationAndPacking(t *testing.T) {
	s, size := smallSizes, "3m"
	if os.Getenv("CURTSY_LONG") != "" {
		s, size = fullSizes, "1500m"
	}
	one := s.body + s.tag
	lefts := []int{7 * one, 8 * one, 9 * one, 12 * one, 12*one + int(s.ledger)/8, 12*one + int(s.ledger)/2, 20*one + int(s.ledger)/2}
	reached := 0
	for _, left := range lefts {
		dir := t.TempDir()
		if err := syscall.Mount("curtsy", dir, "tmpfs", 0, "size="+size); err != nil {
			t.Skipf("no disk of %s can be mounted, which takes root: %v", size, err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }) // below it is gone already if all went well
		ballast := filepath.Join(dir, "ballast")
		n, failed := trial(t, dir, s == fullSizes, func() { leave(t, dir, ballast, left) }, func(int) bool { return false })
		t.Logf("%d left: %d kept; %.600s; %q %q", left, n, failed, names(t, filepath.Join(dir, "warc")), names(t, filepath.Join(dir, "ledger")))
		if failed != "" {
			reached++
			if !strings.Contains(failed, "no space left on device") || !strings.Contains(failed, "the next open ") {
				t.Errorf("%d left: %s", left, failed)
			}
		}
		require.NoError(t, os.Remove(ballast))
		whole(t, dir, s, n)
		require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH))
	}
	assert.GreaterOrEqualf(t, reached, 5, "the disk was full %d times", reached)
}

// leave fills the disk of dir so far that so many bytes are left.
func leave(t *testing.T, dir, ballast string, left int) {
	t.Helper()
	var fs syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir, &fs))
	f, err := os.Create(ballast)
	require.NoError(t, err)
	defer f.Close()
	for fill := int64(fs.Bavail)*fs.Bsize - int64(left); fill > 0; fill -= 1 << 20 {
		if _, err := f.Write(make([]byte, min(fill, 1<<20))); err != nil {
			t.Fatal(err)
		}
	}
}
