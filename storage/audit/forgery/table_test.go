package forgery

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/accesslog"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/reconcile"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/wacz"
)

var update = flag.Bool("update", false, "write the table in docs/reference/audit-forgeries.md anew")

// The classes of forgeries, by what is forged.
const (
	inArchive = "archive" // the archive alone
	inIndex   = "index"   // the index alone
	inConfig  = "settings"
	inLedger  = "ledger"  // the ledger alone
	inBoth    = "both"    // both, so that they agree
	inLog     = "log"     // an access log, or an archive beside an honest one
	inPackage = "wacz"    // a package of an honest crawl
	foreign   = "foreign" // an archive of another crawler
)

var classes = []string{inArchive, inIndex, inConfig, inLedger, inBoth, inLog, inPackage, foreign}

// helper is what somebody else holds.
type helper string

const (
	lodged  helper = "the submitted checkpoint"
	logs    helper = "the access log"
	known   helper = "the operator's key"
	witness helper = "the witness's key"
	another helper = "the head that another site was shown"
	bundled helper = "the checkpoint of that bundle"
)

// trial is what is shown to the audit.
type trial struct {
	o audit.Options
	l reconcile.Options // without a Dir there is no ledger to compare with
	// logs are the access logs.
	logs []accesslog.Log
	pack *wacz.Package // nil for what is no package
}

// directory shows a crawl directory, as curtsy audit DIR does.
func directory(dir string) trial {
	files, _ := filepath.Glob(filepath.Join(dir, "warc", "*.warc*")) // the pattern is right
	slices.Sort(files)
	return trial{o: audit.Options{Files: files}, l: reconcile.Options{Dir: filepath.Join(dir, "ledger"), Root: dir, Settings: settingsName}}
}

// judge audits.
func (tr trial) judge(t *testing.T) *audit.Result {
	t.Helper()
	ctx := context.Background()
	tr.o.TempDir, tr.l.TempDir = t.TempDir(), t.TempDir()
	lo := accesslog.Options{TempDir: t.TempDir(), Skew: 2e9, Logs: tr.logs}
	if dir := tr.l.Dir; dir != "" {
		tr.o.Ours = true
		if _, err := os.Stat(dir); err != nil {
			tr.o.Ours = false
			tr.o.Witnesses = append(tr.o.Witnesses, reconcile.NoLedger(dir))
		} else {
			book, err := reconcile.Open(ctx, tr.l)
			require.NoError(t, err)
			tr.o.Witnesses, lo.Crashed, lo.Whole = append(tr.o.Witnesses, book), book.Crashed, true
		}
	}
	if tr.l.Dir != "" && tr.pack == nil {
		tr.o.Witnesses = append(tr.o.Witnesses, audit.NotRead(filepath.Dir(tr.o.Files[0]), tr.o.Files))
	}
	if len(tr.logs) > 0 {
		tr.o.Witnesses = append(tr.o.Witnesses, accesslog.Compare(lo))
	}
	if tr.pack != nil {
		tr.o.Witnesses = append(tr.o.Witnesses, tr.pack)
	}
	r, err := audit.Run(ctx, tr.o)
	require.NoError(t, err)
	return r
}

// violations are the codes of what is no note.
func violations(r *audit.Result) (codes []finding.Code) {
	for _, c := range r.Counts {
		if c.Found > c.Notes {
			codes = append(codes, c.Code)
		}
	}
	return codes
}

// findings shows what was found.
func findings(r *audit.Result) string {
	var b strings.Builder
	for i, f := range r.Findings {
		if i == 8 {
			fmt.Fprintf(&b, "\n  … %d in all", len(r.Findings))
			break
		}
		fmt.Fprintf(&b, "\n  %s (note %v) %s: required %s; observed %s", f.Code, f.Note, f.URL, f.Required, f.Observed)
	}
	return b.String()
}

func TestTheAuditFindsEachForgery(t *testing.T) {
	dir := t.TempDir()
	crawl(t, dir)
	head, err := ledger.Latest(filepath.Join(dir, "ledger"))
	require.NoError(t, err)
	t.Run("the honest", func(t *testing.T) { honest(t, dir, &head.Checkpoint) })
	if t.Failed() {
		return
	}
	met := map[string]int{}
	for _, r := range rows(t) {
		if testing.Short() {
			if met[r.class]++; met[r.class] > 2 {
				continue
			}
		}
		t.Run(r.class+"/"+r.name, func(t *testing.T) {
			e := readEvidence(t, dir)
			switch r.class {
			case foreign:
				stranger(e)
			case inPackage:
				e.pack = pack(t, e, seedOf("the operator's"))
			}
			was := e.text()
			r.forge(e)
			if e.text() == was && !e.changed {
				t.Fatal("the forgery changes nothing")
			}
			shown := e.shown(r.class)
			if r.with != "" || r.found == "" {
				if found := shown.judge(t); !found.Clean {
					t.Errorf("it is found alone: %v%s", violations(found), findings(found))
				}
			}
			if alone := slices.Contains([]string{inArchive, inIndex, inConfig, inLedger}, r.class); alone && !e.remade && !e.torn && (r.found == "" || r.with != "") {
				t.Error("it needs help, though the ledger was not made anew")
			}
			shown.help(t, r.with, dir, &head.Checkpoint)
			if r.found == "" {
				return
			}
			if found := shown.judge(t); !slices.Contains(violations(found), r.found) {
				t.Errorf("%v, want %s%s", violations(found), r.found, findings(found))
			}
		})
	}
}

// help gives what somebody else holds of the honest crawl in dir.
func (tr *trial) help(t *testing.T, with helper, dir string, head *checkpoint.Checkpoint) {
	switch with {
	case lodged:
		tr.l.Heads = []checkpoint.Checkpoint{*head}
	case known:
		tr.l.Key = operatorKey.Key()
	case witness:
		tr.l.Witnesses = []checkpoint.Key{witnessKey.Key()}
	case another:
		tr.l.Heads = headsOf(t, elsewhere(t, dir).beside["checkpoint"])
	case bundled:
		tr.l.Heads = headsOf(t, bundleOf(t, elsewhere(t, dir).write()))
	case logs:
		tr.logs = honestLogs(t, readEvidence(t, dir))
	}
}

// honest evidence is clean however it is shown, and a forger who changes nothing leaves it so.
func honest(t *testing.T, dir string, head *checkpoint.Checkpoint) {
	e := readEvidence(t, dir)
	again := readEvidence(t, dir)
	again.resign()
	for name := range e.beside {
		if strings.HasPrefix(name, "tile/") { // which the pen leaves out
			again.beside[name] = e.beside[name]
		}
	}
	heads := []checkpoint.Checkpoint{*head}
	if e.text() != again.text() {
		t.Error("the forger's pen makes another ledger than the crawl did")
	}
	for name, tr := range map[string]trial{
		"packed":    pack(t, readEvidence(t, dir), seedOf("the operator's")).show(t),
		"the crawl": directory(dir), "written again": directory(e.write()), "with a log that all share": directory(dir), "with logs that overlap": directory(dir),
		"with a log that all share, and that names them": directory(dir), "of another crawler": stranger(readEvidence(t, dir)).show(),
	} {
		switch name {
		case "of another crawler":
		case "with a log that all share":
			tr.l.Heads, e.logs = heads, e.siteLogs()
			tr.logs = e.together("")
		case "with logs that overlap":
			e.logs = e.siteLogs()
			tr.l.Heads, tr.logs = heads, e.overlapping()
		case "with a log that all share, and that names them":
			tr.l.Heads, e.logs = heads, e.siteLogs()
			tr.logs = e.together(":80 ")
		default:
			tr.l.Heads, tr.logs = heads, honestLogs(t, e)
		}
		r := tr.judge(t)
		if !r.Clean || r.Totals.Pages < 15 || r.Totals.Revisits+r.Totals.Elsewhere == 0 && tr.l.Dir != "" {
			t.Errorf("%s: %+v%s", name, r.Totals, findings(r))
		}
		if tr.l.Dir != "" && (r.Level != audit.ConfirmedByLog || r.Ledger.Agree != r.Ledger.Records+r.Ledger.Refusals || r.Totals.Refusals == 0) {
			t.Errorf("%s: level %s, %+v, %+v", name, r.Level, r.Totals, r.Ledger)
		}
	}
}

// A package that leaves out what asks not to be archived, and says so, is as clean as the crawl: archive and ledger agree in
// all else, and the rest is said.
func TestWhatAPackageSaysItLeavesOutIsNotMissed(t *testing.T) {
	dir := t.TempDir()
	crawl(t, dir)
	e := readEvidence(t, dir)
	e.drop(e.of(secret).answer)
	tr := directory(e.write())
	tr.o.LeftOut = 1
	whole := fmt.Sprintf("%x", sha256.Sum256([]byte(e.files[segment])))
	tr.l.Stated = func(string) string { return whole }
	if r := tr.judge(t); !r.Clean || r.Ledger.Agree != r.Ledger.Records+r.Ledger.Refusals {
		t.Errorf("%+v%s", r.Ledger, findings(r))
	}
}

// A package that lost its signatures does not reach the level of the operator's key, though its ledger is signed: anybody
// can have changed the list of pages and the report.
func TestPackageWithoutSignatures_IsNotSigned(t *testing.T) {
	dir := t.TempDir()
	crawl(t, dir)
	for name, c := range map[string]struct {
		forge func(p *packed)
		want  audit.Level
	}{
		"as it was packed":   {func(*packed) {}, audit.SignedByKnown},
		"without signatures": {(*packed).unsign, audit.SelfConsistent},
		"the list of pages changed, without signatures": {func(p *packed) {
			p.files[packedPages] = strings.Replace(p.files[packedPages], `"title":"`, `"title":"Not `, 1)
			p.list(packedPages)
			p.unsign()
		}, audit.SelfConsistent},
	} {
		p := pack(t, readEvidence(t, dir), seedOf("the operator's"))
		c.forge(p)
		tr := p.show(t)
		tr.help(t, known, dir, nil)
		if r := tr.judge(t); r.Level != c.want || slices.ContainsFunc(r.Levels, func(l audit.Reached) bool { return l.Level == audit.SignedByKnown }) != (c.want == audit.SignedByKnown) {
			t.Errorf("%s: level %s, want %s%s", name, r.Level, c.want, findings(r))
		}
	}
}

// docTable is the table as docs/reference/audit-forgeries.md shows it.
func docTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| forged | how | found by |\n|---|---|---|\n")
	for _, r := range rows(t) {
		by := "not found: " + r.why
		if r.found != "" {
			by = "`" + string(r.found) + "`"
		}
		if r.found != "" && r.with != "" {
			by += ", with " + string(r.with)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.class, r.name, by)
	}
	return b.String()
}

// The table in docs/reference/audit-forgeries.md is this one.
func TestTheTableOfForgeriesIsThatOfTheDocs(t *testing.T) {
	const path, begin, end = "../../../docs/reference/audit-forgeries.md", "<!-- forgeries -->\n", "<!-- end of forgeries -->\n"
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(b), begin)
	old, tail, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no %s", path, strings.TrimSpace(begin))
	}
	want := docTable(t)
	switch {
	case old == want:
	case *update:
		require.NoError(t, os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644))
	default:
		t.Errorf("the table in %s is not that of the rows: go test ./storage/audit/forgery -update", path)
	}
}

// At least eighty forgeries are known, some of each class, each named once, and each is found or has a reason why not.
func TestEachForgeryHasItsRow(t *testing.T) {
	seen := map[string]int{}
	for i, r := range rows(t) {
		seen[r.class]++
		if !slices.Contains(classes, r.class) || r.name == "" || strings.Contains(r.name+r.why, "|") || (r.found == "") == (r.why == "") {
			t.Errorf("row %d: %+v", i, r)
		}
		if seen[r.class+"/"+r.name]++; seen[r.class+"/"+r.name] > 1 {
			t.Errorf("%s: %s is there twice", r.class, r.name)
		}
		if r.found != "" && !slices.Contains(finding.Codes(), r.found) {
			t.Errorf("%s: %s is no code", r.name, r.found)
		}
	}
	assert.GreaterOrEqual(t, len(rows(t)), 80, "rows, want 80 at least")
	for _, c := range classes {
		assert.NotEqualf(t, 0, seen[c], "no row forges %s", c)
	}
}
