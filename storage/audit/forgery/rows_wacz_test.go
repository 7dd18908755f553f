package forgery

import (
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/reconcile"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/wacz"
)

// The files of a package that rows forge.
const (
	packedArchive  = "archive/curtsy-00000.warc.gz"
	packedPages    = "pages/pages.jsonl"
	packedIndex    = "indexes/index.cdxj"
	packedManifest = "datapackage.json"
	packedDigest   = "datapackage-digest.json"
)

// packed is a package that was unpacked: its files, in their order.
type packed struct {
	names []string
	files map[string]string
}

// pack makes a package of the evidence as it is, signed with a key.
func pack(t *testing.T, e *evidence, key []byte) *packed {
	t.Helper()
	ctx, dir := context.Background(), e.write()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.RemoveAll(filepath.Join(dir, "index"))) // that of a forged archive is made anew
	index, err := cdxj.Open(ctx, dir, cdxj.Options{})
	must(err)
	must(index.Close())
	lists, err := cdxj.Files(filepath.Join(dir, "index"))
	must(err)
	o := wacz.Options{Software: "curtsy", Version: "1", Key: ed25519.NewKeyFromSeed(key), TempDir: t.TempDir(), Lines: ledger.Read(filepath.Join(dir, "ledger")),
		Segments: directory(dir).o.Files, Index: func(w io.Writer) error { return cdxj.Merge(w, lists...) }}
	books := filesIn(t, filepath.Join(dir, "ledger"))
	for _, name := range slices.Sorted(maps.Keys(books)) {
		o.Files = append(o.Files, wacz.File{Name: "ledger/" + name, Path: filepath.Join(dir, "ledger", filepath.FromSlash(name))})
	}
	to := filepath.Join(t.TempDir(), "x.wacz")
	_, err = wacz.Create(ctx, to, o)
	must(err)
	z, err := zip.OpenReader(to)
	must(err)
	defer z.Close()
	p := &packed{files: map[string]string{}}
	for _, f := range z.File {
		r, err := f.Open()
		must(err)
		b, err := io.ReadAll(r)
		must(err)
		p.names, p.files[f.Name] = append(p.names, f.Name), string(b)
	}
	return p
}

// members is the archive as a file, a gzip member for each record.
func (e *evidence) members() string {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	for _, r := range e.records {
		one := &evidence{t: e.t, records: []*record{r}}
		z.Reset(&b)
		if _, err := io.WriteString(z, one.archive()); err != nil {
			e.t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			e.t.Fatal(err)
		}
	}
	return b.String()
}

// show shows the package, as curtsy audit FILE does.
func (p *packed) show(t *testing.T) trial {
	t.Helper()
	path := filepath.Join(t.TempDir(), "y.wacz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range p.names {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, p.files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := wacz.Open(context.Background(), path, filepath.Join(t.TempDir(), "u"))
	if err != nil {
		t.Fatal(err)
	}
	return trial{o: audit.Options{Files: b.Files, LeftOut: b.LeftOut()}, l: reconcile.Options{Dir: b.Ledger, Base: b.Base, Stated: b.Stated}, pack: b}
}

func (p *packed) hash(name string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(p.files[name])))
}

// put puts a text in the place of a file.
func (p *packed) put(name, text string) { p.files[name] = text }

// list makes the manifest name a file as it is, that was another.
func (p *packed) list(name, was string) {
	old := &packed{files: map[string]string{name: was}}
	m := strings.ReplaceAll(p.files[packedManifest], old.hash(name), p.hash(name))
	p.put(packedManifest, strings.ReplaceAll(m, fmt.Sprintf("\"bytes\": %d", len(was)), fmt.Sprintf("\"bytes\": %d", len(p.files[name]))))
}

// seal makes the digest name a manifest as it is, that was another.
func (p *packed) seal(was string) {
	old := &packed{files: map[string]string{packedManifest: was}}
	p.put(packedDigest, strings.ReplaceAll(p.files[packedDigest], old.hash(packedManifest), p.hash(packedManifest)))
}

// forged makes a row that forges the package of an honest crawl. liar is that of one whose bread has another body.
func forged(name string, forge func(p, liar *packed)) row {
	return row{class: inPackage, name: name, found: finding.BadPackage, forge: func(e *evidence) { e.changed = true }, show: func(e *evidence) trial {
		p := pack(e.t, e, seedOf("the operator's"))
		was := fmt.Sprint(p.files)
		e.of(bread).answer.replace(e.t, "Rye, wheat", "Oat, wheat")
		forge(p, pack(e.t, e, seedOf("another's")))
		if fmt.Sprint(p.files) == was {
			e.t.Fatal("the forgery changes nothing")
		}
		return p.show(e.t)
	}}
}

// waczRows forge a package of an honest crawl, signed by its operator.
var waczRows = []row{
	forged("a body of its archive", func(p, liar *packed) { p.put(packedArchive, liar.files[packedArchive]) }),
	forged("a body of its archive, and the manifest lists that", func(p, liar *packed) {
		was := p.files[packedArchive]
		p.put(packedArchive, liar.files[packedArchive])
		p.list(packedArchive, was)
	}),
	forged("a body of its archive, the manifest and its digest, and the signatures are left", func(p, liar *packed) {
		was, manifest := p.files[packedArchive], p.files[packedManifest]
		p.put(packedArchive, liar.files[packedArchive])
		p.list(packedArchive, was)
		p.seal(manifest)
	}),
	forged("it is signed again by another key than the ledger", func(p, liar *packed) { *p = *liar }),
	forged("the list of pages", func(p, _ *packed) { p.put(packedPages, strings.ReplaceAll(p.files[packedPages], "/bread", "/cream")) }),
	forged("an archive that it does not list is put in", func(p, liar *packed) {
		p.names = append(p.names, "archive/more.warc.gz")
		p.put("archive/more.warc.gz", liar.files[packedArchive])
	}),
	forged("a file is removed that it lists", func(p, _ *packed) {
		p.names = append(p.names[:0:0], p.names...)
		for i, n := range p.names {
			if n == packedPages {
				p.names = append(p.names[:i], p.names[i+1:]...)
				break
			}
		}
		delete(p.files, packedPages)
	}),
	forged("more answers are said to be left out", func(p, _ *packed) {
		p.put(packedManifest, strings.Replace(p.files[packedManifest], "\"curtsy\": {", "\"curtsy\": {\"noarchive\": [{\"recordsLeftOut\": 7}],", 1))
	}),
	relisted("the list of pages, and everything is sealed again", packedPages, func(s string) string { return strings.ReplaceAll(s, "/bread", "/cream") }),
	relisted("an index that leads nowhere, and everything is sealed again", packedIndex, func(s string) string {
		return regexp.MustCompile(`"offset":"\d+"`).ReplaceAllString(s, `"offset":"0"`)
	}),
	relisted("an index that names another URL, and everything is sealed again", packedIndex, func(s string) string { return strings.ReplaceAll(s, "/bread\"", "/cream\"") }),
	relisted("an index without one of the answers, and everything is sealed again", packedIndex, func(s string) string {
		_, rest, _ := strings.Cut(s, "\n")
		return rest
	}),
	sealed("a file of its archive is compressed again, and everything is sealed again", finding.FileDiffers, packedArchive, func(s string) string {
		return s[:9] + "\x03" + s[10:]
	}),
	sealed("a line of its ledger, and everything is sealed again", finding.LedgerLines, "ledger/000000.jsonl", func(s string) string {
		return strings.Replace(s, `"status":200`, `"status":203`, 1)
	}),
	sealed("a checkpoint of its ledger, and everything is sealed again", finding.LedgerSigner, "ledger/checkpoint", func(s string) string {
		return octet(s, len(s)-9)
	}),
	sealed("its map of hosts, and everything is sealed again", finding.LedgerHosts, "ledger/hosts.jsonl", func(s string) string {
		return octet(s, strings.Index(s, `"count":`)+len(`"count":`))
	}),
	sealed("a tile of its ledger, and everything is sealed again", finding.LedgerTiles, "", func(s string) string { return octet(s, 100) }),
	forged("an archive of a kind that is not read, and the manifest lists it", func(p, _ *packed) {
		manifest, name := p.files[packedManifest], "archive/more.arc.gz"
		p.names = append(p.names, name)
		p.put(name, "hidden")
		p.put(packedManifest, strings.Replace(manifest, "\"resources\": [", fmt.Sprintf("\"resources\": [{\"path\": %q, \"bytes\": 6, \"hash\": \"sha256:%s\"},", name, p.hash(name)), 1))
		p.unsign()
	}),
}

// sealed is relisted for what the ledger gives away. The file "" is the first tile.
func sealed(name string, found finding.Code, file string, change func(string) string) row {
	r := forged(name, func(p, _ *packed) {
		at := file
		for _, n := range p.names {
			if at == "" && strings.HasPrefix(n, "ledger/tile/0/") {
				at = n
			}
		}
		was, manifest := p.files[at], p.files[packedManifest]
		p.put(at, change(was))
		p.list(at, was)
		p.seal(manifest)
		p.unsign()
	})
	r.found = found
	return r
}

// relisted changes a file, and makes manifest and digest name it as it is. The signatures are taken out.
func relisted(name, file string, change func(string) string) row {
	return forged(name, func(p, _ *packed) {
		was, manifest := p.files[file], p.files[packedManifest]
		p.put(file, change(was))
		p.list(file, was)
		p.seal(manifest)
		p.unsign()
	})
}

// unsign leaves the digest without its signatures.
func (p *packed) unsign() {
	p.put(packedDigest, fmt.Sprintf("{\"path\": %q, \"hash\": \"sha256:%s\"}", packedManifest, p.hash(packedManifest)))
}
