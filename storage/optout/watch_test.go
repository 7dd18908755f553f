package optout

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// folder is a directory of lists, with the clock of the synctest bubble.
type folder struct {
	t        *testing.T
	dir      string
	mu       sync.Mutex
	messages []string
}

func newFolder(t *testing.T) *folder { return &folder{t: t, dir: t.TempDir()} }

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f *folder) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path(name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) open(files ...File) *Watch {
	f.t.Helper()
	for i := range files {
		files[i].Path = f.path(files[i].Path)
	}
	w, err := Open(files, func(format string, args ...any) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.messages = append(f.messages, fmt.Sprintf(format, args...))
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

// want checks which of a.test, b.test and c.test are listed, and the last message; "" means no new one.
func (f *folder) want(w *Watch, listed, message string) {
	f.t.Helper()
	var got []string
	for _, name := range []string{"a", "b", "c"} {
		if w.URL(url(f.t, "http://"+name+".test/")) != nil {
			got = append(got, name)
		}
	}
	if strings.Join(got, "") != listed {
		f.t.Errorf("listed are %q, want %q", got, listed)
	}
	switch {
	case message == "" && len(f.messages) > 0:
		f.t.Errorf("reported %q", f.messages)
	case message != "" && (len(f.messages) != 1 || !strings.Contains(f.messages[0], message)):
		f.t.Errorf("reported %q, want %q", f.messages, message)
	}
	f.messages = nil
}

func TestRule16_AChangeIsInForceASecondLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t)
		f.write("list", "a.test\n")
		w := f.open(File{Path: "list"})
		f.want(w, "a", "")
		f.write("list", "b.test\n") // of one size, and maybe of one time
		time.Sleep(Look - 1)
		f.want(w, "a", "")
		time.Sleep(time.Nanosecond)
		f.want(w, "b", "has changed: 1 entry is in force")
		f.write("new", "b.test\nc.test\n")
		require.NoError(t, os.Rename(f.path("new"), f.path("list")))
		time.Sleep(Look)
		f.want(w, "bc", "has changed")
		time.Sleep(time.Hour)
		f.want(w, "bc", "")
		var entries []int
		for _, v := range w.Versions() {
			entries = append(entries, v.Entries)
		}
		assert.Equalf(t, []int{1, 1, 2}, entries, "versions of %v entries", entries)
	})
}

func TestRule16_ABrokenVersionKeepsTheOldOneInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t)
		f.write("list", "a.test\n")
		w := f.open(File{Path: "list"})
		f.write("list", "b.test\nno good\n")
		time.Sleep(Look)
		f.want(w, "a", `list:2: "no good"`)
		time.Sleep(time.Hour)
		f.want(w, "a", "") // reported once
		now := w.Troubles()
		assert.Truef(t, len(now) == 1 && strings.Contains(now[0], "list:2:"), "troubles: %q", now)
		f.write("list", "a.test\n")
		time.Sleep(Look)
		f.want(w, "a", "as it was again")
		f.write("list", "c.test\n")
		time.Sleep(Look)
		f.want(w, "c", "has changed")
		n := len(w.Versions())
		assert.Truef(t, n == 2 && len(w.Troubles()) <= 0, "%d versions were in force", n)
	})
}

func TestRule16_AVanishedFileTakesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t)
		f.write("list", "a.test\n")
		w := f.open(File{Path: "list"}, File{Path: "later", MayMiss: true})
		f.want(w, "a", "")
		os.Remove(f.path("list"))
		time.Sleep(Look)
		f.want(w, "a", "has vanished; 1 entry is in force")
		time.Sleep(time.Hour)
		f.want(w, "a", "")
		f.write("list", "")
		time.Sleep(Look)
		f.want(w, "", "has changed: 0 entries")

		f.write("later", "no good")
		time.Sleep(Look)
		f.want(w, "", "nothing of it is in force")
		f.write("later", "c.test")
		time.Sleep(Look)
		f.want(w, "c", "has changed")
		os.Remove(f.path("later"))
		time.Sleep(Look)
		f.want(w, "c", "has vanished")
	})
}

func TestRule16_AListMustBeGoodAtTheStart(t *testing.T) {
	f := newFolder(t)
	f.write("bad", "no good")
	for _, file := range []File{{f.path("none"), false}, {f.path("bad"), true}, {f.dir, true}} {
		_, err := Open([]File{file}, nil)
		assert.Truef(t, err != nil && strings.Contains(err.Error(), file.Path), "%+v: %v", file, err)
	}
	_, err := Open([]File{{f.path("none"), true}}, nil)
	assert.NoError(t, err)
	if w := (*Watch)(nil); w.Troubles() != nil || w.URL(url(t, "http://a.test/")) != nil || w.Addr(netip.MustParseAddr("::1")) != nil || w.Versions() != nil || w.Lists() != nil {
		t.Error("no list has entries")
	}
}

func TestRule16_AHitNamesEntryAndList(t *testing.T) {
	f := newFolder(t)
	f.write("one", "x.test")
	f.write("two", "# c\na.test\tby mail\n192.0.2.0/24\n")
	w := f.open(File{Path: "one"}, File{Path: "two"})
	h := w.URL(url(t, "http://a.test/x"))
	assert.Truef(t, h != nil && h.Line == 2 && h.File == f.path("two") && h.Error() == "opted out: a.test (by mail)" && h.SHA256() == w.Versions()[1].SHA256, "%+v", h)
	if h := w.Addr(netip.MustParseAddr("192.0.2.9")); h == nil || h.Error() != "opted out: 192.0.2.0/24" {
		t.Errorf("%+v", h)
	}
}

func TestAppend_SkipsExistingEntries(t *testing.T) {
	f := newFolder(t)
	path := f.path("list")
	for _, step := range []struct {
		texts  []string
		reason string
		added  int
		want   string
	}{
		{[]string{"a.test", ".b.test"}, "by mail", 2, "a.test\tby mail\n.b.test\tby mail\n"},
		{[]string{"a.test", "c.test", "c.test"}, "", 1, "a.test\tby mail\n.b.test\tby mail\nc.test\n"},
		{[]string{"a.test"}, "x", 0, "a.test\tby mail\n.b.test\tby mail\nc.test\n"},
	} {
		added, err := Append(path, step.texts, step.reason)
		b, _ := os.ReadFile(path)
		assert.Truef(t, err == nil && added == step.added && string(b) == step.want, "%v: %d added, %v:\n%s", step.texts, added, err, b)
	}
	f.write("list", "a.test") // no end of line
	_, err := Append(path, []string{"b.test"}, "")
	assert.NoError(t, err)
	for _, bad := range [][]string{{"no good"}, {""}, {"a.test\tx"}, {"a.test\nb.test"}, {"# x"}, {"*.a.test"}} {
		_, err := Append(path, append([]string{"z.test"}, bad...), "")
		assert.Errorf(t, err, "%q was added", bad)
	}
	_, err = Append(path, []string{"y.test"}, "two\nlines")
	assert.Error(t, err, "a reason of two lines was taken")
	b, _ := os.ReadFile(path)
	assert.Truef(t, string(b) == "a.test\nb.test\n", "%q", b)
	f.write("list", "no good\n")
	_, err = Append(path, []string{"b.test"}, "")
	assert.Error(t, err, "a list with a mistake was added to")
}

func TestTell_CalledForEveryChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t)
		f.write("one", "a.test\n")
		f.write("two", "b.test\nc.test\n")
		w := f.open(File{Path: "one"}, File{Path: "two"}, File{Path: "three", MayMiss: true})
		var messages []string
		w.Tell(func(lists []*List) {
			s := ""
			for _, l := range lists {
				s += fmt.Sprintf("%s %d ", filepath.Base(l.Name()), len(l.Entries()))
			}
			messages = append(messages, s)
		})
		for _, change := range []func(){
			func() {},
			func() { f.write("one", "a.test\nd.test\n") },
			func() { f.write("one", "no entry at all!\n") },
			func() { f.write("three", "e.test\n") },
		} {
			change()
			time.Sleep(time.Hour)
			w.Versions()
		}
		want := []string{"one 2 two 2 ", "one 2 two 2 three 1 "}
		assert.Truef(t, slices.Equal(messages, want), "%q, want %q", messages, want)
	})
	var none *Watch
	none.Tell(func([]*List) { t.Error("the callback runs without lists") })
}
