package force_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
)

// limited fills the file until a limit of the system stops it: limitKey is by how many octets it may still grow, when it
// may not grow as large as its file system.
func limited(ctx context.Context, c *child) error {
	if err := c.open(options()); err != nil {
		c.about(event{Kind: refused, Text: err.Error()})
		return nil
	}
	if err := c.addRange(ctx, 0, 100); err != nil {
		return err
	}
	if err := c.turn(ctx, 1); err != nil {
		return err
	}
	c.about(event{Kind: armed})
	if more, err := strconv.ParseUint(os.Getenv(limitKey), 10, 64); err == nil {
		info, err := os.Stat(c.file)
		if err != nil {
			return err
		}
		size := uint64(info.Size()) + more
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}); err != nil {
			return err
		}
	}
	w, long := &worker{child: c}, make([]byte, 800)
	for range 100 {
		var urls []string
		for range 1000 {
			rand.Read(long)
			urls = append(urls, fmt.Sprintf("http://h1.test/%x", long)) // nothing to compress: the file grows fast
		}
		if err := w.add(ctx, urls); err != nil {
			c.refuse(ctx, err)
			return nil
		}
	}
	return c.f.Close()
}

// runLimited runs the child and checks that it was refused for a reason that tells what to do.
func runLimited(t *testing.T, file, advice string, env ...string) *verdict {
	t.Helper()
	v := &verdict{model: newModel()}
	p := start(t, "", "limit", file, 1, v.hear, env...)
	if err := p.wait(); err != nil || p.errors.Len() > 0 {
		t.Fatalf("child: %v\n%s", err, p.errors.String())
	}
	if v.refused == "" || !strings.Contains(v.refused, advice) {
		t.Fatalf("the child was refused for %q, want %q", v.refused, advice)
	}
	v.judge(t, file, false)
	return v
}

// goesOn opens the file once more and enters something.
func goesOn(t *testing.T, file string) {
	t.Helper()
	f, err := bolt.Open(file, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	added, err := f.Add(t.Context(), candidates([]string{"http://later.test/"}))
	if err != nil || added.New != 1 {
		t.Errorf("Add afterwards: %+v, %v", added, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	clean(t, file)
}

func TestLimit_AFileThatMayNotGrowIsAnErrorAndNothingIsLost(t *testing.T) {
	limits := []int{0, 4096, 1 << 20, 4 << 20, 5<<20 + 100}
	if !long() {
		limits = []int{0, 5<<20 + 100}
	}
	total := tally{}
	for _, n := range limits {
		file := filepath.Join(t.TempDir(), "frontier.db")
		v := runLimited(t, file, "then continue", fmt.Sprint(limitKey, "=", n))
		total.add(v.tally)
		goesOn(t, file)
	}
	t.Logf("limit: %d limits of the file's size, %d calls acknowledged, lost %d", len(limits), total.acknowledged, total.lost)
}

func TestLimit_AFullFileSystemIsAnErrorAndNothingIsLost(t *testing.T) {
	total := tally{}
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
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
		file := filepath.Join(dir, "frontier.db")
		v := runLimited(t, file, "is full: free some space")
		total.add(v.tally)
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size="+strconv.Itoa(math.MaxInt32)); err != nil {
			t.Fatal(err)
		}
		goesOn(t, file)
	}
	t.Logf("limit: %d file systems filled, %d calls acknowledged, lost %d", len(sizesOf), total.acknowledged, total.lost)
}

// cannotMount skips the test where root may not mount, in a container say. Elsewhere it must.
func cannotMount(t *testing.T, err error) {
	t.Helper()
	if err == syscall.EPERM || err == syscall.EACCES {
		t.Skipf("root may not mount here: %v", err)
	}
	cannot(t, "a small file system cannot be mounted: %v", err)
}
