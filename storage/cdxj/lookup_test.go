package cdxj

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func fileOf(t testing.TB, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o666))
	return path
}

func lineOf(url string, second int, file string, offset int64) Line {
	return Line{Key: Key(url), Time: began.Truncate(time.Second).Add(time.Duration(second) * time.Second), URL: url, Mime: "text/html", Filename: file, Offset: offset}
}

func TestLookupAcrossSegmentsIsInOrderOfTime(t *testing.T) {
	dir := t.TempDir()
	c := crawling(t, dir, 1500)
	for i := range 30 {
		c.record(t, page(i, fmt.Sprintf("http://a.test/%d", i%3), fmt.Sprint("body ", i)))
	}
	open := captures(t, dir, "http://www.a.test/1")
	c.close(t)
	done := captures(t, dir, "http://a.test/1")
	assert.Truef(t, slices.Equal(open, done) && len(done) == 10, "while crawling\n%v\nafterwards\n%v", open, done)
	files := map[string]bool{}
	for i, l := range done {
		files[l.Filename] = true
		want := began.Truncate(time.Second).Add(time.Duration(3*i+1) * time.Second)
		assert.Truef(t, l.Time.Equal(want) && l.URL == "http://a.test/1", "capture %d: %+v", i, l)
	}
	assert.GreaterOrEqualf(t, len(files), 3, "only in %v", files)
	assert.Empty(t, captures(t, dir, "http://a.test/none"), "captures of a URL that has none")
}

// The binary search finds the same as a scan.
func FuzzLookupEqualsScan(f *testing.F) {
	f.Add(uint64(1), uint16(40), uint16(3), "a")
	f.Add(uint64(2), uint16(700), uint16(9000), "")
	f.Add(uint64(3), uint16(0), uint16(0), "zz")
	f.Fuzz(func(t *testing.T, seed uint64, n, pad uint16, also string) {
		r := rand.New(rand.NewPCG(seed, 1))
		urls := []string{"http://a.test/" + also, "http://0.test/", "http://zz.test/~"}
		for range 12 {
			urls = append(urls, fmt.Sprintf("http://%c.test/%s", 'a'+r.IntN(4), strings.Repeat("x", r.IntN(4))))
		}
		var all []string
		lines := int(n % 1000)
		wide := min(int(pad), (1<<20)/(lines+1)) // long lines, or many: files of 32 MiB make eight tries a second
		for i := range lines {
			l := lineOf(urls[2+r.IntN(len(urls)-2)], r.IntN(50), "f", int64(i))
			l.Digest = strings.Repeat("d", r.IntN(wide+1))
			all = append(all, string(l.Append(nil)))
		}
		journal := fileOf(t, "x.cdxj.open", all...)
		slices.Sort(all)
		sorted := fileOf(t, "x.cdxj", all...)
		if len(all) > 0 && seed%2 == 0 { // the last line of a foreign file may have no end
			b := []byte(strings.Join(all, ""))
			require.NoError(t, os.WriteFile(sorted, b[:len(b)-1], 0o666))
		}
		for _, url := range urls {
			a, b := found(t, sorted, url), found(t, journal, url)
			require.Truef(t, slices.Equal(a, b), "%s: by halving\n%v\nby reading\n%v", url, a, b)
		}
	})
}

func found(t *testing.T, path, url string) (ls []Line) {
	t.Helper()
	for l, err := range Lookup([]string{path, path + ".gone"}, url) {
		require.NoError(t, err)
		ls = append(ls, l)
	}
	return ls
}

func TestLookup_NamesUnreadableFiles(t *testing.T) {
	bad := fileOf(t, "bad.cdxj", "test,a)/ 20260304050607 nonsense\n")
	l := lineOf("http://a.test/", 1, "good", 1)
	good := fileOf(t, "good.cdxj", string(l.Append(nil)))
	errs, lines := 0, 0
	for _, err := range Lookup([]string{bad, good}, "http://a.test/") {
		if err != nil {
			if errs++; !strings.Contains(err.Error(), bad) || !strings.Contains(err.Error(), "byte 0") {
				t.Error(err)
			}
			continue
		}
		lines++
	}
	assert.Truef(t, errs == 1 && lines == 1, "%d errors, %d lines", errs, lines)
	long := fileOf(t, "long.cdxj", "test,a)/ "+strings.Repeat("x", maxLine))
	for _, err := range Lookup([]string{long}, "http://a.test/") {
		assert.True(t, err != nil && strings.Contains(err.Error(), "longer than"), err)
	}
}

func TestSorted(t *testing.T) {
	a := fileOf(t, "a", "a 1\n", "c 1\n", "c 3\n")
	b := fileOf(t, "b", "b 1\n", "c 2") // without its newline
	empty := fileOf(t, "empty")
	out := ""
	for line, err := range Sorted(t.Context(), t.TempDir(), b, a, empty) {
		require.NoError(t, err)
		out += string(line) + "|"
	}
	require.Equal(t, "a 1|b 1|c 1|c 2|c 3|", out)
	for _, err := range Sorted(t.Context(), t.TempDir(), a, a+".none") {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

func TestACancelledSortLeavesNothing(t *testing.T) {
	l := lineOf("http://a.test/", 1, "f", 1)
	from := fileOf(t, "x.cdxj.open", string(l.Append(nil)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	assert.Error(t, sortFile(ctx, from, filepath.Join(dir, "x.cdxj"), dir), "it went on")
	left, err := os.ReadDir(dir)
	assert.Truef(t, err == nil && len(left) <= 0, "left behind: %v %v", left, err)
}
