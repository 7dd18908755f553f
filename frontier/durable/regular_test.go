package durable_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/durable"
)

// secret is the content of files outside of the folder, which must be neither read nor changed.
const secret = "outside"

var openings = map[string]func(path string) (*os.File, error){
	"open":   durable.Open,
	"create": durable.Create,
	"append": func(path string) (*os.File, error) {
		return durable.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	},
	"edit": func(path string) (*os.File, error) { return durable.OpenFile(path, os.O_RDWR, 0) },
	"exclusive": func(path string) (*os.File, error) {
		return durable.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	},
}

// outside returns a folder in another one that also has a file and a folder.
func outside(t *testing.T) (dir, file, folder string) {
	t.Helper()
	top := t.TempDir()
	dir, file, folder = filepath.Join(top, "dir"), filepath.Join(top, "file"), filepath.Join(top, "folder")
	for _, err := range []error{os.Mkdir(dir, 0o777), os.Mkdir(folder, 0o777), os.WriteFile(file, []byte(secret), 0o666)} {
		require.NoError(t, err)
	}
	return dir, file, folder
}

func TestOpen_FollowsNoLink(t *testing.T) {
	for way, open := range openings {
		for _, to := range []string{"file", "folder", "nothing", "inside"} {
			dir, file, _ := outside(t)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "inside"), []byte(secret), 0o666))
			target := filepath.Join(filepath.Dir(file), to)
			if to == "inside" {
				target = to
			}
			path := filepath.Join(dir, "x")
			if err := os.Symlink(target, path); err != nil {
				t.Skip(err)
			}
			f, err := open(path)
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, durable.ErrForeign) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "symbolic link") {
				t.Errorf("%s, a link to %s: %v", way, to, err)
			}
			for _, there := range []string{file, filepath.Join(dir, "inside")} {
				b, err := os.ReadFile(there)
				assert.Truef(t, err == nil && string(b) == secret, "%s, a link to %s: %s holds %q now, %v", way, to, there, b, err)
			}
			_, err = os.Lstat(filepath.Join(filepath.Dir(file), "nothing"))
			assert.Errorf(t, err, "%s, a link to %s: a file was created outside", way, to)
		}
	}
}

// A file with another name elsewhere may be read; a new one takes only its name; it is not written to.
func TestOpenFile_DoesNotWriteThroughHardLinks(t *testing.T) {
	for way, open := range openings {
		dir, file, _ := outside(t)
		path := filepath.Join(dir, "x")
		if err := os.Link(file, path); err != nil {
			t.Skip(err)
		}
		f, err := open(path)
		if err == nil {
			_, _ = f.WriteString("inside")
			f.Close()
		}
		want := map[string]error{"append": durable.ErrForeign, "edit": durable.ErrForeign, "exclusive": fs.ErrExist}[way]
		assert.ErrorIs(t, err, want, way)
		b, err := os.ReadFile(file)
		assert.Truef(t, err == nil && string(b) == secret, "%s: the other file holds %q, %v", way, b, err)
		if b, err := os.ReadFile(path); way == "create" && (err != nil || string(b) != "inside") {
			t.Errorf("%s: %q, %v", way, b, err)
		}
	}
}

// Two names of one file in one folder are allowed: an update keeps the old frontier so.
func TestOpenFile_AllowsNamesInOneFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o666))
	if err := os.Link(path, filepath.Join(dir, "y")); err != nil {
		t.Skip(err)
	}
	f, err := openings["edit"](path)
	require.NoError(t, err)
	f.Close()
}

func TestOpen_RegularFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if _, err := durable.Open(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "open "+path+":") {
		t.Error(err)
	}
	for _, c := range []struct{ way, write, want string }{
		{"exclusive", "one", "one"}, {"append", "two", "onetwo"}, {"edit", "1", "1netwo"}, {"create", "new", "new"},
	} {
		f, err := openings[c.way](path)
		require.NoError(t, err, c.way)
		assert.Equalf(t, path, f.Name(), "%s: its name", c.way)
		_, err = io.WriteString(f, c.write)
		assert.NoError(t, err)
		f.Close()
		b, err := durable.ReadFile(path)
		assert.Truef(t, err == nil && string(b) == c.want, "%s: %q, %v; want %q", c.way, b, err, c.want)
	}
	_, err := openings["exclusive"](path)
	assert.ErrorIs(t, err, fs.ErrExist)
	_, err = durable.Open(dir)
	assert.Truef(t, err != nil && !errors.Is(err, durable.ErrForeign), "a folder: %v", err)
	t.Chdir(dir)
	b, err := durable.ReadFile("x")
	assert.Truef(t, err == nil && string(b) == "new", "by its bare name: %q, %v", b, err)
}

// Creating, replacing and removing a file while it is opened causes no errors.
func TestOpen_FileReplacedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	var others sync.WaitGroup
	stop := make(chan struct{})
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(path+".new", nil, 0o666)
				_ = os.Rename(path+".new", path)
				_ = os.Remove(path)
			}
		}
	})
	for range 500 {
		f, err := openings["append"](path)
		if err == nil {
			f.Close()
		} else if runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	close(stop)
	others.Wait()
}

func TestFolder_RefusesLinks(t *testing.T) {
	dir, file, folder := outside(t)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string]error{folder: nil, link: durable.ErrForeign, file: durable.ErrForeign, file + "0": fs.ErrNotExist} {
		assert.ErrorIs(t, durable.Folder(path), want, path)
	}
	assert.ErrorIs(t, durable.MakeFolder(link), durable.ErrForeign)
	made := filepath.Join(dir, "a", "b")
	for range 2 {
		assert.NoError(t, durable.MakeFolder(made))
	}
	err := durable.Inspect(dir)
	assert.True(t, errors.Is(err, durable.ErrForeign) && strings.Contains(err.Error(), link), err)
}

func TestInspect_ReadsNamedFolders(t *testing.T) {
	dir, file, _ := outside(t)
	for _, name := range []string{"warc", "other"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o777))
	}
	if err := os.Symlink(file, filepath.Join(dir, "warc", "x")); err != nil {
		t.Skip(err)
	}
	assert.NoError(t, durable.Inspect(dir, "other", "none"))
	err := durable.Inspect(dir, "other", "warc")
	assert.True(t, errors.Is(err, durable.ErrForeign) && strings.Contains(err.Error(), filepath.Join("warc", "x")), err)
}
