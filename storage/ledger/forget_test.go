package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func ofHosts(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	w, err := Open(Options{Dir: dir, SegmentSize: 1500})
	require.NoError(t, err)
	for i := range n {
		err = errors.Join(err, w.Append(t.Context(), storage.Line{URL: fmt.Sprintf("http://%s.test/%d", []string{"a", "b"}[i%2], i), Decision: storage.DecisionAllow}))
	}
	require.NoError(t, errors.Join(err, w.Close()))
	return dir
}

func entriesOf(t *testing.T, dir string) (entries []Entry) {
	t.Helper()
	for e, err := range Scan(dir) {
		require.NoError(t, err)
		require.Nil(t, e.Problem)
		e.Text = bytes.Clone(e.Text)
		entries = append(entries, e)
	}
	return entries
}

func TestForgottenLinesBecomeStubs(t *testing.T) {
	dir := ofHosts(t, 40)
	was := entriesOf(t, dir)
	var gone []int64
	for p, err := range Places(dir) {
		require.NoError(t, err)
		require.Equalf(t, was[p.Index].Line.URL, p.Line.URL, "entry %d", p.Index)
		if p.Index%3 == 0 {
			gone = append(gone, p.Index)
		}
	}
	w := open(t, Options{Dir: dir})
	require.NoError(t, errors.Join(w.Redact(t.Context(), Redaction{Extent: ExtentAll, Subject: fmt.Sprintf("%064x", 1), Entries: gone}), w.Close()))
	var first map[string]string
	for range 2 {
		require.NoError(t, Forget(dir, gone))
		now := entriesOf(t, dir)
		for i, e := range was {
			want := e.Text
			if slices.Contains(gone, int64(i)) {
				want = Stub(e.Hash)
			}
			if !bytes.Equal(now[i].Text, want) || now[i].Hash != e.Hash {
				t.Errorf("entry %d is %s, want %s", i, now[i].Text, want)
			}
		}
		files := map[string]string{}
		names, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, name := range names {
			b, _ := os.ReadFile(name)
			files[name] = string(b)
		}
		if first != nil && fmt.Sprint(first) != fmt.Sprint(files) {
			t.Error("done again, it changed something")
		}
		first = files
	}
	marks := 0
	for m, err := range Marks(dir) {
		require.NoError(t, err)
		if m.Kind == KindRedaction && slices.Equal(m.Redaction.Entries, gone) {
			marks++
		}
	}
	assert.Equal(t, 1, marks, "marks name them")
}

// Interrupted packing left a segment twice, or in part.
func TestForgottenLinesAreInNoSecondCopy(t *testing.T) {
	dir := ofHosts(t, 4)
	plain := path(dir, 0)
	for _, name := range []string{plain + packedSuffix, plain + packedSuffix + newSuffix} {
		require.NoError(t, os.WriteFile(name, []byte("http://a.test/0"), 0o666))
	}
	for p, err := range Places(dir) {
		require.NoError(t, err)
		require.NoError(t, Forget(dir, []int64{p.Index}))
		break
	}
	names, _ := filepath.Glob(filepath.Join(dir, "000000*"))
	assert.Equal(t, []string{plain}, names, "the files that are there")
	if b, err := os.ReadFile(plain); err != nil || bytes.Contains(b, []byte("http://a.test/0")) {
		t.Errorf("%s, %v", b, err)
	}
}

func TestMarksAreNotForgotten(t *testing.T) {
	dir := ofHosts(t, 4)
	for _, entries := range [][]int64{{0}, {3, 2}} {
		assert.Errorf(t, Forget(dir, entries), "%d were forgotten", entries)
	}
	entriesOf(t, dir)
}

func TestAForgottenHostHasNoName(t *testing.T) {
	dir := ofHosts(t, 6)
	for range 2 {
		require.NoError(t, ForgetHosts(dir, []string{"b.test"}))
		var names []string
		for e, err := range Hosts(dir) {
			require.NoError(t, err)
			names = append(names, e.Host)
		}
		slices.Sort(names)
		assert.Equal(t, []string{"", "a.test"}, names)
		entriesOf(t, dir)
	}
	w := open(t, Options{Dir: dir}) // the map matches its checkpoint as before
	if err := w.Close(); err != nil || len(w.Repairs()) > 0 {
		t.Errorf("%q, %v", w.Repairs(), err)
	}
}
