//go:build unix

package durable_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"curtsy/frontier/durable"

	"github.com/stretchr/testify/assert"
)

// Opening a pipe would block until another process opens its other end.
func TestOpen_DoesNotBlockOnPipes(t *testing.T) {
	dir := t.TempDir()
	pipe, sock := filepath.Join(dir, "pipe"), filepath.Join(dir, "s")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip(err)
	}
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	for way, open := range openings {
		for path, what := range map[string]string{pipe: "a named pipe", sock: "a socket", os.DevNull: "a device"} {
			f, err := open(path)
			if err == nil {
				f.Close()
			}
			assert.Truef(t, errors.Is(err, durable.ErrForeign) && strings.Contains(err.Error(), what), "%s %s: %v", way, path, err)
		}
	}
	err = durable.Inspect(dir)
	assert.True(t, errors.Is(err, durable.ErrForeign) && strings.Contains(err.Error(), pipe), err)
}
