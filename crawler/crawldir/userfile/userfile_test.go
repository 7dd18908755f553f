package userfile

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
}

var nowhere = Place{Is: func(string) bool { return false }}

const mark = "<!-- curtsy audit -->"

var page = Kind{Name: "an audit page", Mark: mark}

func TestWritable_OnlyOwnFiles(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		page, nobody string // the error for a kind with a mark, and for one without
	}{
		{"empty", "", "", ""},
		{"ours", "<html>" + mark, "", "exists: name a new file"},
		{"theirs", "<html>", "not an audit page of curtsy's making", "exists: name a new file"},
		{"mark ends at the bound", strings.Repeat("a", markWithin-len(mark)) + mark, "", "exists"},
		{"mark ends behind the bound", strings.Repeat("a", markWithin-len(mark)+1) + mark, "not an audit page", "exists"},
	} {
		path := file(t, "x.html", c.text)
		for k, want := range map[string]string{mark: c.page, "": c.nobody} {
			err := Kind{Name: page.Name, Mark: k}.Writable(path, nowhere)
			assert.Truef(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)), "%s: %v, want %q", c.name, err, want)
		}
		b, err := os.ReadFile(path)
		assert.Truef(t, string(b) == c.text && err == nil, "%s: it was changed: %v", c.name, err)
	}
}

func TestWritable_RejectsNonFiles(t *testing.T) {
	dir := t.TempDir()
	assert.NoError(t, page.Writable(filepath.Join(dir, "new"), nowhere), "a new file")
	err := page.Writable(dir, nowhere)
	assert.ErrorContainsf(t, err, "is a folder", "a folder: %v", err)
	assert.NoError(t, page.Writable(os.DevNull, nowhere), "the device that is empty")
	dangling := filepath.Join(dir, "link")
	link(t, filepath.Join(dir, "gone"), dangling)
	err = page.Writable(dangling, nowhere)
	assert.ErrorContainsf(t, err, "leads nowhere", "a link that leads nowhere: %v", err)
}

func TestWritable_RejectsFilesOfACrawl(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"crawl/warc/deep", "crawl/notes", "folder/warc"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.FromSlash(dir)), 0o700))
	}
	real, err := filepath.EvalSymlinks(root)
	require.NoError(t, err)
	p := Place{Names: []string{"warc", "report.html"}, Is: func(dir string) bool {
		return dir == filepath.Join(root, "crawl") || dir == filepath.Join(real, "crawl")
	}}
	link(t, filepath.Join(root, "crawl", "warc"), filepath.Join(root, "alias"))
	own := Kind{Own: []string{"report.html"}}
	for _, c := range []struct {
		path          string
		other, report bool // whether it is outside, for a kind without files there, and for the owner of the report
	}{
		{"crawl/warc", false, false},
		{"crawl/WARC/x", false, false}, // some systems ignore case
		{"crawl/warc/x", false, false},
		{"crawl/warc/deep/x", false, false},
		{"crawl/notes/../warc/x", false, false},
		{"alias/x", false, false},
		{"crawl/report.html", false, true},
		{"crawl/report.html/x", false, false},
		{"crawl/x", true, true},
		{"crawl/notes/x", true, true},
		{"folder/warc/x", true, true},
		{"warc", true, true},
	} {
		path := root + string(filepath.Separator) + filepath.FromSlash(c.path)
		assert.Equal(t, c.other, (page.Outside(path, p) == nil), c.path)
		assert.Equalf(t, c.report, (own.Outside(path, p) == nil), "%s, by the owner of the report", c.path)
		err := page.Writable(path, p)
		assert.Truef(t, c.other || err != nil, "%s may be written to", c.path)
	}
}

func TestReadAll_IsBounded(t *testing.T) {
	path := file(t, "list", "12345")
	for most, ok := range map[int64]bool{4: false, 5: true, 6: true} {
		b, err := ReadAll(path, most)
		assert.Truef(t, (err == nil) == ok && (!ok || string(b) == "12345"), "at most %d: %q, error %v", most, b, err)
	}
	_, err := ReadAll(path+"x", 5)
	assert.ErrorIs(t, err, fs.ErrNotExist, "a file that is not there")
	b, err := ReadAll(os.DevNull, 5)
	assert.Truef(t, len(b) == 0 && err == nil, "the device that is empty: %q, error %v", b, err)
}

func TestOpen_RejectsEndlessDevices(t *testing.T) {
	const zeros = "/dev/zero"
	if fi, err := os.Stat(zeros); err != nil || fi.Mode()&fs.ModeCharDevice == 0 {
		t.Skip("no " + zeros)
	}
	dir := t.TempDir()
	alias := filepath.Join(dir, "seeds")
	link(t, zeros, alias)
	for _, path := range []string{zeros, alias} {
		err := Readable(path)
		assert.ErrorContainsf(t, err, "is a device", "%s: %v", path, err)
		_, err = ReadAll(path, 5)
		assert.ErrorContainsf(t, err, "is a device", "%s: read: %v", path, err)
	}
}

func TestReadable_RejectsOnlyDevices(t *testing.T) {
	path := file(t, "x", "")
	for _, path := range []string{path, path + "x", filepath.Dir(path), os.DevNull} {
		assert.NoError(t, Readable(path), path)
	}
	f, err := Open(path)
	require.NoError(t, err)
	b, err := io.ReadAll(f)
	assert.Truef(t, len(b) == 0 && err == nil, "%q, error %v", b, err)
	assert.NoError(t, f.Close())
}
