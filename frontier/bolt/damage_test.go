package bolt

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/repair"
)

// reading makes the calls that must not change a file. They must succeed or return an error of package frontier. It
// returns whether Check found the file good.
func reading(t testing.TB, path string, b []byte) (good bool) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, b, 0o600))
	ours := func(err error) bool {
		return err == nil || errors.Is(err, frontier.ErrDamaged) || errors.Is(err, frontier.ErrNewer) || errors.Is(err, frontier.ErrOlder)
	}
	found, err := Check(path)
	require.Truef(t, ours(err), "Check: %v", err)
	f, roErr := OpenReadOnly(path)
	require.Truef(t, ours(roErr), "OpenReadOnly: %v", roErr)
	if roErr == nil {
		f.Close()
	}
	good = err == nil && len(found) == 0
	require.Truef(t, !good || roErr == nil, "Check finds nothing, and OpenReadOnly: %v", roErr)
	require.Equal(t, string(b), string(read(t, path)), "the file was changed")
	return good
}

// opening opens the file for a run and reads it. A refusal must be an error of package frontier, and change nothing.
func opening(t testing.TB, path string, b []byte) error {
	t.Helper()
	f, err := Open(path, frontier.Options{})
	if err == nil {
		err := readAll(f)
		require.True(t, err == nil || errors.Is(err, frontier.ErrDamaged), err)
		f.Close()
		return err
	}
	require.Truef(t, errors.Is(err, frontier.ErrDamaged) || errors.Is(err, frontier.ErrNewer) || errors.Is(err, frontier.ErrOlder), "Open: %v", err)
	require.Equal(t, string(b), string(read(t, path)), "Open has refused the file and changed it")
	return err
}

// small returns a frontier of a few pages without slack.
func small(t testing.TB) string {
	t.Helper()
	path := makeFile(t)
	_, _, err := Compact(t.Context(), path, false)
	require.NoError(t, err)
	return path
}

// A truncated file must not end the process with SIGBUS, wherever it was cut: at every page border, and within.
func TestDamage_TruncationIsReported(t *testing.T) {
	path, step := small(t), 4096
	if testing.Short() {
		step = 10 * 4096 // slow under the race detector
	}
	whole := read(t, path)
	for at := 0; at < len(whole); at += step {
		for _, size := range []int{at, at + 1, at + 2000} {
			require.Falsef(t, reading(t, path, whole[:size]), "cut off at %d, and Check finds nothing", size)
			if err := opening(t, path, whole[:size]); size > 0 && !errors.Is(err, frontier.ErrDamaged) {
				t.Fatalf("cut off at %d: Open and reading: %v, want frontier.ErrDamaged", size, err)
			}
			if size%4096 != 2000 {
				continue
			}
			out := filepath.Join(t.TempDir(), "out")
			s, err := repair.Rebuild(t.Context(), path, out, nil)
			require.Truef(t, err != nil || !s.Whole(), "cut off at %d, and Rebuild finds it whole", size)
		}
	}
}

// Damage anywhere, also in a meta page, has no effect, or Open, Check or a reading call reports it. It never ends the
// process, and Check finds all damage that a call reports.
func TestDamage_IsReportedAndNeverKills(t *testing.T) {
	path := makeFile(t)
	whole := read(t, path)
	m, _ := dbfile.LastMeta(strings.NewReader(string(whole)))
	rnd := rand.New(rand.NewPCG(4, 4))
	refused, found := 0, 0
	for round := range 300 {
		b := spoil(whole[:m.Pages*m.PageSize], m, rnd, round)
		good := reading(t, path, b)
		if !good {
			found++
		}
		err := opening(t, path, b)
		if err != nil {
			refused++
		}
		require.Truef(t, !good || err == nil, "round %d: Check finds nothing, and %v", round, err)
	}
	require.Truef(t, refused >= 30 && found >= 60, "%d of 300 refused, Check found something in %d: the test does not hit", refused, found)
}

// Damage outside of the meta pages is either in unused bytes, and then every answer is as before, or reported.
func TestDamage_OctetIsReportedOrHarmless(t *testing.T) {
	if testing.Short() {
		t.Skip("it reopens the file for each page: slow under the race detector")
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	each := 2
	if os.Getenv("CURTSY_LONG") != "" {
		each = 200
	}
	path := small(t)
	whole, truth, urls := read(t, path), stateOf(t, path), texts(t, path)
	reported := 0
	for page := 2 * 4096; page < len(whole); page += 4096 {
		for i := range each {
			at := page + rnd.IntN([]int{48, 4096}[i%2])
			b := append([]byte(nil), whole...)
			b[at] ^= 1 << rnd.IntN(8)
			if !reading(t, path, b) {
				reported++
			} else if !reflect.DeepEqual(stateOf(t, path), truth) || !reflect.DeepEqual(texts(t, path), urls) {
				t.Fatalf("octet %d is spoilt, Check finds nothing, and the answers differ", at)
			}
			opening(t, path, b)
		}
	}
	assert.Truef(t, reported >= len(whole)/4096/2, "%d of %d reported: the test does not hit", reported, each*len(whole)/4096)
}

func TestCutShort_InvalidMetaPage(t *testing.T) {
	path := makeFile(t)
	whole := read(t, path)
	m, _ := dbfile.LastMeta(bytes.NewReader(whole))
	for i := range uint64(2) { // bbolt takes the other one
		b := bytes.Clone(whole)
		b[i*m.PageSize+40]++
		require.NoError(t, os.WriteFile(path, b, 0o600))
		short, err := CutShort(path)
		assert.Truef(t, err == nil && short, "meta page %d: %v, %v", i, short, err)
	}
	s, err := repair.Rebuild(t.Context(), path, path+".out", nil)
	assert.Truef(t, err == nil && !s.Whole() && s.MetaSpoilt, "%v, %v", s, err)
}
