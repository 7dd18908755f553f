package forgery

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/accesslog"
	"curtsy/storage/audit/cbcp"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/reconcile"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/proof"
	"curtsy/storage/scratch"
	"curtsy/storage/wacz"
	"curtsy/storage/warc"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

var update = flag.Bool("update", false, "write the table in docs/reference/audit-forgeries.md anew")

// The classes of forgeries, by the forged part.
const (
	inArchive = "archive" // only the archive
	inIndex   = "index"   // only the index
	inConfig  = "settings"
	inLedger  = "ledger"  // only the ledger
	inBoth    = "both"    // both, so that they agree
	inLog     = "log"     // an access log, or an archive beside an honest one
	inPackage = "wacz"    // a package of an honest crawl
	foreign   = "foreign" // an archive of another crawler
)

var classes = []string{inArchive, inIndex, inConfig, inLedger, inBoth, inLog, inPackage, foreign}

type helper string

const (
	lodged  helper = "the submitted checkpoint"
	logs    helper = "the access log"
	known   helper = "the operator's key"
	witness helper = "the witness's key"
	another helper = "the head that another site was shown"
	bundled helper = "the checkpoint of that bundle"
)

type trial struct {
	o audit.Options
	l reconcile.Options // without a Dir there is no ledger to compare
	// logs are the access logs.
	logs []accesslog.Log
	pack *wacz.Package // nil unless it is a package
}

func directory(dir string) trial {
	files, _ := filepath.Glob(filepath.Join(dir, "warc", "*.warc*")) // the pattern is right
	slices.Sort(files)
	return trial{o: audit.Options{Files: files}, l: reconcile.Options{Dir: filepath.Join(dir, "ledger"), Root: dir, Settings: settingsName}}
}

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

func violations(r *audit.Result) (codes []finding.Code) {
	for _, c := range r.Counts {
		if c.Found > c.Notes {
			codes = append(codes, c.Code)
		}
	}
	return codes
}

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
	dir := crawl(t)
	head, err := ledger.Latest(filepath.Join(dir, "ledger"))
	require.NoError(t, err)
	t.Run("the honest", func(t *testing.T) { honest(t, dir, &head.Checkpoint) })
	if t.Failed() {
		return
	}
	seen := map[string]int{}
	for _, r := range rows(t) {
		if testing.Short() {
			if seen[r.class]++; seen[r.class] > 2 {
				continue
			}
		}
		t.Run(r.class+"/"+r.name, func(t *testing.T) {
			e := readEvidence(t, dir)
			switch r.class {
			case foreign:
				foreignArchive(e)
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
					t.Errorf("it is found without help: %v%s", violations(found), findings(found))
				}
			}
			if alone := slices.Contains([]string{inArchive, inIndex, inConfig, inLedger}, r.class); alone && !e.remade && !e.torn && (r.found == "" || r.with != "") {
				t.Error("it needs help, though the ledger was not remade")
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
	assert.Equal(t, again.text(), e.text(), "the forger's pen makes another ledger than the crawl did")
	for name, tr := range map[string]trial{
		"packed":    pack(t, readEvidence(t, dir), seedOf("the operator's")).show(t),
		"the crawl": directory(dir), "written again": directory(e.write()), "with a log that all share": directory(dir), "with logs that overlap": directory(dir),
		"with a log that all share, and that names them": directory(dir), "of another crawler": foreignArchive(readEvidence(t, dir)).show(),
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

func TestPackage_DeclaredOmissionsAreAllowed(t *testing.T) {
	dir := crawl(t)
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

// Anybody can have changed the list of pages and the report of a package without signatures.
func TestPackageWithoutSignatures_IsNotSigned(t *testing.T) {
	dir := crawl(t)
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

func TestTable_MatchesDocs(t *testing.T) {
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

func elsewhere(t *testing.T, dir string) *evidence {
	e := readEvidence(t, dir)
	e.value(e.lineOf(e.of(bread)), "depth", "7")
	e.resign()
	return e
}

func headsOf(t *testing.T, note string) []checkpoint.Checkpoint {
	t.Helper()
	n, err := checkpoint.Parse([]byte(note))
	require.NoError(t, err)
	return []checkpoint.Checkpoint{n.Checkpoint}
}

func bundleOf(t *testing.T, dir string) string {
	t.Helper()
	g, err := proof.Of(t.Context(), proof.Crawl{Ledger: filepath.Join(dir, "ledger"), Archive: filepath.Join(dir, "warc"),
		Index: []string{filepath.Join(dir, filepath.FromSlash(index))}, TempDir: t.TempDir()}, "bakery.test")
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = proof.Make(t.Context(), &b, g.Source)
	require.NoError(t, err)
	require.NoError(t, g.Close())
	r, err := proof.Verify(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), proof.Options{Key: operatorKey.Key()})
	require.NoError(t, err)
	if !r.Holds || r.Level != proof.Signed || r.Summary.Lines < 5 {
		t.Errorf("the bundle is not valid: %+v", r)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	f, err := z.Open("checkpoint")
	require.NoError(t, err)
	note, err := io.ReadAll(f)
	require.NoError(t, err)
	return string(note)
}

func TestThePoliteCrawlBreaksNoPractice(t *testing.T) {
	dir := crawl(t)
	foreign := foreignArchive(readEvidence(t, dir)).show().o.Files
	for name, files := range map[string][]string{"ours": {filepath.Join(dir, "warc", "curtsy-00000.warc.gz")}, "another's": foreign} {
		t.Run(name, func(t *testing.T) {
			j := cbcp.New(cbcp.Published{})
			r, err := audit.Run(t.Context(), audit.Options{Files: files, TempDir: t.TempDir(), Witnesses: []audit.Witness{j}})
			require.NoError(t, err)
			got := j.Conclude(r, nil)
			kept := map[string]bool{}
			for _, c := range got.Clauses {
				if kept[c.ID] = c.State == cbcp.Kept; c.State == cbcp.Broken {
					t.Errorf("%s: %s %+v", c.ID, c.Evidence, c.Examples)
				}
			}
			shown := "rep identifiable unique-name description-url re-crawl loops access get caching https"
			if name == "ours" { // metadata have the ends of exchanges, and how URLs were found
				shown += " x-robots-tag back-out visit-log one-at-a-time speed"
			}
			for _, id := range strings.Fields(shown) {
				assert.Truef(t, kept[id], "%s is not shown to be kept", id)
			}
		})
	}
}

// unseen are the changes of heads that nothing but the mark of their file gives away, by kind of record and field, with
// the reason.
var unseen = map[string]string{
	"request WARC-Protocol":       "nothing else tells it, and no rule depends on it",
	"request alone WARC-Protocol": "the same",
	"response WARC-Protocol":      "the same",
	"revisit WARC-Protocol":       "the same",
	"refusals WARC-Record-ID":     "no other record names it",
	"refusals WARC-Date":          "no more is known than that it was written behind the decisions in it",
	"warcinfo WARC-Date":          "no more is known than that the file was begun in its run",
	"warcinfo WARC-Filename":      "a file may be copied under another name",
}

func nearly(value string) string {
	b := []byte(value)
	for i := len(b) - 1; i >= 0; i-- {
		switch c := b[i]; {
		case c >= '0' && c < '9', c >= 'a' && c < 'f':
			b[i] = c + 1
			return string(b)
		case c == '9', c >= 'f' && c <= 'z':
			b[i] = c - 1
			return string(b)
		}
	}
	return value + "x"
}

func TestHeads_EveryFieldIsChecked(t *testing.T) {
	every := effort(1, 4, 30)
	dir := crawl(t)
	honest := readEvidence(t, dir)
	seen := map[string]int{}
	for i, r := range honest.records {
		kind := kindOf(honest, i)
		if seen[kind]++; seen[kind] > 1 {
			continue
		}
		for j, f := range append(slices.Clone(r.fields), warc.Field{Name: "WARC-Truncated"}, warc.Field{Name: "X-More"}, warc.Field{Name: "WARC-IP-Address"}) {
			if (i+j)%every > 0 {
				continue
			}
			for how, forge := range map[string]func(r *record){
				"changed": func(r *record) { r.set(f.Name, nearly(f.Value)) },
				"gone":    func(r *record) { r.del(f.Name) },
				"twice":   func(r *record) { r.again(f.Name, nearly(f.Value)) },
			} {
				held := unseen[kind+" "+f.Name] == "" || f.Name != "WARC-Protocol" && how != "changed"
				if f.Value == "" && (how != "twice" || r.get(f.Name) != "") || f.Name == "Content-Length" {
					continue
				}
				e := readEvidence(t, dir)
				x := e.records[i]
				x.kept = strings.HasSuffix(f.Name, "-Digest")
				if forge(x); held { // not by the mark only
					e.resign()
				}
				assert.Falsef(t, directory(e.write()).judge(t).Clean, "%s: %s is %s, and nothing is found", kind, f.Name, how)
			}
		}
	}
	for _, kind := range []string{"warcinfo", "request", "response", "revisit", "metadata", "refusals", "request alone", "metadata of a request"} {
		assert.NotEqualf(t, 0, seen[kind], "no %s", kind)
	}
}

func kindOf(e *evidence, i int) string {
	r := e.records[i]
	kind := r.get("WARC-Type")
	switch {
	case kind == "metadata" && r.get("WARC-Target-URI") == "":
		return "refusals"
	case kind == "request" && e.answerOf(r) == nil:
		return "request alone"
	case kind == "metadata" && i > 0 && e.records[i-1].is("request"):
		return "metadata of a request"
	}
	return kind
}

func TestNoTwoRecordsChangePlaces(t *testing.T) {
	dir := crawl(t)
	honest := readEvidence(t, dir)
	every := effort(1, 9, 40)
	for i := 0; i < len(honest.records); i += every {
		for _, by := range []int{1, 2, 3, 6} {
			if i+by >= len(honest.records) {
				continue
			}
			e := readEvidence(t, dir)
			e.records[i], e.records[i+by] = e.records[i+by], e.records[i]
			e.resign() // or the mark of the file would give it away
			if res := directory(e.write()).judge(t); res.Clean {
				t.Errorf("records %d, a %s, and %d, a %s, have changed places, and nothing is found", i, kindOf(honest, i), i+by, kindOf(honest, i+by))
			}
		}
	}
}
