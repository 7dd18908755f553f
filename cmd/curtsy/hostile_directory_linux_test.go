package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// touches records the names that are opened, made or renamed in a directory (inotify(7)).
type touches struct {
	t  *testing.T
	fd int

	mu    sync.Mutex
	dirs  map[int32]string
	names map[string]bool
}

func watch(t *testing.T, dir string, folders ...string) *touches {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	w := &touches{t: t, fd: fd, dirs: map[int32]string{}, names: map[string]bool{}}
	for _, f := range append([]string{"."}, folders...) {
		wd, err := syscall.InotifyAddWatch(fd, filepath.Join(dir, f), syscall.IN_OPEN|syscall.IN_CREATE|syscall.IN_MOVED_TO|syscall.IN_MOVED_FROM|syscall.IN_DELETE)
		require.NoError(t, err)
		w.dirs[int32(wd)] = f
	}
	go w.read()
	return w
}

func (w *touches) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := syscall.Read(w.fd, buf)
		if err != nil || n <= 0 {
			return
		}
		w.mu.Lock()
		for b := buf[:n]; len(b) >= syscall.SizeofInotifyEvent; {
			size := int(binary.NativeEndian.Uint32(b[12:]))
			name := strings.TrimRight(string(b[16:16+size]), "\x00")
			if dir, ok := w.dirs[int32(binary.NativeEndian.Uint32(b))]; ok && name != "" {
				w.names[filepath.ToSlash(filepath.Join(dir, name))] = true
			}
			b = b[16+size:]
		}
		w.mu.Unlock()
	}
}

// The list of planted names covers all that the commands use.
func TestHostileDirectory_ListIsComplete(t *testing.T) {
	t.Parallel()
	dir, web := stopped(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "mirror"), 0o777))
	w := watch(t, dir, "warc", "ledger", "index")
	for _, args := range commandsOn(dir, t.TempDir(), web.LoopbackURL("bakery.test")) {
		inside(t, args...)
	}
	last := filepath.Join(dir, "the-last")
	require.NoError(t, os.WriteFile(last, nil, 0o666))
	for { // until all events are read
		w.mu.Lock()
		if w.names["the-last"] {
			break
		}
		w.mu.Unlock()
	}
	defer w.mu.Unlock()
	// Names with random letters, the time, or a digest.
	chance := regexp.MustCompile(`^(index/|ledger/)?\.[^/]+\.[a-z2-7]{8}\.new$|^index/curtsy-sorted-\d+$|^frontier-snapshot-|^frontier\.db\.(rebuilt|update)\.new\d+$|\.damaged-\d{8}T\d{6}Z$|^crawl\.toml\.before-[0-9a-f]{16}$|^the-last$`)
	for name := range w.names {
		if !slices.Contains(plantable, name) && !chance.MatchString(name) {
			t.Errorf("%s is touched and never planted", name)
		}
	}
	assert.GreaterOrEqualf(t, len(w.names), 20, "only %d names were seen", len(w.names))
}
