package force_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// filling are incompressible URLs of a batch, the same in every process.
func filling(batch int) (urls []string) {
	rnd := rand.NewChaCha8([32]byte{byte(batch)})
	for range 1000 {
		text := make([]byte, 800)
		rnd.Read(text)
		urls = append(urls, fmt.Sprintf("http://h1.test/%x", text))
	}
	return urls
}

// fillUntilLimit fills the file in a child until a limit of the system stops it: that of limitKey, or the file system.
func fillUntilLimit(ctx context.Context, file string) error {
	f, err := openAndReport(file)
	if err != nil {
		return err
	}
	if err := newScript().steps[0](ctx, f); err != nil {
		return err
	}
	if more, err := strconv.ParseUint(os.Getenv(limitKey), 10, 64); err == nil {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		size := uint64(info.Size()) + more
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}); err != nil {
			return err
		}
	}
	for batch := range 100 {
		if _, err := f.Add(ctx, candidates(filling(batch))); err != nil {
			refuse(ctx, f, err)
			return nil
		}
		say("step")
	}
	return f.Close()
}

// runLimited checks that the child was refused with advice, and that all acknowledged URLs are in the file.
func runLimited(t *testing.T, file, advice string, env ...string) (steps int) {
	t.Helper()
	p := ran(t, "", "limit", file, env...)
	require.Truef(t, p.errors.Len() == 0, "child: %s", p.errors.String())
	if p.unpoisoned != "" || !strings.Contains(p.refused, advice) || !strings.Contains(p.refused, file) {
		t.Fatalf("the child was refused for %q, want %q; then %s", p.refused, advice, p.unpoisoned)
	}
	urls := newScript().urls[:firstURLs]
	for batch := range p.steps {
		urls = append(urls, filling(batch)...)
	}
	clean(t, file)
	s := look(t, file, urls)
	for _, u := range urls {
		_, pending := s.pending[u]
		require.Truef(t, pending && s.seen[u], "%.40s is lost", u)
	}
	return p.steps
}

func goesOn(t *testing.T, file string) {
	t.Helper()
	f := mustOpen(t, file)
	added, err := f.Add(t.Context(), candidates([]string{"http://later.test/"}))
	require.NoError(t, err)
	assert.Equalf(t, 1, added.New, "Add afterwards: %+v", added)
	mustClose(t, f)
	clean(t, file)
}

func TestLimit_FileSizeLosesNothing(t *testing.T) {
	limits := []int{0, 4096, 1 << 20, 4 << 20, 5<<20 + 100}
	if !long() {
		limits = []int{0, 5<<20 + 100}
	}
	steps := 0
	for _, n := range limits {
		file := filepath.Join(t.TempDir(), "frontier.db")
		steps += runLimited(t, file, adviceMark, fmt.Sprint(limitKey, "=", n))
		goesOn(t, file)
	}
	t.Logf("limit: %d limits of the file's size, %d calls acknowledged, none lost", len(limits), steps)
}

func TestLimit_FullFileSystemLosesNothing(t *testing.T) {
	steps := 0
	sizesOf := []int{3 << 20, 6 << 20, 9<<20 + 4096}
	if !long() {
		sizesOf = sizesOf[:1]
	}
	for _, size := range sizesOf {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(size)); err != nil {
			if os.Getuid() != 0 {
				t.Skipf("only root may mount a small file system: %v", err)
			}
			cannotMount(t, err)
		}
		t.Cleanup(func() {
			assert.NoError(t, syscall.Unmount(dir, 0))
		})
		file := filepath.Join(dir, "frontier.db")
		steps += runLimited(t, file, "is full: free some space")
		require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size="+strconv.Itoa(math.MaxInt32)))
		goesOn(t, file)
	}
	t.Logf("limit: %d file systems filled, %d calls acknowledged, none lost", len(sizesOf), steps)
}

// cannotMount skips the test where root may not mount, as in a container.
func cannotMount(t *testing.T, err error) {
	t.Helper()
	if err == syscall.EPERM || err == syscall.EACCES {
		t.Skipf("root may not mount here: %v", err)
	}
	cannot(t, "a small file system cannot be mounted: %v", err)
}
