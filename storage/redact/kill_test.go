package redact

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
)

var errKilled = errors.New("killed")

// dying is a disk that stops before its step of a number, and does nothing after.
func dying(dir string, left int) (d *disk, steps *[]string) {
	steps = new([]string)
	return &disk{dir: dir, stop: func(what string) error {
		if len(*steps) >= left {
			return errKilled
		}
		*steps = append(*steps, what)
		return nil
	}}, steps
}

// Before the journal everything stays as it was, and after it everything is forgotten.
func TestKilledAtEveryStep(t *testing.T) {
	pages, refused := shopOf(2)
	template := crawled(t, pages, refused)
	for _, name := range []string{"warc/curtsy-00000.warc.gz.cut", "report.json"} {
		require.NoError(t, os.WriteFile(filepath.Join(template, name), []byte(secret("http://a.test/x/0")), 0o666))
	}
	was := files(t, template)
	for _, all := range []bool{false, true} {
		befores, afters := 0, 0
		for left := 0; ; left++ {
			what := fmt.Sprintf("all %v, killed at step %d", all, left)
			dir := filepath.Join(t.TempDir(), "crawl")
			require.NoError(t, os.CopyFS(dir, os.DirFS(template)))
			d, steps := dying(dir, left)
			err := forgetOn(t, d, Request{Dir: dir, Subject: site("http://a.test/", true), All: all})
			if err == nil {
				if afters < 5 || befores < 5 {
					t.Fatalf("%s: %d before, %d after: %q", what, befores, afters, *steps)
				}
				inTheEnd(t, what, dir, was)
				break
			}
			require.ErrorIs(t, err, errKilled, what)
			j, err := Open(dir)
			require.NoError(t, err, what)
			if j == nil {
				befores++
				require.Truef(t, maps.EqualFunc(files(t, dir), was, bytes.Equal), "%s: nothing was to be done, and something is changed", what)
				continue
			}
			afters++
			again, _ := dying(dir, left%7) // and killed again
			if err := finishOn(t, again, j); err != nil {
				require.ErrorIs(t, err, errKilled, what)
				if j, err = Open(dir); err != nil || j == nil {
					t.Fatalf("%s: %v, %v", what, j, err)
				}
				require.NoError(t, finishOn(t, &disk{dir: dir}, j), what)
			}
			inTheEnd(t, what, dir, was)
		}
	}
}

func forgetOn(t *testing.T, d *disk, r Request) error {
	j, err := prepare(t.Context(), r, d)
	if err != nil {
		return err
	}
	return finishOn(t, d, j)
}

func finishOn(t *testing.T, d *disk, j *Journal) error {
	return j.finish(t.Context(), d, hands(t, d.dir))
}

func inTheEnd(t *testing.T, what, dir string, was map[string][]byte) {
	t.Helper()
	sound(t, dir)
	for i := range 2 {
		if found := holding(t, dir, secret(fmt.Sprintf("http://a.test/%s/%d", []string{"x", "y"}[i%2], i))); len(found) > 0 {
			t.Fatalf("%s: a body is in %v", what, found)
		}
	}
	now := files(t, dir)
	for name := range now {
		_, there := was[name]
		if !there && filepath.Dir(filepath.FromSlash(name)) != filepath.FromSlash("ledger/checkpoints") && !isTile(name) {
			t.Fatalf("%s: %s is left", what, name)
		}
	}
	require.False(t, t.Failed(), what)
}

func isTile(name string) bool {
	return len(name) > 12 && name[:12] == "ledger/tile/" || name == "ledger/000000.jsonl"
}

func TestAMarkIsWrittenOnce(t *testing.T) {
	dir := crawledShop(t)
	j, err := Prepare(t.Context(), Request{Dir: dir, Subject: subject("http://a.test/x/"), All: true})
	require.NoError(t, err)
	w, err := hands(t, dir).Ledger()
	require.NoError(t, err)
	err = w.Redact(t.Context(), ledger.Redaction{Extent: j.Extent, Subject: j.Digest, Records: j.Records, Entries: j.Entries, Files: j.Files})
	require.NoError(t, err)
	require.NoError(t, j.Finish(t.Context(), dir, hands(t, dir)))
	assert.Len(t, entriesWhere(t, dir, func(e ledger.Entry) bool { return e.Mark != nil && e.Mark.Kind == ledger.KindRedaction }), 1)
	sound(t, dir)
	if err := w.Close(); err == nil {
		t.Log("the first writer closed after the second: only for the test")
	}
}

func TestAJournalLeadsNowhereElse(t *testing.T) {
	good := Journal{Format: journalFormat, Subject: "a.test", Extent: ledger.ExtentAll, Salt: "00", Digest: Digest("00", "a.test")}
	bad := map[string]func(j *Journal){
		"another format":        func(j *Journal) { j.Format = 2 },
		"no extent":             func(j *Journal) { j.Extent = "some" },
		"another subject":       func(j *Journal) { j.Subject = "b.test" },
		"a file above":          func(j *Journal) { j.Files = []ledger.RedactedFile{{Name: "warc/../../x.warc.gz"}} },
		"a file of another":     func(j *Journal) { j.Files = []ledger.RedactedFile{{Name: "ledger/000000.jsonl"}} },
		"an absolute file":      func(j *Journal) { j.Files = []ledger.RedactedFile{{Name: "/warc/x.warc.gz"}} },
		"a hidden file":         func(j *Journal) { j.Files = []ledger.RedactedFile{{Name: "warc/..warc.gz"}} },
		"a segment that goes":   func(j *Journal) { j.Remove = []string{"warc/curtsy-00000.warc.gz"} },
		"the frontier":          func(j *Journal) { j.Remove = []string{"frontier.db"} },
		"a folder above":        func(j *Journal) { j.Remove = []string{".."} },
		"the folder itself":     func(j *Journal) { j.Remove = []string{""} },
		"a folder of the crawl": func(j *Journal) { j.Remove = []string{"warc"} },
	}
	write := func(j Journal) string {
		dir := t.TempDir()
		require.NoError(t, j.write(&disk{dir: dir}))
		return dir
	}
	if j, err := Open(write(good)); err != nil || j == nil {
		t.Errorf("%v, %v", j, err)
	}
	for what, change := range bad {
		j := good
		change(&j)
		if got, err := Open(write(j)); err == nil || got != nil {
			t.Errorf("%s is taken", what)
		}
	}
}

func TestFinish_NeedsPreparedFiles(t *testing.T) {
	for _, damage := range []func(path string) error{
		os.Remove,
		func(path string) error { return os.WriteFile(path, []byte("other"), 0o666) },
	} {
		dir := crawledShop(t)
		j, err := Prepare(t.Context(), Request{Dir: dir, Subject: subject("http://a.test/x/")})
		require.NoError(t, err)
		require.NoError(t, damage(filepath.Join(dir, PreparedName, filepath.FromSlash(j.Files[0].Name))))
		was := files(t, dir)
		assert.Error(t, j.Finish(t.Context(), dir, hands(t, dir)), "it was finished all the same")
		assert.True(t, maps.EqualFunc(files(t, dir), was, bytes.Equal), "it changed something")
	}
}

func TestFinish_RejectsLinks(t *testing.T) {
	pages, refused := shopOf(2)
	dir := crawled(t, pages, refused)
	j, err := Prepare(t.Context(), Request{Dir: dir, Subject: subject("http://a.test/x/")})
	require.NoError(t, err)
	folder, elsewhere := filepath.Join(dir, PreparedName, archiveDir), t.TempDir()
	require.NoError(t, os.Rename(folder, filepath.Join(elsewhere, "warc")))
	if err := os.Symlink(filepath.Join(elsewhere, "warc"), folder); err != nil {
		t.Skip(err)
	}
	assert.ErrorIs(t, j.Finish(t.Context(), dir, hands(t, dir)), durable.ErrForeign)
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"format":1,"extent":"all","salt":"","subject":"","subject_sha256":"01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b"}`))
	f.Add([]byte(`{"format":1,"files":[{"name":"../x"}],"remove":["/"]}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := parseJournal(bytes.NewReader(b))
		if err != nil {
			return
		}
		for _, name := range j.Remove {
			if !filepath.IsLocal(name) || name == "." {
				t.Errorf("%q would be removed", name)
			}
		}
		for _, file := range j.Files {
			if !filepath.IsLocal(file.Name) || filepath.Dir(filepath.FromSlash(file.Name)) == "." {
				t.Errorf("%q would be replaced", file.Name)
			}
		}
	})
}
