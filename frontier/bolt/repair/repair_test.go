package repair_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
)

func parse(t *testing.T, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	require.NoError(t, err)
	return u
}

// made makes a frontier of some hundred URLs, half of them fetched, and returns its file and how they ended.
func made(t *testing.T) (path string, ended map[string]frontier.Outcome) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "frontier.db")
	f, err := engine.Open(path, frontier.Options{})
	require.NoError(t, err)
	var links []frontier.Candidate
	ended = map[string]frontier.Outcome{}
	for i := range 400 {
		raw := fmt.Sprintf("http://%c.test/%d", 'a'+i%4, i)
		links = append(links, frontier.Candidate{URL: parse(t, raw), Kind: frontier.KindSeed, Seed: raw})
		ended[raw] = 0
	}
	if _, err := f.Add(t.Context(), links); err != nil {
		t.Fatal(err)
	}
	claimed, err := f.Claim(t.Context(), frontier.Want{Hosts: 2, Tasks: 100})
	if err != nil || len(claimed.Turns) != 2 {
		t.Fatalf("%d turns, error %v", len(claimed.Turns), err)
	}
	for _, turn := range claimed.Turns {
		r := frontier.Result{Authority: turn.Authority, Token: turn.Token}
		for _, task := range turn.Tasks {
			r.Done = append(r.Done, frontier.Done{Print: task.Print, Outcome: frontier.Fetched})
			ended[task.URL.String()] = frontier.Fetched
		}
		if _, err := f.Finish(t.Context(), []frontier.Result{r}); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, f.Close())
	return path, ended
}

// held opens a file and returns how the URLs of it ended.
func held(t *testing.T, path string) map[string]frontier.Outcome {
	t.Helper()
	f, err := engine.OpenReadOnly(path)
	require.NoError(t, err)
	defer f.Close() // only read
	urls := map[string]frontier.Outcome{}
	err = f.Export(t.Context(), func(i frontier.Item) error {
		if e := i.URL; e != nil {
			urls[e.URL.String()] = e.Outcome
		}
		return nil
	})
	require.NoError(t, err)
	return urls
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

// ledgerOf tells how URLs ended, as a ledger does.
func ledgerOf(t *testing.T, urls map[string]frontier.Outcome) func() (repair.Ended, error) {
	t.Helper()
	var all []repair.Ended
	for raw, o := range urls {
		if o != 0 {
			all = append(all, repair.Ended{URL: parse(t, raw), Outcome: o})
		}
	}
	return func() (repair.Ended, error) {
		if len(all) == 0 {
			return repair.Ended{}, io.EOF
		}
		e := all[0]
		all = all[1:]
		return e, nil
	}
}

func TestAWholeFileIsFoundWholeAndRebuiltWhole(t *testing.T) {
	path, want := made(t)
	before := read(t, path)
	found, err := repair.Check(path)
	if cut, cutErr := repair.CutShort(path); len(found) > 0 || err != nil || cut || cutErr != nil {
		t.Errorf("%q, cut short %v, errors %v, %v", found, cut, err, cutErr)
	}
	out := filepath.Join(t.TempDir(), "out.db")
	s, err := repair.Rebuild(t.Context(), path, out, nil)
	if err != nil || !s.Whole() || s.URLs != 400 || s.Hosts != 4 || s.Closed != 200 {
		t.Fatalf("%v, error %v", s, err)
	}
	if got := held(t, out); !reflect.DeepEqual(got, want) {
		t.Errorf("%d URLs, or other endings", len(got))
	}
	assert.Equal(t, before, read(t, path), "the file was changed")
	rebuilt := read(t, out)
	if _, err := repair.Rebuild(t.Context(), path, out, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file that is there already: %v", err)
	}
	assert.Equal(t, rebuilt, read(t, out), "the file that was there was changed")
}

// Each page of the file in turn is lost. What Check calls good answers as before. What Rebuild makes invents nothing,
// and says so if it lacks anything; with a ledger no URL is asked for twice.
func TestEachLostPageIsFoundAndMadeUpFor(t *testing.T) {
	path, want := made(t)
	if _, _, err := repair.Compact(t.Context(), path, false); err != nil {
		t.Fatal(err)
	}
	whole := read(t, path)
	m, ok := dbfile.LastMeta(bytes.NewReader(whole))
	require.True(t, ok, "no meta page")
	size := int(m.PageSize)
	lost := 0
	for at := 2 * size; at < int(m.Pages)*size; at += size {
		b := bytes.Clone(whole)
		clear(b[at : at+size])
		write(t, path, b)
		found, err := repair.Check(path)
		if err == nil && len(found) == 0 {
			if got := held(t, path); !reflect.DeepEqual(got, want) {
				t.Errorf("page %d: Check finds nothing, and %d URLs are left", at/size, len(got))
			}
			continue
		}
		lost++
		out := filepath.Join(t.TempDir(), "out.db")
		s, err := repair.Rebuild(t.Context(), path, out, ledgerOf(t, want))
		if err != nil {
			t.Errorf("page %d: %v", at/size, err)
			continue
		}
		got := held(t, out)
		for raw, o := range got {
			if was, ok := want[raw]; !ok || was != o && s.Whole() {
				t.Errorf("page %d: %s is %v", at/size, raw, o)
			}
		}
		for raw, o := range want {
			if o == frontier.Fetched && got[raw] != o || got[raw] != o && s.Whole() {
				t.Errorf("page %d: %s is %v, was %v", at/size, raw, got[raw], o)
			}
		}
		if found, err := repair.Check(out); len(found) > 0 || err != nil {
			t.Errorf("page %d: what was made is not whole: %q, error %v", at/size, found, err)
		}
	}
	assert.GreaterOrEqual(t, lost, 3, "pages were missed")
}

// A meta page that is not valid is no damage for bbolt, which takes the other; a remark says it.
func TestALostMetaPageIsARemark(t *testing.T) {
	path, _ := made(t)
	whole := read(t, path)
	m, _ := dbfile.LastMeta(bytes.NewReader(whole))
	for i := range uint64(2) {
		b := bytes.Clone(whole)
		clear(b[i*m.PageSize:][:m.PageSize])
		write(t, path, b)
		if cut, err := repair.CutShort(path); !cut || err != nil {
			t.Errorf("meta page %d: %v, error %v", i, cut, err)
		}
	}
}

func TestWhatIsNoFrontierIsRefusedAndNothingIsMade(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.db")
	for name, text := range map[string]string{"text": strings.Repeat("no frontier\n", 2000), "empty": ""} {
		path := filepath.Join(dir, name)
		write(t, path, []byte(text))
		found, err := repair.Check(path)
		if len(found) == 0 && !errors.Is(err, frontier.ErrDamaged) {
			t.Errorf("%s: Check: %v", name, err)
		}
		if _, err := repair.Rebuild(t.Context(), path, out, nil); !errors.Is(err, frontier.ErrDamaged) {
			t.Errorf("%s: Rebuild: %v", name, err)
		}
		assert.Equalf(t, text, string(read(t, path)), "%s was changed", name)
	}
	missing := filepath.Join(dir, "missing")
	if _, err := repair.Rebuild(t.Context(), missing, out, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, _, err := repair.Compact(t.Context(), missing, false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	for _, path := range []string{out, missing} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s was made: %v", path, err)
		}
	}
}

// Import makes no file of an export that is cut off, wherever that is.
func TestAnExportThatIsCutOffMakesNoFrontier(t *testing.T) {
	path, want := made(t)
	f, err := engine.OpenReadOnly(path)
	require.NoError(t, err)
	var items []frontier.Item
	err = f.Export(t.Context(), func(i frontier.Item) error { items = append(items, i); return nil })
	require.NoError(t, errors.Join(err, f.Close()))
	out := filepath.Join(t.TempDir(), "out.db")
	for _, n := range []int{0, 1, len(items) / 2, len(items) - 1, len(items)} {
		left := items[:n]
		err := repair.Import(out, func() (frontier.Item, error) {
			if len(left) == 0 {
				return frontier.Item{}, io.EOF
			}
			i := left[0]
			left = left[1:]
			return i, nil
		})
		_, there := os.Lstat(out)
		if whole := n == len(items); (err == nil) != whole || (there == nil) != whole {
			t.Errorf("%d items of %d: %v, file: %v", n, len(items), err, there)
		}
	}
	if got := held(t, out); !reflect.DeepEqual(got, want) {
		t.Errorf("%d URLs, or other endings", len(got))
	}
}

// Each loss alone makes a Salvage less than whole, and each figure that is not of the new file is told.
func TestEveryLossIsToldAndSpoilsTheWhole(t *testing.T) {
	none := repair.Salvage{}
	if !none.Whole() || !strings.HasSuffix(none.String(), "nothing was lost") {
		t.Errorf("of no loss: %q", none)
	}
	made := map[string]bool{"Pages": true, "Hosts": true, "URLs": true, "Closed": true, "Refused": true, "Seeds": true,
		"Blobs": true, "LetGo": true, "LedgerClosed": true, "LedgerAdded": true, "LedgerUnneeded": true}
	for i := range reflect.TypeFor[repair.Salvage]().NumField() {
		var s repair.Salvage
		name := reflect.TypeFor[repair.Salvage]().Field(i).Name
		switch v := reflect.ValueOf(&s).Elem().Field(i); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		default:
			v.SetInt(1)
		}
		assert.Equalf(t, made[name], s.Whole(), "%s: whole", name)
		if told := s.String() != none.String(); !told && name != "Pages" && name != "LedgerUnneeded" {
			t.Errorf("%s is not told", name)
		}
	}
}
