package wacz

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

// Package is a WACZ file that was opened.
type Package struct {
	audit.Silent

	// Files are the WARC files in it, unpacked, in the order of their names.
	Files []string
	// Ledger is the folder of the ledger in it, which is not there if it has none.
	Ledger string

	name   string
	dir    string
	check  audit.PackageCheck
	found  []finding.Finding
	says   []string
	signer string   // verifier key of the ledger's key that signed
	before []string // the keys that gave their place to it, by notes that both have signed
	names  map[string]string
	whole  map[string]string // SHA-256 of segments before the packer left something out, as the manifest states it
	ours   bool              // this crawler packed it, or a ledger stands in it
	beside []string          // the index and the lists of pages, unpacked
}

// errNoPackage says that a file is no WACZ file.
var errNoPackage = errors.New("it is not a WACZ file")

// maxGrowth and spare bound what a file unpacks to: so many times its size, and so much more. Plain WARC and ledgers
// shrink to a tenth; what grows further is a bomb.
const (
	maxGrowth = 30
	spare     = 1 << 30
)

// Open checks the WACZ file and unpacks its archive and its ledger into dir, an empty folder.
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

// entries are the files in the package by name, the first of each.
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

// bundleManifest reads the manifest and what vouches for it.
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

// entry checks one file against the manifest, and unpacks it if the audit reads it. It returns how much may still come.
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
		defer file.Close() //nolint:errcheck // a copy; what did not get there is missed when it is read
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

// compare holds what was read against the manifest.
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

// place is where a file is unpacked: "" for what the audit does not read.
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
	case isIndex(name) || isPages(name):
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

// plain is a name with nothing in it but letters, digits and what cannot mean anything to a file system.
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

// isPlain reports whether a path below the ledger's folder is one that a ledger of ours has: its own files, or those of
// tiles and checkpoints.
func isPlain(name string) bool {
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if part == "" || part != plain(part) {
			return false
		}
	}
	return len(parts) == 1 || len(parts) <= maxDeep && (parts[0] == "tile" || parts[0] == "checkpoints")
}

// maxDeep is how deep tiles lie: tile, level, and the digits of their number, three to a folder.
const maxDeep = 12

// bad counts a fault of a file in the package.
func (p *Package) bad(what, required, observed string) {
	p.check.Wrong++
	p.find(false, what, required, observed)
}

// note reports what is no fault, or none of this crawler's.
func (p *Package) note(what, required, observed string) { p.find(true, what, required, observed) }

func (p *Package) find(note bool, what, required, observed string) {
	if len(p.found) < maxFound {
		p.found = append(p.found, finding.Finding{Code: finding.BadPackage, Note: note,
			Place: finding.Place{File: p.name + ":" + short(what)}, Required: required, Observed: observed})
	}
}

// maxFound bounds what is kept; the rest is counted.
const maxFound = 10_000

// short bounds a text that comes from the file.
func short(s string) string {
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "…"
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// unreadable names a file of the archive that the audit cannot read: it may hold anything.
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

	// maxManifest bounds both. Each file in the package takes some 200 octets of the first.
	maxManifest = 32 << 20
)

// bundleManifest is datapackage.json, as far as the audit looks at it.
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

// digest is datapackage-digest.json.
type digest struct {
	Path   string `json:"path"`
	Hash   string `json:"hash"`
	Signed *struct {
		Hash       string `json:"hash"`
		Created    string `json:"created"`
		Software   string `json:"software"`
		Signature  string `json:"signature"`
		PublicKey  string `json:"publicKey"`
		Domain     string `json:"domain"`
		DomainCert string `json:"domainCert"`
		TimeSig    string `json:"timeSignature"`
	} `json:"signedData"`
	Ledger    *ledgerSignature `json:"ledgerSignature"`
	Rotations []string         `json:"ledgerRotations"`
}

// ours reports whether the file says that this crawler packed it.
func (m *bundleManifest) ours() bool {
	return m.Curtsy != nil || strings.HasPrefix(m.Software, "curtsy")
}

var errLarge = fmt.Errorf("it is larger than %d MiB", maxManifest>>20)

// bundleSmall reads an entry that must be small.
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

// parse reads JSON whose first value is all there is.
func parse(b []byte, into any) error {
	err := json.Unmarshal(b, into)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("it is not JSON from byte %d on: %w", syntax.Offset, err)
	}
	return err
}
