package reconcile

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

type directory struct {
	t     *testing.T
	root  string
	texts map[string]string
	*Ledger
}

func newDirectory(t *testing.T) *directory {
	root := t.TempDir()
	d := &directory{t: t, root: root, Ledger: &Ledger{o: Options{Root: root, Settings: "crawl.toml", Before: "crawl.toml.before-"}, runs: newRuns()}, texts: map[string]string{
		"warc/curtsy-00000.warc.gz": "first", "warc/curtsy-00001.warc.gz": "second", "index/curtsy-00000.cdxj": "lines", "index/curtsy-00001.cdxj": "more lines",
		"crawl.toml": "settings", "index/originals": "of no mark", "index/curtsy-00002.cdxj.open": "of no mark yet", "warc/curtsy-00002.warc.gz.open": "being written",
	}}
	d.files.take(1, &ledger.Mark{Kind: ledger.KindRun, Settings: sum("before")})
	d.files.take(2, &ledger.Mark{Kind: ledger.KindRun, Settings: sum("settings")})
	for i, name := range slices.Sorted(maps.Keys(d.texts)) {
		d.put(name, d.texts[name])
		if strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".cdxj") {
			d.mark(int64(i), name, "earlier") // the last mark of a name counts
			d.mark(int64(i), name, d.texts[name])
		}
	}
	return d
}

func (d *directory) put(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.root, filepath.FromSlash(name))
	require.NoError(d.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(d.t, os.WriteFile(path, []byte(text), 0o644))
}

func (d *directory) mark(i int64, name, text string) {
	d.files.take(i, &ledger.Mark{Kind: ledger.KindFile, Name: name, Octets: int64(len(text)), SHA256: sum(text)})
}

func (d *directory) compared(archive []evidence.File) (agree int64, codes string) {
	d.t.Helper()
	if archive == nil {
		paths, _ := filepath.Glob(filepath.Join(d.root, "warc", "*"))
		for _, p := range paths {
			b, err := os.ReadFile(p)
			require.NoError(d.t, err)
			archive = append(archive, evidence.File{Name: p, Octets: int64(len(b)), SHA256: sum(string(b))})
		}
	}
	var all []finding.Finding
	d.check = &audit.LedgerCheck{}
	require.NoError(d.t, d.compareFiles(d.t.Context(), archive, func(f finding.Finding) {
		if f.Required == "" || f.Observed == "" || f.File == "" {
			d.t.Errorf("%+v", f)
		}
		all = append(all, f)
	}))
	return d.check.FilesAgree, codesOf(all)
}

// Package forgery has the other cases.
func TestFiles_MatchMarks(t *testing.T) {
	for name, c := range map[string]struct {
		change func(d *directory)
		want   string
		agree  int64
	}{
		"as they are":              {func(*directory) {}, "", 4},
		"an octet more":            {func(d *directory) { d.put("warc/curtsy-00000.warc.gz", "first\n") }, "file-differs", 3},
		"settings of a run before": {func(d *directory) { d.put("crawl.toml", "before") }, "settings", 4},
		"settings for a later run": {func(d *directory) {
			d.put("crawl.toml", "others")
			d.put("crawl.toml.before-1", "settings")
		}, "(settings)", 4},
		"settings for a later run, and earlier ones changed": {func(d *directory) {
			d.put("crawl.toml", "others")
			d.put("crawl.toml.before-1", "Settings")
		}, "settings", 4},
		"a file more": {func(d *directory) { d.put("warc/curtsy-00003.warc.gz", "third") }, "file-extra", 4},
		"a mark more": {func(d *directory) { d.mark(9, "warc/curtsy-00003.warc.gz", "third") }, "file-missing", 4},
		"a redaction, and the file is rewritten": {func(d *directory) {
			d.redact("index/curtsy-00000.cdxj", "lines", "line")
			d.put("index/curtsy-00000.cdxj", "line")
		}, "", 4},
		"a redaction, and the file is as before": {func(d *directory) { d.redact("index/curtsy-00000.cdxj", "lines", "line") }, "file-differs", 3},
		"a redaction of a missing file": {func(d *directory) {
			d.redact("index/curtsy-00000.cdxj", "others", "line")
			d.put("index/curtsy-00000.cdxj", "line")
		}, "file-differs", 4},
	} {
		d := newDirectory(t)
		c.change(d)
		agree, codes := d.compared(nil)
		assert.Truef(t, codes == c.want && agree == c.agree, "%s: %q, %d agree; want %q, %d", name, codes, agree, c.want, c.agree)
	}
}

func (d *directory) redact(name, before, after string) {
	d.files.take(20, &ledger.Mark{Kind: ledger.KindRedaction, Redaction: &ledger.Redaction{
		Files: []ledger.RedactedFile{{Name: name, Octets: int64(len(after)), SHA256: sum(after), Before: sum(before)}}}})
}

func TestFiles_KillExcusesMissingMark(t *testing.T) {
	d := newDirectory(t)
	for _, n := range []string{"3", "4"} {
		d.put("warc/curtsy-0000"+n+".warc.gz", n)
		d.put("index/curtsy-0000"+n+".cdxj", n)
	}
	last := filepath.Join(d.root, "warc", "curtsy-00004.warc.gz")
	d.runs.all[0].killed, d.runs.files[last], d.runs.ends[0] = true, 0, last
	agree, codes := d.compared(nil)
	assert.Truef(t, codes == "(crash-in-flight) (crash-in-flight) file-extra file-extra" && agree == 4, "%q, %d agree", codes, agree)
	d.mark(30, "warc/curtsy-00004.warc.gz", "another")
	_, codes = d.compared(nil)
	assert.Truef(t, codes == "(crash-in-flight) file-differs file-extra file-extra", "%q", codes)
}

func TestFiles_RunningCrawlFinishesFiles(t *testing.T) {
	d := newDirectory(t)
	first := filepath.Join(d.root, "warc", "curtsy-00000.warc.gz")
	d.running = true // the second was being written when the archive was listed
	archive := []evidence.File{{Name: first, Octets: 5, SHA256: sum("first")}, {Name: filepath.Join(d.root, "warc", "curtsy-00001.warc.gz.open"), Octets: 3}}
	d.put("index/curtsy-00003.cdxj", "of no mark when the ledger was read")
	agree, codes := d.compared(archive)
	assert.Truef(t, codes == "(crash-in-flight)" && agree == 3, "%q, %d agree", codes, agree)
	archive[0].SHA256 = sum("another")
	require.NoError(t, os.Remove(filepath.Join(d.root, "warc", "curtsy-00001.warc.gz")))
	_, codes = d.compared(archive)
	assert.Truef(t, codes == "(crash-in-flight) file-differs file-missing", "%q", codes)
}

func TestFiles_PackageMatchesMarks(t *testing.T) {
	base := func(path string) string { return strings.TrimPrefix(filepath.Base(path), "000007-") }
	for name, c := range map[string]struct {
		first, stated string
		want          string
	}{
		"whole":                      {"first", "", ""},
		"changed":                    {"fir", "", "file-differs"},
		"reduced, and declared":      {"fir", sum("first"), ""},
		"reduced, of another file":   {"fir", sum("worst"), "file-differs"},
		"one is missing, undeclared": {"", "", "file-missing"},
	} {
		d := newDirectory(t)
		d.o = Options{Base: base, Stated: func(path string) string {
			if strings.Contains(path, "00000.warc") {
				return c.stated
			}
			return ""
		}}
		archive := []evidence.File{{Name: "u/000007-curtsy-00001.warc.gz", Octets: 6, SHA256: sum("second")}}
		if c.first != "" {
			archive = append(archive, evidence.File{Name: "u/000007-curtsy-00000.warc.gz", Octets: int64(len(c.first)), SHA256: sum(c.first)})
		}
		_, codes := d.compared(archive)
		assert.Truef(t, codes == c.want, "%s: %q, want %q", name, codes, c.want)
	}
}
