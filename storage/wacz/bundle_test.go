package wacz

import (
	"archive/zip"
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger/checkpoint"
)

type made struct {
	t        *testing.T
	names    []string // in their order; a name may be there twice
	files    map[string]string
	manifest map[string]any
	digest   map[string]any
	key      *ecdsa.PrivateKey
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func foreign(t *testing.T) *made {
	m := &made{t: t, files: map[string]string{}, manifest: map[string]any{"profile": "data-package", "wacz_version": "1.1.1", "software": "otherbot 2"}}
	m.add("archive/data.warc.gz", "octets of an archive")
	m.add("indexes/index.cdxj", "")
	m.add("pages/pages.jsonl", `{"format":"json-pages-1.0"}`)
	m.list()
	m.seal()
	return m
}

func (m *made) add(name, text string) {
	m.names, m.files[name] = append(m.names, name), text
}

func (m *made) list() {
	var all []any
	for _, n := range m.names {
		all = append(all, map[string]any{"name": filepath.Base(n), "path": n, "hash": hashOf(m.files[n]), "bytes": len(m.files[n])})
	}
	m.manifest["resources"] = all
}

func (m *made) resource(i int) map[string]any {
	return m.manifest["resources"].([]any)[i].(map[string]any)
}

func (m *made) text() string {
	b, err := json.Marshal(m.manifest)
	require.NoError(m.t, err)
	return string(b)
}

func (m *made) seal() {
	m.digest = map[string]any{"path": "datapackage.json", "hash": hashOf(m.text())}
}

func (m *made) sign(curve elliptic.Curve, der bool) {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(m.t, err)
	m.key = key
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(m.t, err)
	m.digest["signedData"] = map[string]any{"hash": m.digest["hash"], "signature": m.signature(der), "publicKey": base64.StdEncoding.EncodeToString(public)}
}

func (m *made) signature(der bool) string {
	sum := sha256.Sum256([]byte(m.digest["hash"].(string)))
	sig, err := m.key.Sign(rand.Reader, sum[:], crypto.SHA256)
	require.NoError(m.t, err)
	if !der {
		var rs struct{ R, S *big.Int }
		if _, err := asn1.Unmarshal(sig, &rs); err != nil {
			m.t.Fatal(err)
		}
		half := (m.key.Curve.Params().BitSize + 7) / 8
		sig = make([]byte, 2*half)
		rs.R.FillBytes(sig[:half])
		rs.S.FillBytes(sig[half:])
	}
	return base64.StdEncoding.EncodeToString(sig)
}

func (m *made) certify(domain string) {
	m.sign(elliptic.P256(), true)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"archive.example"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &m.key.PublicKey, m.key)
	require.NoError(m.t, err)
	m.digest["signedData"] = map[string]any{
		"hash": m.digest["hash"], "signature": m.signature(true), "domain": domain,
		"domainCert": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), "timeSignature": "x",
	}
}

func (m *made) byLedger() ed25519.PrivateKey {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	m.digest["ledgerSignature"] = map[string]any{"algorithm": "Ed25519", "key": hex.EncodeToString(key.Public().(ed25519.PublicKey)),
		"sig": hex.EncodeToString(ed25519.Sign(key, LedgerMessage(m.digest["hash"].(string))))}
	return key
}

func (m *made) write() string {
	path := filepath.Join(m.t.TempDir(), "x.wacz")
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	put := func(name, text string) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		require.NoError(m.t, err)
	}
	for _, n := range m.names {
		put(n, m.files[n])
	}
	if m.manifest != nil {
		put(manifestName, m.text())
	}
	if m.digest != nil {
		d, err := json.Marshal(m.digest)
		require.NoError(m.t, err)
		put(digestName, string(d))
	}
	require.NoError(m.t, z.Close())
	require.NoError(m.t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// opened returns the findings of Open: violations, then notes in brackets.
func (m *made) opened(r *audit.Result) (*Package, string) {
	m.t.Helper()
	file := m.write()
	p, err := Open(m.t.Context(), file, filepath.Join(m.t.TempDir(), "u"))
	require.NoError(m.t, err)
	var all []string
	if err := p.Close(m.t.Context(), r, func(f finding.Finding) {
		s := strings.TrimPrefix(f.File, file+":") + ": " + f.Observed
		if f.Note {
			s = "(" + s + ")"
		}
		all = append(all, s)
	}); err != nil {
		m.t.Fatal(err)
	}
	return p, strings.Join(all, "\n")
}

func TestPackage_MatchesManifest(t *testing.T) {
	for name, c := range map[string]struct {
		make func(m *made)
		want string // the first finding; "" for none
	}{
		"as it should be": {func(m *made) {}, ""},
		"another octet":   {func(m *made) { m.files["archive/data.warc.gz"] = "octets of an archivE" }, "archive/data.warc.gz: sha256:"},
		"more octets":     {func(m *made) { m.files["archive/data.warc.gz"] += "!" }, "archive/data.warc.gz: 21 bytes"},
		"a page that is not archived": {func(m *made) { m.files["pages/pages.jsonl"] = `{"url":"http://evil.example/"}`; m.list(); m.seal() },
			"(pages/pages.jsonl: it has lines that do not match, first: http://evil.example/"},
		"an unarchived page, of curtsy": {func(m *made) {
			m.manifest["software"] = "curtsy 1"
			m.files["pages/pages.jsonl"] = `{"url":"http://evil.example/"}`
			m.list()
			m.seal()
		}, "pages/pages.jsonl: http://evil.example/"},
		"an index line of nothing": {func(m *made) {
			m.files["indexes/index.cdxj"] = `a)/ 20260101000000 {"url":"http://a/","offset":"0","length":"5","filename":"data.warc.gz"}`
			m.list()
			m.seal()
		}, "(indexes/index.cdxj: it has lines that do not match, first: data.warc.gz 0 http://a/"},
		"no index, of curtsy": {func(m *made) {
			m.manifest["software"] = "curtsy 1"
			m.names = append(m.names[:1:1], m.names[2:]...)
			m.list()
			m.seal()
		}, "indexes/index.cdxj: it is missing"},
		"an archive that is not read":  {func(m *made) { m.add("archive/x.warc.zst", "x"); m.list(); m.seal() }, "(archive/x.warc.zst: its content is not audited"},
		"an unread archive, of curtsy": {func(m *made) { m.manifest["software"] = "curtsy 1"; m.add("archive/x.arc.gz", "x"); m.list(); m.seal() }, "archive/x.arc.gz: its content is not audited"},
		"another page list":            {func(m *made) { m.files["pages/pages.jsonl"] = `{"format":"json-pages-2.0"}` }, "pages/pages.jsonl: sha256:"},
		"size":                         {func(m *made) { m.resource(0)["bytes"] = 7; m.seal() }, "archive/data.warc.gz: 20 bytes"},
		"hash, and sealed again":       {func(m *made) { m.resource(0)["hash"] = hashOf("x"); m.seal() }, "archive/data.warc.gz: sha256:"},
		"hash, and not sealed":         {func(m *made) { m.resource(0)["hash"] = hashOf("x") }, "datapackage-digest.json: path \"datapackage.json\""},
		"hash of another kind":         {func(m *made) { m.resource(0)["hash"] = "md5:00"; m.seal() }, "archive/data.warc.gz: its hash is md5:00"},
		"a file is gone":               {func(m *made) { m.names = m.names[1:] }, "archive/data.warc.gz: it is not in the package"},
		"an archive more":              {func(m *made) { m.add("archive/more.warc.gz", "x") }, "archive/more.warc.gz: it is not listed"},
		"a ledger more":                {func(m *made) { m.add("ledger/000000.jsonl", "x") }, "ledger/000000.jsonl: it is not listed"},
		"a file of no account more":    {func(m *made) { m.add("thumbnail.png", "x") }, "(thumbnail.png: it is not listed)"},
		"listed twice": {func(m *made) {
			m.manifest["resources"] = append(m.manifest["resources"].([]any), m.resource(0))
			m.seal()
		}, "archive/data.warc.gz: it is listed twice"},
		"twice in the ZIP file":       {func(m *made) { m.names = append(m.names, m.names[0]) }, "archive/data.warc.gz: there are two files of that name"},
		"no manifest":                 {func(m *made) { m.manifest, m.digest = nil, nil }, "datapackage.json: it is missing"},
		"a manifest without a format": {func(m *made) { delete(m.manifest, "wacz_version"); m.seal() }, "(datapackage.json: it does not have both)"},
		"another manifest":            {func(m *made) { m.manifest["title"] = "x" }, "datapackage-digest.json: path"},
		"a digest of another file":    {func(m *made) { m.digest["path"] = "pages/pages.jsonl" }, "datapackage-digest.json: path \"pages/pages.jsonl\""},
		"no digest":                   {func(m *made) { m.digest = nil }, ""},
		"no digest, of curtsy":        {func(m *made) { m.manifest["software"] = "curtsy 1"; m.digest = nil }, "datapackage-digest.json: it is missing"},
		"signed":                      {func(m *made) { m.sign(elliptic.P384(), false) }, ""},
		"signed with P-256, in ASN.1": {func(m *made) { m.sign(elliptic.P256(), true) }, ""},
		"signed, then changed": {func(m *made) {
			m.sign(elliptic.P384(), false)
			m.manifest["title"] = "x"
			m.digest["hash"] = hashOf(m.text())
		}, "datapackage-digest.json: signedData is of another hash"},
		"signature of another hash": {func(m *made) {
			m.sign(elliptic.P384(), false)
			m.manifest["title"] = "x"
			m.digest["hash"] = hashOf(m.text())
			m.digest["signedData"].(map[string]any)["hash"] = m.digest["hash"]
		}, "datapackage-digest.json: key "},
		"signature by another key": {func(m *made) {
			m.sign(elliptic.P384(), false)
			old := m.digest["signedData"].(map[string]any)["signature"]
			m.sign(elliptic.P384(), false)
			m.digest["signedData"].(map[string]any)["signature"] = old
		}, "datapackage-digest.json: key "},
		"an invalid signature": {func(m *made) {
			m.sign(elliptic.P384(), false)
			m.digest["signedData"].(map[string]any)["signature"] = "!"
		}, "datapackage-digest.json: key "},
		"an invalid key": {func(m *made) {
			m.sign(elliptic.P384(), false)
			m.digest["signedData"].(map[string]any)["publicKey"] = "AAAA"
		}, "datapackage-digest.json: key "},
		"a domain":            {func(m *made) { m.certify("archive.example") }, ""},
		"another domain":      {func(m *made) { m.certify("bank.example") }, "datapackage-digest.json: domain bank.example: x509"},
		"by the ledger's key": {func(m *made) { m.byLedger() }, ""},
		"an invalid ledger signature": {func(m *made) {
			m.byLedger()
			m.digest["ledgerSignature"].(map[string]any)["sig"] = strings.Repeat("0", 128)
		}, "datapackage-digest.json: ledgerSignature is not"},
		"a ledger signature without a key": {func(m *made) { m.byLedger(); m.digest["ledgerSignature"].(map[string]any)["key"] = "00" }, "datapackage-digest.json: ledgerSignature cannot be read"},
	} {
		m := foreign(t)
		c.make(m)
		r := &audit.Result{}
		p, found := m.opened(r)
		assert.Truef(t, (c.want == "") == (found == "") && strings.HasPrefix(found, c.want), "%s: %q, want %q", name, found, c.want)
		if r.Package != &p.check || r.Package.OK != (c.want == "" || strings.HasPrefix(c.want, "(")) || r.Package.OK && len(r.CannotShow) == 0 {
			t.Errorf("%s: %+v, %q", name, r.Package, r.CannotShow)
		}
	}
}

func TestPackage_SignedByLedgerKey(t *testing.T) {
	m := foreign(t)
	key := m.byLedger()
	of := checkpoint.KeyOf(key.Public().(ed25519.PublicKey))
	mine := of.Name()
	p, found := m.opened(&audit.Result{Ledger: &audit.LedgerCheck{Keys: []string{of.String()}}})
	assert.Truef(t, found == "" && slices.Equal(p.check.Signed, []string{"ledger key " + mine}), "%q, %+v", found, p.check)
	if _, found := foreign(t).opened(&audit.Result{Ledger: &audit.LedgerCheck{Keys: []string{of.String()}}}); !strings.HasPrefix(found, "(datapackage-digest.json: key "+mine) {
		t.Errorf("an unsigned package: %q", found)
	}
	killed := &audit.Result{Ledger: &audit.LedgerCheck{}}
	if _, found := m.opened(killed); found != "" || !strings.Contains(strings.Join(killed.CannotShow, "\n"), "the ledger names no key") {
		t.Errorf("a ledger whose runs were all killed: %q, %q", found, killed.CannotShow)
	}
	_, found = m.opened(&audit.Result{Ledger: &audit.LedgerCheck{Keys: []string{"another"}}})
	assert.Truef(t, strings.Contains(found, mine+" signed the package, and another the ledger"), "%q", found)
}

func TestNothingInAPackageLeadsOutOfItsFolder(t *testing.T) {
	m := foreign(t)
	for _, n := range []string{"archive/../../../evil.warc.gz", "ledger/../evil.jsonl", `archive\..\evil.warc`, "/archive/evil.warc", "archive//x/../../e.warc.gz", "archive/ü ?*.warc.gz", "archive/" + strings.Repeat("n", 300) + ".warc", "ledger/.hidden", "ledger/sub/x.jsonl", "ledger/tile/../../../evil", "ledger/tile/0/..", "ledger/tile/0/000.p/3", "ledger/tile/" + strings.Repeat("x/", 50) + "y", "ledger/checkpoints/000000000001", "ARCHIVE/x.warc", "archive/x.txt"} {
		m.add(n, n)
	}
	m.list()
	m.seal()
	up := t.TempDir()
	dir := filepath.Join(up, "a", "b")
	p, err := Open(t.Context(), m.write(), dir)
	require.NotErrorIs(t, err, zip.ErrInsecurePath, "it is not read, though names are not believed anyway")
	require.NoError(t, err)
	err = filepath.WalkDir(up, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Dir(path) != filepath.Join(dir, "archive") && !strings.HasPrefix(path, filepath.Join(dir, "ledger")+string(filepath.Separator)) && filepath.Dir(path) != filepath.Join(dir, "beside") {
			t.Errorf("unpacked to %s", path)
		}
		return err
	})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(p.Files), 4, "files")
}

func TestOpen_RejectsOtherFiles(t *testing.T) {
	m := &made{t: t, files: map[string]string{}}
	m.add("readme.txt", "x")
	text := filepath.Join(t.TempDir(), "x.wacz")
	require.NoError(t, os.WriteFile(text, []byte("not a ZIP file"), 0o600))
	bomb := foreign(t)
	bomb.add("archive/bomb.warc", strings.Repeat("\x00", 4<<20))
	bomb.list()
	bomb.seal()
	for path, says := range map[string]string{text: errNoPackage.Error(), m.write(): "without an archive", filepath.Join(t.TempDir(), "none.wacz"): "no such file"} {
		p, err := Open(t.Context(), path, t.TempDir())
		assert.Truef(t, p == nil && err != nil && strings.Contains(err.Error(), says), "%s: %v, want %q", path, err, says)
	}
	p := &Package{dir: t.TempDir(), names: map[string]string{}}
	z, err := zip.OpenReader(bomb.write())
	require.NoError(t, err)
	defer z.Close()
	at := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == "archive/bomb.warc" })
	_, err = p.entry(t.Context(), z.File[at], resource{}, false, 1<<20)
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "far more than it is"), "a bomb: %v", err)
}

func TestAnRSAKeyIsNotGuessedAt(t *testing.T) {
	err := verify(&rsa.PublicKey{}, "", "")
	assert.True(t, err != nil && err.Error() == fmt.Sprintf("its key is a %T: only ECDSA is checked", &rsa.PublicKey{}), err)
}
