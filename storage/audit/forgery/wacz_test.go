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
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
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
	names      []string
	files, was map[string]string // as they are, and as they were packed
}

// pack makes a package of the evidence as it is, signed with a key.
func pack(t *testing.T, e *evidence, key []byte) *packed {
	t.Helper()
	ctx, dir := context.Background(), e.write()
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "index"))) // that of a forged archive is made anew
	index, err := cdxj.Open(ctx, dir, cdxj.Options{})
	require.NoError(t, err)
	require.NoError(t, index.Close())
	lists, err := cdxj.Files(filepath.Join(dir, "index"))
	require.NoError(t, err)
	o := wacz.Options{Software: "curtsy", Version: "1", Key: ed25519.NewKeyFromSeed(key), TempDir: t.TempDir(), Lines: ledger.Read(filepath.Join(dir, "ledger")),
		Segments: directory(dir).o.Files, Index: func(w io.Writer) error { return cdxj.Merge(w, lists...) }}
	books := filesIn(t, filepath.Join(dir, "ledger"))
	for _, name := range slices.Sorted(maps.Keys(books)) {
		o.Files = append(o.Files, wacz.File{Name: "ledger/" + name, Path: filepath.Join(dir, "ledger", filepath.FromSlash(name))})
	}
	to := filepath.Join(t.TempDir(), "x.wacz")
	_, err = wacz.Create(ctx, to, o)
	require.NoError(t, err)
	z, err := zip.OpenReader(to)
	require.NoError(t, err)
	defer z.Close()
	p := &packed{files: map[string]string{}}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		p.names, p.files[f.Name] = append(p.names, f.Name), string(b)
	}
	p.was = maps.Clone(p.files)
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
		require.NoError(e.t, z.Close())
	}
	return b.String()
}

// show shows the package, as curtsy audit FILE does.
func (p *packed) show(t *testing.T) trial {
	t.Helper()
	path := filepath.Join(t.TempDir(), "y.wacz")
	f, err := os.Create(path)
	require.NoError(t, err)
	z := zip.NewWriter(f)
	for _, name := range p.names {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, p.files[name])
		}
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	b, err := wacz.Open(context.Background(), path, filepath.Join(t.TempDir(), "u"))
	require.NoError(t, err)
	return trial{o: audit.Options{Files: b.Files, LeftOut: b.LeftOut()}, l: reconcile.Options{Dir: b.Ledger, Base: b.Base, Stated: b.Stated}, pack: b}
}

func (p *packed) hash(name string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(p.files[name])))
}

// list makes the manifest name a file as it is.
func (p *packed) list(name string) {
	old := packed{files: p.was}
	m := strings.ReplaceAll(p.files[packedManifest], old.hash(name), p.hash(name))
	p.files[packedManifest] = strings.ReplaceAll(m, fmt.Sprintf("\"bytes\": %d", len(p.was[name])), fmt.Sprintf("\"bytes\": %d", len(p.files[name])))
}

// seal makes the digest name the manifest as it is.
func (p *packed) seal() {
	old := packed{files: p.was}
	p.files[packedDigest] = strings.ReplaceAll(p.files[packedDigest], old.hash(packedManifest), p.hash(packedManifest))
}

// unsign leaves the digest without its signatures.
func (p *packed) unsign() {
	p.files[packedDigest] = fmt.Sprintf("{\"path\": %q, \"hash\": \"sha256:%s\"}", packedManifest, p.hash(packedManifest))
}
