package durable_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/frontier/durable"
)

func TestFile_WholeOrUnchanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	say := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, e := io.WriteString(w, text)
			return errors.Join(e, err)
		}
	}
	broken := errors.New("broken")
	for _, c := range []struct {
		write func(io.Writer) error
		err   error
		want  string
	}{
		{say("half", broken), broken, ""},
		{say("first", nil), nil, "first"},
		{say("half", broken), broken, "first"},
		{say("second", nil), nil, "second"},
	} {
		if err := durable.File(path, c.write); !errors.Is(err, c.err) || err != nil && !strings.Contains(err.Error(), "page.html:") {
			t.Errorf("%v, want %v", err, c.err)
		}
		b, _ := os.ReadFile(path)
		assert.Truef(t, string(b) == c.want, "%q, want %q", b, c.want)
	}
	names, err := os.ReadDir(dir)
	assert.Truef(t, err == nil && len(names) == 1, "%v, %v: something is left over", names, err)
	none := filepath.Join(dir, "none", "x")
	if err := durable.File(none, say("", nil)); !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(err.Error(), none+": no such file or directory") && runtime.GOOS != "windows" {
		t.Error(err)
	}
	if _, err := os.Stat(os.DevNull); err == nil {
		assert.NoError(t, durable.Output(os.DevNull, say("x", nil)))
		assert.ErrorIs(t, durable.File(os.DevNull, say("x", nil)), durable.ErrForeign)
	}
}

func TestNames_MissingDirectory(t *testing.T) {
	dir := t.TempDir()
	assert.NoError(t, durable.Names(dir))
	err := durable.Names(filepath.Join(dir, "none"))
	assert.True(t, runtime.GOOS == "windows" || errors.Is(err, fs.ErrNotExist), err)
}

// New replaces no file, makes a private one, and of several concurrent calls one succeeds, with a whole file.
func TestNew_ReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "own.key")
	errs := make(chan error)
	for i := range 8 {
		go func() {
			errs <- durable.New(path, func(w io.Writer) error {
				_, err := io.WriteString(w, strings.Repeat(string(rune('a'+i)), 9000))
				return err
			})
		}()
	}
	made := 0
	for range 8 {
		if err := <-errs; err == nil {
			made++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
	}
	b, err := os.ReadFile(path)
	assert.Truef(t, err == nil && made == 1 && len(b) == 9000 && strings.Trim(string(b), string(b[:1])) == "", "%d made, %d bytes, error %v", made, len(b), err)
	fi, err := os.Stat(path)
	assert.Truef(t, err == nil && (runtime.GOOS == "windows" || fi.Mode().Perm() == 0o600), "%v, error %v", fi.Mode(), err)
	failed := errors.New("failed")
	assert.ErrorIs(t, durable.New(filepath.Join(dir, "x"), func(io.Writer) error { return failed }), failed)
	names, err := os.ReadDir(dir)
	assert.Truef(t, err == nil && len(names) == 1, "%v, %v: something is left over", names, err)
}
