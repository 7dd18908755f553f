package wacz

import (
	"archive/zip"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger/checkpoint"
)

// Package is an opened WACZ file.
type Package struct {
	audit.Silent

	Files  []string // its WARC files, unpacked, sorted by name
	Ledger string   // directory of its ledger, which does not exist if it has none

	name   string
	dir    string
	check  audit.PackageCheck
	found  []finding.Finding
	says   []string
	signer string            // verifier key of the ledger's key that signed
	before []string          // keys that it replaced, by rotation notes with both signatures
	names  map[string]string // in the package, by file
	whole  map[string]string // SHA-256 of segments before the packer omitted records, by the manifest
	ours   bool              // this crawler packed it, or it has a ledger
	beside []string          // index and page lists, unpacked
}

var errNoPackage = errors.New("it is not a WACZ file")

// maxGrowth and spare bound the unpacked size: a multiple of the file's, and a constant. Plain WARC and ledgers shrink to
// a tenth; more is a bomb.
const (
	maxGrowth = 30
	spare     = 1 << 30
)

// Open checks the WACZ file and unpacks its archive and ledger into dir, an empty directory.
func Open(ctx context.Context, file, dir string) (*Package, error) {
	fail := func(err error) (*Package, error) { return nil, fmt.Errorf("audit: %s: %w", file, err) }
	z, err := zip.OpenReader(file)
	if errors.Is(err, zip.ErrFormat) {
		return fail(fmt.Errorf("%w: %w", errNoPackage, err))
	}
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	defer z.Close()
	fi, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	p := &Package{name: file, dir: dir, Ledger: filepath.Join(dir, "ledger"), names: map[string]string{},
		whole: map[string]string{}}
	p.check.File = file
	entries := p.entries(&z.Reader)
	if entries[manifestName] == nil && !slices.ContainsFunc(z.File,
		func(f *zip.File) bool { return strings.HasPrefix(f.Name, "archive/") }) {
		return fail(fmt.Errorf("%w: a ZIP file without %s and without an archive", errNoPackage, manifestName))
	}
	m := p.manifest(entries)
	p.ours = m.ours() || slices.ContainsFunc(z.File,
		func(f *zip.File) bool { return strings.HasPrefix(f.Name, "ledger/") })
	listed := map[string]resource{}
	for _, r := range m.Resources {
		if _, twice := listed[r.Path]; twice {
			p.bad(r.Path, "each file once in the manifest", "it is listed twice")
		}
		listed[r.Path] = r
	}
	left := fi.Size()*maxGrowth + spare
	for _, f := range z.File {
		if f.Name == manifestName || f.Name == digestName || strings.HasSuffix(f.Name, "/") || entries[f.Name] != f {
			continue
		}
		r, has := listed[f.Name]
		if left, err = p.entry(ctx, f, r, has, left); err != nil {
			return fail(err)
		}
	}
	for _, r := range m.Resources {
		if entries[r.Path] == nil {
			p.bad(r.Path, "every file that the manifest lists (WACZ 1.1.1, datapackage.json)",
				"it is not in the package")
		}
	}
	if err := p.compareBeside(ctx); err != nil {
		return fail(err)
	}
	return p, nil
}

// entries returns the files in the package by name, the first of each.
func (p *Package) entries(z *zip.Reader) map[string]*zip.File {
	all := map[string]*zip.File{}
	for _, f := range z.File {
		if all[f.Name] != nil {
			p.bad(f.Name, "each name once in the ZIP file", "there are two files of that name: readers may take either")
			continue
		}
		all[f.Name] = f
	}
	return all
}

func (p *Package) manifest(entries map[string]*zip.File) (m bundleManifest) {
	const asked = "a manifest of the package's files (WACZ 1.1.1, datapackage.json)"
	f := entries[manifestName]
	if f == nil {
		p.bad(manifestName, asked, "it is missing")
		p.digest(entries, nil, &m)
		return m
	}
	b, err := bundleSmall(f)
	if err == nil {
		err = parse(b, &m)
	}
	if err != nil {
		p.bad(manifestName, asked, err.Error())
		m = bundleManifest{}
	}
	p.check.Version, p.check.Software, p.check.Created = m.Version, short(m.Software), short(m.Created)
	if err == nil && (m.Version == "" || m.Profile == "") {
		p.note(manifestName, "profile and wacz_version (WACZ 1.1.1, datapackage.json)", "it does not have both")
	}
	if m.Curtsy != nil {
		for _, r := range m.Curtsy.NoArchive {
			p.check.LeftOut += max(r.Records, 0)
			if r.Records > 0 {
				p.whole[r.Path] = strings.TrimPrefix(r.Whole, "sha256:")
			}
		}
	}
	p.digest(entries, b, &m)
	return m
}

// entry checks a file against the manifest, and unpacks it if the audit reads it. It returns the remaining limit.
func (p *Package) entry(ctx context.Context, f *zip.File, r resource, listed bool, left int64) (int64, error) {
	to, err := p.place(f.Name)
	if err != nil {
		return left, err
	}
	if !listed {
		if to != "" && !slices.Contains(p.beside, to) {
			p.bad(f.Name, "no file of archive or ledger that the manifest does not list",
				"it is not listed, so no hash and no signature covers it")
		} else {
			p.note(f.Name, "every file in the manifest (WACZ 1.1.1, datapackage.json)", "it is not listed")
		}
	}
	in, err := f.Open()
	if err != nil {
		return left, fmt.Errorf("%s in it: %w", f.Name, err)
	}
	defer in.Close()
	h := sha256.New()
	var out io.Writer = h
	if to != "" {
		file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return left, err
		}
		defer file.Close() //nolint:errcheck // a copy; reading it later reveals a failure
		out = io.MultiWriter(h, file)
	}
	n, err := copyAll(ctx, out, io.LimitReader(in, left+1))
	switch {
	case ctx.Err() != nil:
		return left, ctx.Err()
	case n > left:
		return left, fmt.Errorf("%s in it unpacks to far more than it is: it is not read", f.Name)
	case err != nil && to != "" && !errors.Is(err, zip.ErrChecksum) && !errors.Is(err, io.ErrUnexpectedEOF):
		return left, fmt.Errorf("%s in it: %w", f.Name, err)
	case err != nil:
		p.bad(f.Name, "files that can be read to their end", err.Error())
	}
	p.check.Files++
	p.check.Octets += n
	if listed && err == nil {
		p.compare(r, n, "sha256:"+hex.EncodeToString(h.Sum(nil)))
	}
	return left - n, nil
}

func (p *Package) compare(r resource, n int64, hash string) {
	if r.Bytes != n {
		p.bad(r.Path, fmt.Sprintf("%d bytes, as in the manifest", r.Bytes), fmt.Sprintf("%d bytes", n))
	}
	switch algorithm, _, _ := strings.Cut(r.Hash, ":"); {
	case strings.EqualFold(r.Hash, hash):
		p.check.Agree++
	case algorithm != "sha256":
		p.bad(r.Path, "a SHA-256 in the manifest (WACZ 1.1.1, datapackage.json)",
			"its hash is "+short(r.Hash)+", which is not checked")
	default:
		p.bad(r.Path, short(r.Hash)+", as the manifest lists", hash)
	}
}

// place returns the path to unpack a file to, "" for one that the audit does not read.
func (p *Package) place(name string) (string, error) {
	folder, base, _ := strings.Cut(name, "/")
	lower := strings.ToLower(name)
	to := ""
	switch {
	case folder == "archive" && (strings.HasSuffix(lower, ".warc") || strings.HasSuffix(lower, ".warc.gz")):
		to = filepath.Join(p.dir, "archive", fmt.Sprintf("%06d-%s", len(p.Files), plain(path.Base(base))))
		p.Files = append(p.Files, to)
	case folder == "ledger" && isPlain(base):
		to = filepath.Join(p.Ledger, filepath.FromSlash(base))
	case isIndex(name) || strings.HasPrefix(name, "pages/") && strings.HasSuffix(name, ".jsonl"):
		to = filepath.Join(p.dir, "beside", fmt.Sprintf("%06d", len(p.beside)))
		p.beside = append(p.beside, to)
	case folder == "archive":
		p.unreadable(name)
		return "", nil
	default:
		return "", nil
	}
	p.names[to] = p.name + ":" + name
	return to, os.MkdirAll(filepath.Dir(to), 0o700)
}

// plain replaces all but letters, digits and harmless characters in a file name.
func plain(name string) string {
	name = strings.TrimLeft(strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("._-", r)) {
			return r
		}
		return '_'
	}, name), ".")
	return name[max(0, len(name)-100):]
}

// isPlain reports whether a path below the ledger's directory may be one of this crawler's ledger: its own files, tiles
// or checkpoints.
func isPlain(name string) bool {
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if part == "" || part != plain(part) {
			return false
		}
	}
	return len(parts) == 1 || len(parts) <= maxDeep && (parts[0] == "tile" || parts[0] == "checkpoints")
}

// maxDeep is the depth of tiles: tile, level, and the digits of their number, three to a directory.
const maxDeep = 12

func (p *Package) bad(what, required, observed string) {
	p.check.Wrong++
	p.find(false, what, required, observed)
}

// note reports an oddity that is not a violation, or not by this crawler.
func (p *Package) note(what, required, observed string) { p.find(true, what, required, observed) }

func (p *Package) find(note bool, what, required, observed string) {
	if len(p.found) < maxFound {
		p.found = append(p.found, finding.Finding{Code: finding.BadPackage, Note: note,
			Place: finding.Place{File: p.name + ":" + short(what)}, Required: required, Observed: observed})
	}
}

// maxFound bounds the findings kept; the rest is only counted.
const maxFound = 10_000

// short bounds a text from the file.
func short(s string) string {
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "…"
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// unreadable reports a file of the archive that the audit cannot read: it may contain anything.
func (p *Package) unreadable(name string) {
	const asked = "only files in archive/ that the audit reads: *.warc and *.warc.gz"
	what := "its content is not audited"
	if strings.EqualFold(filepath.Ext(name), ".zst") {
		what += ": decompress it (zstd -d) and audit the .warc"
	}
	if p.ours {
		p.bad(name, asked, what)
		return
	}
	p.note(name, asked, what)
	p.says = append(p.says, "the content of "+short(name)+", which is not read")
}

const (
	manifestName = "datapackage.json"
	digestName   = "datapackage-digest.json"

	// maxManifest bounds both. Each file in the package takes some 200 bytes of the first.
	maxManifest = 32 << 20
)

// bundleManifest is the part of datapackage.json that the audit checks.
type bundleManifest struct {
	Profile   string     `json:"profile"`
	Version   string     `json:"wacz_version"`
	Software  string     `json:"software"`
	Created   string     `json:"created"`
	Resources []resource `json:"resources"`
	Curtsy    *struct {
		NoArchive []struct {
			Path    string `json:"path"`
			Records int64  `json:"recordsLeftOut"`
			Whole   string `json:"hashOfTheWhole"`
		} `json:"noarchive"`
	} `json:"curtsy"`
}

func (m *bundleManifest) ours() bool {
	return m.Curtsy != nil || strings.HasPrefix(m.Software, "curtsy")
}

var errLarge = fmt.Errorf("it is larger than %d MiB", maxManifest>>20)

// bundleSmall reads an entry of at most maxManifest bytes.
func bundleSmall(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err == nil && len(b) > maxManifest {
		err = errLarge
	}
	return b, err
}

func parse(b []byte, into any) error {
	err := json.Unmarshal(b, into)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("it is not JSON from byte %d on: %w", syntax.Offset, err)
	}
	return err
}

// digest checks datapackage-digest.json: the manifest's hash and signatures. b is the manifest, nil without one.
func (p *Package) digest(entries map[string]*zip.File, b []byte, m *bundleManifest) {
	f := entries[digestName]
	if f == nil {
		if m.ours() { // Pack always writes one
			p.bad(digestName, "the manifest's hash, which this crawler puts into every package", "it is missing")
		}
		p.says = append(p.says, "the package has no "+digestName+
			" and no signature: anyone may have changed it, including the manifest")
		return
	}
	var d digest
	text, err := bundleSmall(f)
	if err == nil {
		err = parse(text, &d)
	}
	if err != nil {
		p.bad(digestName, "the manifest's hash (WACZ 1.1.1, datapackage-digest.json)", err.Error())
		return
	}
	sum := sha256.Sum256(b)
	hash := "sha256:" + hex.EncodeToString(sum[:])
	if !strings.EqualFold(d.Hash, hash) || d.Path != manifestName {
		p.bad(digestName, fmt.Sprintf("the hash of %s, %s", manifestName, hash),
			fmt.Sprintf("path %q, hash %q", short(d.Path), short(d.Hash)))
	}
	if d.Signed == nil && d.Ledger == nil {
		p.says = append(p.says, "the package is not signed: anyone may have changed it, including the manifest")
		return
	}
	if d.Signed != nil {
		p.signed(&d, hash)
	}
	if d.Ledger != nil {
		p.byLedger(&d, hash)
	}
}

// signed checks the signature of wacz-auth, anonymous or of a domain.
func (p *Package) signed(d *digest, hash string) {
	const asked = "a signature of the manifest's hash (wacz-auth 0.1.0)"
	s := d.Signed
	if !strings.EqualFold(s.Hash, hash) {
		p.bad(digestName, asked, "signedData is of another hash, "+short(s.Hash))
		return
	}
	var key any
	var err error
	by := ""
	if s.DomainCert != "" {
		by = "domain " + short(s.Domain)
		key, err = certified(s.DomainCert, s.Domain)
	} else {
		var der []byte
		if der, err = base64.StdEncoding.DecodeString(s.PublicKey); err == nil {
			key, err = x509.ParsePKIXPublicKey(der)
		}
		sum := sha256.Sum256(der)
		by = "key " + hex.EncodeToString(sum[:8])
	}
	if err == nil {
		err = verify(key, s.Signature, s.Hash)
	}
	if err != nil {
		p.bad(digestName, asked, by+": "+err.Error())
		return
	}
	p.check.Signed = append(p.check.Signed, by)
	p.owner(by)
	if s.DomainCert != "" {
		p.says = append(p.says, "who vouches for the certificate of "+short(s.Domain)+
			", and its timestamp: neither is checked")
	}
}

// certified returns the key of the first certificate, which must be for the domain.
func certified(chain, domain string) (any, error) {
	block, _ := pem.Decode([]byte(chain))
	if block == nil {
		return nil, errors.New("its certificate cannot be read")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("its certificate cannot be read: %w", err)
	}
	if err := c.VerifyHostname(domain); err != nil {
		return nil, err
	}
	return c.PublicKey, nil
}

// verify checks an ECDSA signature with SHA-256 of the hash as text: r followed by s as in Web Cryptography, or ASN.1, as
// tools with certificates write it.
func verify(key any, signature, hash string) error {
	k, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return fmt.Errorf("its key is a %T: only ECDSA is checked", key)
	}
	sig, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return fmt.Errorf("the signature is not base64: %w", err)
	}
	sum := sha256.Sum256([]byte(hash))
	half := (k.Curve.Params().BitSize + 7) / 8
	if len(sig) == 2*half && ecdsa.Verify(k, sum[:], new(big.Int).SetBytes(sig[:half]),
		new(big.Int).SetBytes(sig[half:])) {
		return nil
	}
	if ecdsa.VerifyASN1(k, sum[:], sig) {
		return nil
	}
	return errors.New("the signature is not of this manifest, or not by this key")
}

func (p *Package) byLedger(d *digest, hash string) {
	const asked = "a signature of the manifest's hash by the ledger's key (archive reference)"
	key, err := hex.DecodeString(d.Ledger.Key)
	sig, serr := hex.DecodeString(d.Ledger.Sig)
	switch {
	case errors.Join(err, serr) != nil || len(key) != ed25519.PublicKeySize || d.Ledger.Algorithm != "Ed25519":
		p.bad(digestName, asked, "ledgerSignature cannot be read")
	case !ed25519.Verify(key, LedgerMessage(hash), sig):
		p.bad(digestName, asked, "ledgerSignature is not of this manifest, or not by this key")
	default:
		k := checkpoint.KeyOf(key)
		p.signer = k.String()
		p.before = rotatedTo(k, d.Rotations)
		p.check.Signed = append(p.check.Signed, "ledger key "+k.Name())
		p.owner("ledger key " + k.Name())
	}
}

// maxRotations bounds the notes read.
const maxRotations = 1000

// rotatedTo returns the keys that k replaced by the notes of rotations.
func rotatedTo(k checkpoint.Key, notes []string) (before []string) {
	for _, text := range slices.Backward(notes[:min(len(notes), maxRotations)]) {
		if r, err := checkpoint.ParseRotation([]byte(text)); err == nil && r.New == k {
			k = r.Old
			before = append(before, k.String())
		}
	}
	return before
}

func (p *Package) owner(by string) {
	p.says = append(p.says, "whose the key is that signed the package ("+by+
		"): the signature proves that nothing was changed since its owner packed it")
}

// A Package is a witness of its own archive: of its files and their signatures.
var _ audit.Witness = (*Package)(nil)

// Close implements audit.Witness: it reports the findings of Open, after the ledger's.
func (p *Package) Close(_ context.Context, r *audit.Result, found finding.Report) error {
	l := r.Ledger
	switch {
	case l == nil:
	case p.signer != "" && len(l.Keys) == 0:
		p.says = append(p.says, "whether who made the package also kept the ledger: the ledger names no key")
	case p.signer != "" && !slices.ContainsFunc(l.Keys, p.speaksFor):
		p.bad(digestName, "a signature by a key that signs the ledger in the package (archive reference)",
			fmt.Sprintf("key %s signed the package, and %s the ledger", named(p.signer), named(l.Keys...)))
	case p.signer == "" && len(l.Keys) > 0:
		// A crawl may be packed on a machine without that key.
		p.note(digestName, "a signature of the package by a key that signs the ledger in it, which curtsy export --format wacz makes where "+
			"that key is (reference of audit findings)", fmt.Sprintf("key %s signed the ledger, and no such key the package: who "+
			"has it can have changed all but archive and ledger", named(l.Keys...)))
		p.says = append(p.says, "whether who signed the ledger also made the package: its key did not sign it")
	}
	if l != nil && l.SignerKnown && (p.signer == "" || !slices.ContainsFunc(l.Keys, p.speaksFor)) {
		r.Withdraw(audit.SignedByKnown)
		p.says = append(p.says, "who made the lists of pages, the index and the report in it: the key that you know signed the "+
			"ledger, and not the package")
	}
	for _, f := range p.found {
		found(f)
	}
	for _, s := range p.says {
		r.CannotShow = append(r.CannotShow, "wacz: "+s)
	}
	p.check.OK = p.check.Wrong == 0
	r.Package = &p.check
	return nil
}

// speaksFor reports whether the package was signed by this key of the ledger, or one that replaced it.
func (p *Package) speaksFor(key string) bool {
	return key == p.signer || slices.Contains(p.before, key)
}

func named(keys ...string) string {
	var names []string
	for _, k := range keys[:min(len(keys), 4)] {
		name, _, _ := strings.Cut(k, "+")
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// LeftOut returns the number of responses that the packer omitted for noarchive, by the manifest.
func (p *Package) LeftOut() int64 { return p.check.LeftOut }

// Stated returns the SHA-256 of a WARC file before the packer omitted records, by the manifest; "" if it omitted none.
func (p *Package) Stated(file string) string {
	return p.whole[strings.TrimPrefix(p.names[file], p.name+":")]
}

// Base returns the name of a WARC file in the package.
func (p *Package) Base(file string) string { return path.Base(p.names[file]) }

// Name replaces file paths in a result by their names in the package.
func (p *Package) Name(r *audit.Result) {
	name := func(s *string) {
		if in, ok := p.names[*s]; ok {
			*s = in
		} else if *s == p.Ledger {
			*s = p.name + ":ledger"
		}
	}
	for i := range r.Files {
		name(&r.Files[i].Name)
	}
	var pairs []string
	for to, in := range p.names {
		pairs = append(pairs, to, in)
	}
	texts := strings.NewReplacer(pairs...)
	for i := range r.Findings {
		f := &r.Findings[i]
		name(&f.File)
		f.Observed = texts.Replace(f.Observed)
	}
	for _, a := range r.Archives {
		name(&a.File)
	}
	if r.Ledger != nil {
		name(&r.Ledger.Dir)
	}
}
