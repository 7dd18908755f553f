package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func followed(t *testing.T, f *Follower, most int) (urls string, passed int64) {
	t.Helper()
	lines, passed, err := f.Next(most)
	require.NoError(t, err)
	var all []string
	for _, l := range lines {
		all = append(all, strings.TrimPrefix(l.URL, "http://a.test/"))
	}
	return strings.Join(all, " "), passed
}

func grow(t *testing.T, dir string, number int, text string) {
	t.Helper()
	f, err := os.OpenFile(path(dir, number), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func lineOf(n int) string {
	l := numbered(n)
	return string(append(l.AppendJSON(nil), '\n'))
}

func TestAFollowerReturnsEachWholeLineOnce(t *testing.T) {
	dir := t.TempDir()
	f := Follow(dir, 1<<20)
	if urls, passed := followed(t, f, 10); urls != "" || passed != 0 {
		t.Errorf("of an empty ledger: %q, %d", urls, passed)
	}
	grow(t, dir, 0, lineOf(1)+`{"mark":"run"}`+"\n"+lineOf(2)+lineOf(3)[:20])
	if urls, _ := followed(t, f, 10); urls != "1 2" {
		t.Errorf("%q", urls)
	}
	if urls, _ := followed(t, f, 10); urls != "" {
		t.Errorf("again: %q", urls)
	}
	grow(t, dir, 0, lineOf(3)[20:]+lineOf(4))
	grow(t, dir, 1, lineOf(5))
	if urls, _ := followed(t, f, 10); urls != "3 4 5" {
		t.Errorf("%q", urls)
	}
	grow(t, dir, 1, "no line\n"+strings.Repeat("x", maxLine+9)+"\n"+lineOf(6))
	if urls, passed := followed(t, f, 10); urls != "6" || passed != 2 {
		t.Errorf("%q, %d", urls, passed)
	}
}

func TestFollower_SkipsInvalidLines(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for n := range 1000 {
		text.WriteString(lineOf(n))
	}
	grow(t, dir, 0, text.String())
	f := Follow(dir, 1<<20)
	if urls, passed := followed(t, f, 3); urls != "997 998 999" || passed != 997 {
		t.Errorf("%q, %d", urls, passed)
	}
	f = Follow(dir, int64(len(lineOf(999)))*3/2)
	if urls, passed := followed(t, f, 100); urls != "999" || passed != 0 {
		t.Errorf("from near the end: %q, %d", urls, passed)
	}
}

func TestAFollowerReadsOnInAPackedSegment(t *testing.T) {
	dir := t.TempDir()
	grow(t, dir, 0, lineOf(1))
	f := Follow(dir, 1<<20)
	if urls, _ := followed(t, f, 10); urls != "1" {
		t.Fatalf("%q", urls)
	}
	grow(t, dir, 0, lineOf(2))
	require.NoError(t, packSegment(realSystem(), dir, 0))
	grow(t, dir, 1, lineOf(3))
	if urls, _ := followed(t, f, 10); urls != "2 3" {
		t.Errorf("%q", urls)
	}
}

func TestAFollowerNamesASegmentThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, fmt.Sprintf("%06d%s%s", 0, suffix, packedSuffix))
	require.NoError(t, os.WriteFile(name, []byte("not packed"), 0o644))
	if _, _, err := Follow(dir, 10).Next(10); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("%v", err)
	}
}
