package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/bolt/repair"
	"curtsy/frontier/canon"
)

// texts returns all URLs with their outcomes.
func texts(t testing.TB, path string) map[string]frontier.Outcome {
	t.Helper()
	f := reader(t, path)
	defer f.Close()
	urls := map[string]frontier.Outcome{}
	tx, err := f.db.Begin(false)
	require.NoError(t, err)
	defer tx.Rollback()
	all, err := layout.ReadEndings(tx)
	require.NoError(t, err)
	err = layout.RecordJournal.Each(tx, func(seq uint64, body []byte) error {
		b, err := layout.ParseBlock(body, f.blocks.Zip)
		if err != nil || b.Forgotten() {
			return err
		}
		for place := range b.Len() {
			id, _ := b.Host(place)
			e, err := b.Entry(place, f.hosts.all[id].authority)
			if err != nil {
				return err
			}
			urls[e.URL.String()] = all.Record(seq)[place].Outcome()
		}
		return nil
	})
	require.NoError(t, err)
	return urls
}

func rebuild(t testing.TB, path string, ledger func() (repair.Ended, error)) (string, repair.Salvage, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "rebuilt.db")
	s, err := repair.Rebuild(t.Context(), path, out, ledger)
	if err == nil {
		checkClean(t, out)
	}
	return out, s, err
}

func TestRebuild_WholeFileLosesNothing(t *testing.T) {
	compacted := used(t)
	if _, _, err := Compact(t.Context(), compacted, true); err != nil {
		t.Fatal(err)
	}
	folded := newEngine(t, t.TempDir(), frontier.Options{})
	folded.add(folded.links("a", 0, 3000))
	for range 4 {
		folded.finish(fetched(folded.turn(500)))
		folded.sync()
		folded.mu.Lock()
		folded.writer.unfolded = 1 << 20
		folded.mu.Unlock()
	}
	folded.shut()
	for name, path := range map[string]string{"made": makeFile(t), "used": used(t), "compacted": compacted, "folded": folded.file} {
		before := read(t, path)
		want := stateOf(t, path)
		cut, err := CutShort(path)
		assert.Truef(t, err == nil && !cut, "%s: cut short %v, error %v", name, cut, err)
		out, s, err := rebuild(t, path, nil)
		require.NoError(t, err)
		require.Truef(t, s.Whole(), "%s: %v", name, s)
		got := stateOf(t, out)
		assert.Truef(t, got.stats.Unclean && got.stats.Restarts == want.stats.Restarts+1, "%s: %+v", name, got.stats)
		got.stats.Unclean, got.stats.Restarts = want.stats.Unclean, want.stats.Restarts
		assert.Equal(t, want, got, name)
		assert.Equalf(t, texts(t, path), texts(t, out), "%s: the URLs differ", name)
		assert.Equalf(t, string(before), string(read(t, path)), "%s: the original was touched", name)
	}
}

// retried makes a file in which many URLs were closed, opened again, and closed, with folds in between.
func retried(t testing.TB) string {
	t.Helper()
	e := newEngine(t, t.TempDir(), frontier.Options{})
	for h := range 5 {
		e.add(e.links(string(rune('a'+h)), 0, 400))
	}
	for i := range 40 {
		turn := e.turn(60)
		r := fetched(turn)
		for k := range r.Done {
			if k%2 == 0 {
				r.Done[k].Outcome, r.Done[k].Reason = frontier.Gone, "status 410"
			}
		}
		r.Host = &frontier.HostUpdate{Memory: []byte(strings.Repeat("m", 100*i%700)), Pace: 1}
		r.Blobs = [][]byte{[]byte(strings.Repeat("b", 3000+i))}
		r.Found = e.links("new", 10*i, 10)
		e.finish(r)
		e.sync()
		switch i % 10 {
		case 4:
			e.retry(frontier.Retrial{Outcome: frontier.Gone})
		case 7:
			e.mu.Lock()
			e.writer.unfolded = 1 << 20 // the next commit folds
			e.mu.Unlock()
		}
	}
	e.shut()
	return e.file
}

// After any damage nothing panics, the original stays, the new file is sound, no URL is invented, and all losses are
// counted.
func TestRebuild_SpoiltFileIsNeverSilentlyWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("it reopens the file for each page: slow under the race detector")
	}
	path := retried(t)
	whole, truth := read(t, path), texts(t, path)
	m, _ := dbfile.LastMeta(strings.NewReader(string(whole)))
	rnd := rand.New(rand.NewPCG(1, 9))
	kept, refused := 0, 0
	rounds := 30
	if os.Getenv("CURTSY_LONG") != "" {
		rounds = 1500
	}
	for round := range rounds {
		b := spoil(whole[:m.Pages*m.PageSize], m, rnd, round)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		out, s, err := rebuild(t, path, nil)
		require.Equalf(t, string(b), string(read(t, path)), "round %d: the original was touched", round)
		if err != nil {
			refused++
			require.Truef(t, errors.Is(err, frontier.ErrDamaged) || errors.Is(err, frontier.ErrNewer), "round %d: %v", round, err)
			continue
		}
		got := texts(t, out)
		for u, o := range got {
			was, ok := truth[u]
			require.Truef(t, ok && (o == was || !s.Whole()), "round %d: %s is %v, was %v, known %v\n%v", round, u, o, was, ok, s)
		}
		require.Truef(t, len(got) >= len(truth) || !s.Whole(), "round %d: %d URLs of %d\n%v", round, len(got), len(truth), s)
		if f, err := Open(out, frontier.Options{}); err != nil {
			t.Fatalf("round %d: %v", round, err)
		} else if err := errors.Join(readAll(f), f.Close()); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		kept += len(got)
	}
	assert.Truef(t, refused <= rounds/12 && kept >= rounds*len(truth)*7/10, "%d refused, %d URLs kept of %d in %d rounds", refused, kept, len(truth), rounds)
}

func spoil(whole []byte, m dbfile.Meta, rnd *rand.Rand, round int) []byte {
	b := append([]byte(nil), whole...)
	page := rnd.Uint64N(m.Pages) * m.PageSize
	switch round % 6 {
	case 0: // in the head of a page
		b[page+rnd.Uint64N(40)] ^= 1 << rnd.IntN(8)
	case 1: // anywhere
		b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
	case 2: // a page of something else
		other := rnd.Uint64N(m.Pages) * m.PageSize
		copy(b[page:page+m.PageSize], b[other:other+m.PageSize])
	case 3: // a page of nothing
		clear(b[page : page+m.PageSize])
	case 4: // cut off
		b = b[:rnd.IntN(len(b))]
	case 5: // a meta page, and another
		clear(b[rnd.Uint64N(2)*m.PageSize:][:m.PageSize])
		clear(b[page : page+m.PageSize])
	}
	return b
}

func TestRebuild_WithoutMetaPagesOrBranches(t *testing.T) {
	path := retried(t)
	b, truth := read(t, path), texts(t, path)
	m, _ := dbfile.LastMeta(strings.NewReader(string(b)))
	clear(b[:2*m.PageSize])
	for at := uint64(0); at < m.Pages*m.PageSize; at += m.PageSize {
		if b[at+8] == dbfile.Branch {
			clear(b[at : at+m.PageSize])
		}
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
	out, s, err := rebuild(t, path, nil)
	require.Truef(t, err == nil && s.MetaSpoilt && !s.Whole(), "%v, error %v", s, err)
	assert.Equalf(t, truth, texts(t, out), "%v", s)
}

func lines(es []repair.Ended) func() (repair.Ended, error) {
	return func() (repair.Ended, error) {
		if len(es) == 0 {
			return repair.Ended{}, io.EOF
		}
		e := es[0]
		es = es[1:]
		return e, nil
	}
}

// wipe clears all values of a journal, in all copies, except those for which keep is true.
func wipe(t testing.TB, path string, j layout.Journal, keep func(seq uint64) bool) {
	t.Helper()
	clearValues(t, path, string(j), func(key []byte) bool { return !keep(binary.BigEndian.Uint64(key)) })
}

// clearValues clears all copies of the values of a bucket for which which is true.
func clearValues(t testing.TB, path, bucket string, which func(key []byte) bool) {
	t.Helper()
	b := string(read(t, path))
	db, err := dbfile.OpenReadOnly(path)
	require.NoError(t, err)
	defer db.Close()
	cleared := 0
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucket)).ForEach(func(k, v []byte) error {
			if which(k) {
				cleared++
				b = strings.ReplaceAll(b, string(v), strings.Repeat("\x00", len(v)))
			}
			return nil
		})
	})
	require.NoError(t, err)
	require.NotEqualf(t, 0, cleared, "%d values of %s cleared: %v", cleared, bucket, err)
	require.NoError(t, os.WriteFile(path, []byte(b), 0o600))
}

func TestRebuild_LedgerRepairsLosses(t *testing.T) {
	for _, j := range []layout.Journal{layout.DoneJournal, layout.RecordJournal, layout.SeenJournal, layout.StateJournal} {
		path := used(t)
		truth := texts(t, path)
		var ledger []repair.Ended
		for raw, o := range truth {
			if o != 0 {
				ledger = append(ledger, repair.Ended{URL: mustURL(t, raw), Outcome: o})
			}
		}
		wipe(t, path, j, func(seq uint64) bool { return seq%2 == 0 })
		_, without, err := rebuild(t, path, nil)
		require.NoError(t, err)
		require.Falsef(t, without.Whole(), "%s: %v", j, without)
		out, s, err := rebuild(t, path, lines(ledger))
		require.NoError(t, err)
		t.Logf("%s: %v", j, s)
		got := texts(t, out)
		for _, e := range ledger {
			if got[e.URL.String()] != e.Outcome {
				t.Errorf("%s: %s is %v, and the ledger has %v", j, e.URL, got[e.URL.String()], e.Outcome)
				break
			}
		}
		f := opened(t, out)
		for _, e := range ledger {
			if seen, err := f.Seen(t.Context(), []canon.URL{e.URL}); err != nil || !seen[0] {
				t.Errorf("%s: %s: %v, %v", j, e.URL, seen, err)
				break
			}
		}
		f.Close()
	}
}

// Each page of the file in turn is lost. If Check finds nothing, the answers are as before. Rebuild invents nothing,
// and reports losses; with a ledger no URL is fetched twice.
func TestRebuild_RecoversFromEachLostPage(t *testing.T) {
	path := small(t)
	whole, truth := read(t, path), texts(t, path)
	var ledger []repair.Ended
	for raw, o := range truth {
		if o != 0 {
			ledger = append(ledger, repair.Ended{URL: mustURL(t, raw), Outcome: o})
		}
	}
	m, ok := dbfile.LastMeta(bytes.NewReader(whole))
	require.True(t, ok, "no meta page")
	size, lost := int(m.PageSize), 0
	for at := 2 * size; at < int(m.Pages)*size; at += size {
		b := bytes.Clone(whole)
		clear(b[at : at+size])
		if reading(t, path, b) {
			assert.Equalf(t, truth, texts(t, path), "page %d: Check finds nothing", at/size)
			continue
		}
		lost++
		out, s, err := rebuild(t, path, lines(ledger))
		require.NoErrorf(t, err, "page %d", at/size)
		got := texts(t, out)
		for raw, o := range got {
			was, ok := truth[raw]
			assert.Truef(t, ok && (was == o || !s.Whole()), "page %d: %s is %v", at/size, raw, o)
		}
		for raw, o := range truth {
			assert.Truef(t, (o != frontier.Fetched || got[raw] == o) && (got[raw] == o || !s.Whole()), "page %d: %s is %v, was %v", at/size, raw, got[raw], o)
		}
	}
	assert.GreaterOrEqual(t, lost, 3, "too few pages were missed")
}

// A URL that was closed, folded and opened again is pending: older words, which free pages may still hold, do not
// count, nor does the ledger.
func TestRebuild_RetriedURLsStayOpen(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 200))
	e.closeAll(frontier.Gone)
	e.sync()
	e.mu.Lock()
	e.writer.unfolded = 1 << 20
	e.mu.Unlock()
	e.add(e.links("b", 0, 200))
	e.closeAll(frontier.Failed)
	e.sync()
	require.EqualValues(t, 200, e.retry(frontier.Retrial{Outcome: frontier.Gone}).URLs)
	e.shut()
	truth := texts(t, e.file)
	var ledger []repair.Ended
	for raw := range truth {
		ledger = append(ledger, repair.Ended{URL: mustURL(t, raw), Outcome: frontier.Gone})
	}
	b := read(t, e.file)
	clear(b[:8192]) // both meta pages: nothing is live
	require.NoError(t, os.WriteFile(e.file, b, 0o600))
	out, s, err := rebuild(t, e.file, lines(ledger))
	require.NoError(t, err)
	assert.Equalf(t, truth, texts(t, out), "the endings differ\n%v", s)
}

// Blobs hold a site's bytes. They must not be taken for elements of a page.
func TestRebuild_BlobsAreNotValues(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 5))
	turn := e.turn(5)
	r := fetched(turn)
	key, value := sealed(t, layout.DoneJournal, 9, make([]byte, 8))
	head := func(pos uint32) []byte {
		var b []byte
		for _, n := range []uint32{0, pos, 8, uint32(len(value))} {
			b = binary.NativeEndian.AppendUint32(b, n)
		}
		return b
	}
	for i := range 16 {
		body := make([]byte, i)
		for len(body) < 1600 { // elements are at multiples of 16: some of these are
			body = append(body, head(16)...)
			body = append(append(body, key...), value...)
			body = append(body, 0)
		}
		r.Blobs = append(r.Blobs, body)
	}
	e.finish(r)
	e.shut()
	b := read(t, e.file)
	clear(b[:8192]) // both meta pages: nothing is live
	require.NoError(t, os.WriteFile(e.file, b, 0o600))
	out, s, err := rebuild(t, e.file, nil)
	require.Truef(t, err == nil && s.LostValues+s.LostEndings+s.Ambiguous == 0 && s.Blobs == 16, "%v, error %v", s, err)
	for u, o := range texts(t, out) {
		assert.Equal(t, frontier.Fetched, o, u)
	}
}

func TestRebuild_LostSecretIsReplaced(t *testing.T) {
	path := used(t)
	truth := texts(t, path)
	clearValues(t, path, layout.MetaBucket, func(key []byte) bool { return string(key) == layout.SecretKey })
	out, found, err := rebuild(t, path, nil)
	require.Truef(t, err == nil && found.NewSecret && found.Refused == 0, "%v, error %v", found, err)
	assert.Equal(t, truth, texts(t, out))
}

func TestRebuild_RefusesUnusableFiles(t *testing.T) {
	path := used(t)
	_, err := repair.Rebuild(t.Context(), path, path, nil)
	assert.ErrorIs(t, err, os.ErrExist, "onto itself")
	_, err = repair.Rebuild(t.Context(), path+"x", path+"y", nil)
	assert.ErrorIs(t, err, os.ErrNotExist, "none")
	f := opened(t, path)
	_, err = repair.Rebuild(t.Context(), path, path+"y", nil)
	assert.ErrorIs(t, err, frontier.ErrInUse, "in use")
	f.Close()
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("no database\n", 5000)), 0o600))
	_, err = repair.Rebuild(t.Context(), text, path+"y", nil)
	assert.ErrorIs(t, err, frontier.ErrDamaged, "text")
	require.NoError(t, os.WriteFile(text, nil, 0o600))
	_, err = repair.Rebuild(t.Context(), text, path+"y", nil)
	assert.ErrorIs(t, err, frontier.ErrDamaged, "empty")
	wrong := func() (repair.Ended, error) { return repair.Ended{}, io.ErrUnexpectedEOF }
	_, err = repair.Rebuild(t.Context(), path, path+"y", wrong)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF, "a ledger that fails")
	for _, left := range []string{path + "y"} {
		all, _ := filepath.Glob(left + "*")
		assert.Truef(t, len(all) == 0, "%s was left", left)
	}
}

// sealed returns key and value of a journal as they are stored.
func sealed(t *testing.T, j layout.Journal, seq uint64, body []byte) (key, value []byte) {
	t.Helper()
	db, err := dbfile.Open(filepath.Join(t.TempDir(), "x.db"), layout.Create)
	require.NoError(t, err)
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(j))
		if err := b.SetSequence(seq - 1); err != nil {
			return err
		}
		if _, err := j.Append(tx, body); err != nil {
			return err
		}
		k, v := b.Cursor().Last()
		key, value = bytes.Clone(k), bytes.Clone(v)
		return nil
	})
	require.NoError(t, err)
	return key, value
}
