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

	"curtsy/frontier/durable"
)

func TestFileIsWrittenWholeOrLeftAsItWas(t *testing.T) {
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
		if b, _ := os.ReadFile(path); string(b) != c.want {
			t.Errorf("%q, want %q", b, c.want)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("%v, %v: something is left over", names, err)
	}
	none := filepath.Join(dir, "none", "x")
	if err := durable.File(none, say("", nil)); !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(err.Error(), none+": no such file or directory") && runtime.GOOS != "windows" {
		t.Error(err)
	}
	if _, err := os.Stat(os.DevNull); err == nil {
		if err := durable.Output(os.DevNull, say("x", nil)); err != nil {
			t.Error(err)
		}
		if err := durable.File(os.DevNull, say("x", nil)); !errors.Is(err, durable.ErrForeign) {
			t.Error(err)
		}
	}
}

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
