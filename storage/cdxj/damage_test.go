package cdxj

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestADamagedSegmentIsIndexedAsFarAsItCanBeRead(t *testing.T) {
	dir := t.TempDir()
	c := crawling(t, dir, 0)
	for i := range 5 {
		c.record(t, page(i, fmt.Sprintf("http://a.test/%d", i), strings.Repeat(fmt.Sprintf("page %d ", i), 200)))
	}
	c.close(t)
	whole := contents(t, dir)["curtsy-00000.cdxj"]
	path := filepath.Join(dir, warcDir, "curtsy-00000.warc.gz")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var third Line
	for text := range strings.Lines(whole) {
		if l, err := ParseLine([]byte(text)); err == nil && l.URL == "http://a.test/2" {
			third = l
		}
	}
	copy(b[third.Offset+third.Length/2:], "damage") // within the answer
	require.NoError(t, os.WriteFile(path, b, 0o600))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, indexDir)))
	c = crawling(t, dir, 0)
	if damaged := c.store.Damaged(); len(damaged) != 1 || !strings.Contains(damaged[0], path) {
		t.Errorf("it reports %q", damaged)
	}
	for i := range 5 {
		body := strings.Repeat(fmt.Sprintf("page %d ", i), 200)
		_, known, err := c.store.Original(digestOf(body))
		assert.Truef(t, known == (i != 2) && err == nil, "page %d may be referred to: %v, %v", i, known, err)
	}
	c.close(t)
	got := contents(t, dir)["curtsy-00000.cdxj"]
	assert.Truef(t, strings.Count(got, "\n") == 4 && !strings.Contains(got, "a.test/2"), "the index is\n%s", got)
	for line := range strings.Lines(got) {
		assert.Contains(t, whole, line, "a line that was not there before")
	}
	var damaged []string
	err = Rebuild(t.Context(), filepath.Join(dir, warcDir), filepath.Join(dir, indexDir), func(what string) { damaged = append(damaged, what) })
	assert.Truef(t, err == nil && len(damaged) == 1, "rebuilt: %v, and it reports %q", err, damaged)
	again := contents(t, dir)["curtsy-00000.cdxj"]
	assert.Truef(t, again == got, "rebuilt\n%s\nbefore\n%s", again, got)
	damaged = nil // left open by a kill, and torn, the segment is read in the same way
	require.NoError(t, os.Rename(path, path+".open"))
	require.NoError(t, os.Truncate(path+".open", int64(len(b)-5)))
	require.NoError(t, Rebuild(t.Context(), filepath.Join(dir, warcDir), filepath.Join(dir, indexDir), func(what string) { damaged = append(damaged, what) }))
	assert.Len(t, damaged, 1, "damage")
	open := contents(t, dir)["curtsy-00000.cdxj.open"]
	assert.NotContains(t, open, "a.test/2")
	assert.Contains(t, open, "a.test/3", "a line behind the damage")
}

func TestOpenCanBeBrokenOff(t *testing.T) {
	dir := t.TempDir()
	c := crawling(t, dir, 0)
	c.record(t, some()...)
	c.close(t)
	built := contents(t, dir)
	index := filepath.Join(dir, indexDir)
	require.NoError(t, os.RemoveAll(index))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Open(ctx, dir, Options{})
	require.ErrorIsf(t, err, context.Canceled, "%v", err)
	_, err = os.Stat(filepath.Join(index, "curtsy-00000.cdxj"))
	assert.ErrorIsf(t, err, os.ErrNotExist, "%v", err)
	crawling(t, dir, 0).close(t)
	assert.Equalf(t, built["curtsy-00000.cdxj"], contents(t, dir)["curtsy-00000.cdxj"], "built\n%v\nagain", built)
	earlier := filepath.Join(index, "curtsy-00000.cdxj")
	_, err = Open(ctx, t.TempDir(), Options{Earlier: []string{earlier}})
	assert.ErrorIsf(t, err, context.Canceled, "an earlier index is read all the same: %v", err)
}
