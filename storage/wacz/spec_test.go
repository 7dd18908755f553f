package wacz

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/warc"
)

func TestSpecArchiveHoldsTheSegmentsOctetForOctetAndStored(t *testing.T) {
	c := crawl(t, 600, small2()...)
	o := c.options(t)
	f := packedBy(t, o)
	require.GreaterOrEqualf(t, len(o.Segments), 2, "only %d segments", len(o.Segments))
	for _, p := range o.Segments {
		want, err := os.ReadFile(p)
		require.NoError(t, err)
		name := "archive/" + filepath.Base(p)
		assert.Equalf(t, want, f.read(name), "%s is not the file", name)
		e := f.entry(name)
		assert.Truef(t, e.Method == zip.Store && e.Flags&8 == 0, "%s: method %d, flags %#x: a player cannot read one record of it", name, e.Method, e.Flags)
	}
}

func small2() (all []exchange) {
	for i := range 6 {
		all = append(all, exchange{url: fmt.Sprintf("http://bakery.test/%d", i), body: fmt.Sprintf("<title>Page %d</title>", i)})
	}
	return all
}

func TestSpecEachLineOfTheIndexLeadsToItsRecord(t *testing.T) {
	for _, size := range []int64{0, 600} {
		f := packedBy(t, crawl(t, size, append(small2(), exchange{url: "http://a.test/again", body: "<title>Page 3</title>"})...).options(t))
		checkIndex(t, f, f.read("indexes/index.cdxj"), 7)
	}
}

func checkIndex(t *testing.T, f *file, index []byte, want int) {
	t.Helper()
	n, last := 0, ""
	for line := range bytes.Lines(index) {
		if n++; string(line) < last {
			t.Fatalf("line %d is not in order", n)
		}
		last = string(line)
		_, object, _ := bytes.Cut(line, []byte(" {"))
		var at struct{ URL, Filename, Offset, Length string }
		require.NoError(t, json.Unmarshal(append([]byte("{"), object...), &at))
		var offset, length int64
		fmt.Sscan(at.Offset, &offset)
		fmt.Sscan(at.Length, &length)
		start, err := f.entry("archive/" + at.Filename).DataOffset()
		require.NoError(t, err)
		r := warc.NewReader(bytes.NewReader(f.octets[start+offset : start+offset+length]))
		rec, err := r.Next()
		require.Falsef(t, err != nil || rec.TargetURI() != at.URL || rec.Type != "response" && rec.Type != "revisit", "line %d leads to %+v, %v", n, rec, err)
		end, err := r.End()
		assert.Truef(t, err == nil && end == length, "line %d: the member ends at %d of %d, %v", n, end, length, err)
	}
	assert.Equalf(t, want, n, "%d lines, want %d", n, want)
}

func TestSpecPagesAreJSONLinesWithURLAndDate(t *testing.T) {
	f := packedBy(t, small(t).options(t))
	first, _, _ := bytes.Cut(f.read("pages/pages.jsonl"), []byte("\n"))
	var head map[string]any
	err := json.Unmarshal(first, &head)
	assert.Truef(t, err == nil && head["format"] == "json-pages-1.0" && head["id"] == "pages", "the list begins with %s", first)
	type row struct {
		url, title string
		seed       bool
	}
	var got []row
	for _, p := range f.pages("pages/pages.jsonl") {
		at, err := time.Parse(time.RFC3339, p.Time)
		assert.Truef(t, err == nil && !at.Before(began) && !at.After(began.Add(time.Minute)) && p.ID != "", "%+v, %v", p, err)
		got = append(got, row{p.URL, p.Title, p.Seed})
	}
	want := []row{
		{"http://bakery.test/", "Bread & more", true},
		{"http://bakery.test/about", "About us", false},
		{"http://bakery.test/copy", "About us", false}, // a revisit: its title is that of the page it repeats
	}
	assert.Truef(t, slices.Equal(got, want), "pages\n%v, want\n%v", got, want)
	m := f.manifest()
	assert.Truef(t, m.MainURL == "http://bakery.test/" && m.MainDate == f.pages("pages/pages.jsonl")[0].Time, "a reader begins at %q, %q", m.MainURL, m.MainDate)
}

func TestSpecTheManifestListsEveryFileWithItsSizeAndHash(t *testing.T) {
	o := small(t).options(t)
	extra := filepath.Join(t.TempDir(), "000001.jsonl")
	require.NoError(t, os.WriteFile(extra, []byte("{}\n"), 0o600))
	o.Files = []File{{"ledger/000001.jsonl", extra}, {"report/report.html", extra}}
	f := packedBy(t, o)
	m := f.manifest()
	assert.Truef(t, m.Profile == "data-package" && m.Version == "1.1.1" && m.Software == "curtsy 0.0.0" && m.Title != "", "%+v", m)
	at, err := time.Parse(time.RFC3339, m.Created)
	assert.Truef(t, err == nil && !at.Before(began.Add(5*time.Second)), "created %s, %v", m.Created, err)
	listed, names := map[string]resource{}, map[string]bool{}
	for _, r := range m.Resources {
		if names[r.Name] || r.Name != strings.ToLower(path.Base(r.Path)) {
			t.Errorf("the name %q of %s", r.Name, r.Path) // Data Resource: unique, lower case
		}
		listed[r.Path], names[r.Name] = r, true
	}
	for _, e := range f.zip.File {
		if e.Name == "datapackage.json" || e.Name == "datapackage-digest.json" {
			continue
		}
		b := f.read(e.Name)
		sum := sha256.Sum256(b)
		r := listed[e.Name]
		assert.Truef(t, r.Bytes == int64(len(b)) && r.Hash == "sha256:"+hex.EncodeToString(sum[:]), "%s: %+v", e.Name, r)
		delete(listed, e.Name)
	}
	assert.Empty(t, listed, "listed and not there")
}

func TestSpecTheFoldersOfTheFormatTakeNothingElse(t *testing.T) {
	p := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(p, nil, 0o600))
	for _, name := range []string{"archive/x", "pages/x.jsonl", "indexes/x.cdx", "x", "../x", "a/../x", "/x", "a//x", "a/b\\c", "a/\x1b", "a/.x"} {
		o := small(t).options(t)
		o.Files = []File{{name, p}}
		_, err := Write(t.Context(), io.Discard, o)
		assert.Errorf(t, err, "%q was packed", name)
	}
}

// wacz-auth, Anonymous Signature: exactly these properties, and a signature of the hash as text, as in Web Cryptography.
func TestSpecTheAnonymousSignatureVerifies(t *testing.T) {
	o := small(t).options(t)
	f := packedBy(t, o)
	var d struct {
		Path, Hash string
		SignedData map[string]string
		Ledger     ledgerSignature `json:"ledgerSignature"`
	}
	require.NoError(t, json.Unmarshal(f.read("datapackage-digest.json"), &d))
	sum := sha256.Sum256(f.read("datapackage.json"))
	assert.Truef(t, d.Path == "datapackage.json" && d.Hash == "sha256:"+hex.EncodeToString(sum[:]) && d.Hash == f.Hash && d.SignedData["hash"] == d.Hash, "%+v", d)
	for name := range d.SignedData {
		assert.Contains(t, []string{"hash", "created", "software", "version", "signature", "publicKey"}, name, "a property")
	}
	der, _ := base64.StdEncoding.DecodeString(d.SignedData["publicKey"])
	key, err := x509.ParsePKIXPublicKey(der)
	require.NoError(t, err)
	public := key.(*ecdsa.PublicKey)
	sig, _ := base64.StdEncoding.DecodeString(d.SignedData["signature"])
	want := sha256.Sum256([]byte(d.Hash))
	if len(sig) != 96 || public.Curve != elliptic.P384() ||
		!ecdsa.Verify(public, want[:], new(big.Int).SetBytes(sig[:48]), new(big.Int).SetBytes(sig[48:])) {
		t.Error("the signature does not verify")
	}
	own, _ := hex.DecodeString(d.Ledger.Sig)
	if d.Ledger.Key != hex.EncodeToString(o.Key.Public().(ed25519.PublicKey)) ||
		!ed25519.Verify(o.Key.Public().(ed25519.PublicKey), LedgerMessage(d.Hash), own) {
		t.Error("the signature of the ledger's key does not verify")
	}
}

func TestPack_WithoutKeyOnlyDigest(t *testing.T) {
	o := small(t).options(t)
	o.Key = nil
	text := string(packedBy(t, o).read("datapackage-digest.json"))
	assert.True(t, !strings.Contains(text, "sign") && strings.Contains(text, "sha256:"), text)
}

func TestSpecALargeIndexIsZipNum(t *testing.T) {
	var index strings.Builder
	var lines []string
	for i := range 30_000 {
		lines = append(lines, fmt.Sprintf("test,bakery)/%06d 20260504030201 {\"url\":\"http://bakery.test/%06d\",\"filename\":\"a.warc.gz\",\"offset\":\"%d\",\"length\":\"10\"}\n", i, i, 10*i))
		index.WriteString(lines[i])
	}
	s := newSpool(t.TempDir())
	defer s.Close()
	io.WriteString(s, index.String())
	var b bytes.Buffer
	w := newBundle(&b, began, t.TempDir())
	require.NoError(t, w.index(t.Context(), s))
	require.NoError(t, w.zip.Close())
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	f := &file{t: t, octets: b.Bytes(), zip: z}
	assert.True(t, f.entry("indexes/index.cdxj") == nil && f.entry("indexes/index.cdx.gz").Method == zip.Store, "it is not stored as ZipNum")
	blocks := f.read("indexes/index.cdx.gz")
	heads := bufio.NewScanner(bytes.NewReader(f.read("indexes/index.idx")))
	if heads.Scan(); heads.Text() != `!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}` {
		t.Errorf("the .idx begins with %s", heads.Text())
	}
	var whole []byte
	for n := 0; heads.Scan(); n++ {
		key, object, _ := strings.Cut(heads.Text(), " {")
		var at struct {
			Offset, Length   int
			Digest, Filename string
		}
		require.NoError(t, json.Unmarshal([]byte("{"+object), &at))
		block := blocks[at.Offset : at.Offset+at.Length]
		sum := sha256.Sum256(block)
		r, err := gzip.NewReader(bytes.NewReader(block))
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		if err != nil || !strings.HasPrefix(lines[n*blockLines], key) || at.Digest != "sha256:"+hex.EncodeToString(sum[:]) || at.Filename != "index.cdx.gz" {
			t.Fatalf("block %d: %q %+v, %v", n, key, at, err)
		}
		whole = append(whole, text...)
	}
	assert.Equal(t, index.String(), string(whole), "the blocks are not the index")
}
