package wacz

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"math/big"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/frontier/durable"
	told "curtsy/frontier/durable/meter"
	"curtsy/storage"
	"curtsy/storage/spool"
)

// Options configure Create and Write. Segments are required.
type Options struct {
	// Segments are the paths of complete WARC segments, one gzip member a record, in the order of the crawl.
	Segments []string
	// Lines are the ledger's lines; nil means that only metadata records identify seeds and noarchive. An error ends the
	// packing.
	Lines iter.Seq2[storage.Line, error]
	Files []File // further ones: of the ledger, reports

	Title       string // empty means one with the first page's host
	Description string // Markdown
	Software    string // "curtsy"
	Version     string // "0.1.0"

	LeftOut []string // sentences for the manifest about missing parts of the crawl

	PlainIndex int64 // bytes up to which the index is a plain file, otherwise ZipNum. Zero means 2 MiB.

	Key       ed25519.PrivateKey // of the ledger. Nil means no signatures.
	Rotations [][]byte           // notes of the rotations that led to Key, since an earlier key may have signed the ledger

	TempDir string // for temporary files. Empty means the system's directory.
}

// File is a file to pack as it is.
type File struct {
	Name string // in the WACZ, with slashes: "ledger/000001.jsonl"
	Path string
}

// Result describes the package.
type Result struct {
	Pages     int64     // listed
	Records   int64     // responses and revisits in the index
	NoArchive int64     // records omitted for noarchive
	Elsewhere int64     // revisits of responses that only an earlier crawl has
	Octets    int64     // of the segments as packed
	Created   time.Time // date of the file: the last one of archive and ledger
	Hash      string    // "sha256:…" of datapackage.json
}

// ErrExists is the error of Create if the file exists.
var ErrExists = errors.New("the file exists")

// Create packs into a new file, whole and durable or not at all.
func Create(ctx context.Context, path string, o Options) (r Result, err error) {
	if _, err := os.Lstat(path); err == nil {
		return r, fmt.Errorf("wacz: create %s: %w", path, ErrExists)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("wacz: create: %w", err)
	}
	if o.TempDir == "" {
		o.TempDir = filepath.Dir(path) // lists may be large, and the system's directory in memory
	}
	err = durable.Output(path, func(w io.Writer) (err error) {
		r, err = Write(ctx, w, o)
		return err
	})
	if err != nil {
		return r, fmt.Errorf("wacz: create: %w", err)
	}
	return r, nil
}

// Write packs to w, sequentially.
func Write(ctx context.Context, w io.Writer, o Options) (_ Result, err error) {
	if len(o.Segments) == 0 {
		return Result{}, errors.New("wacz: pack: no segment of an archive")
	}
	s, err := newSurvey(o)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.readLines(ctx, o.Lines); err != nil {
		return Result{}, err
	}
	for _, path := range o.Segments {
		if err := s.readSegment(ctx, path); err != nil {
			return Result{}, err
		}
	}
	index, err := s.lines(ctx)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	b := newBundle(w, s.last, o.TempDir)
	if o.PlainIndex > 0 {
		b.plain = o.PlainIndex
	}
	if err := b.all(ctx, s, index, o.Files); err != nil {
		return Result{}, err
	}
	r := Result{Pages: s.pages.n + s.extra.n, Records: s.records, NoArchive: s.noArchive, Elsewhere: s.elsewhere,
		Octets: s.octets, Created: s.last}
	if r.Hash, err = b.manifest(ctx, manifestOf(o, s)); err != nil {
		return Result{}, err
	}
	if err := b.digest(ctx, r.Hash, o); err != nil {
		return Result{}, err
	}
	if err := b.zip.Close(); err != nil {
		return Result{}, fmt.Errorf("wacz: pack: %w", err)
	}
	return r, nil
}

type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

type bundle struct {
	zip       *zip.Writer
	when      time.Time
	dir       string // of temporary files
	plain     int64  // bytes up to which the index is a plain file
	resources []resource
	names     map[string]bool
}

func newBundle(w io.Writer, when time.Time, dir string) *bundle {
	// The dates of a ZIP file begin in 1980.
	if first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); when.Before(first) || when.Year() > 2107 {
		when = first
	}
	return &bundle{zip: zip.NewWriter(w), when: when, dir: dir, plain: maxPlain, names: map[string]bool{}}
}

// all writes everything but the manifest and its signatures.
func (b *bundle) all(ctx context.Context, s *survey, index *spool.Spool, files []File) error {
	for _, seg := range s.segments {
		r, c, err := seg.open()
		if err != nil {
			return err
		}
		err = b.stored(ctx, "archive/"+seg.name, seg.print, told.Reader(ctx, r))
		c.Close()
		if err != nil {
			return err
		}
	}
	if err := b.index(ctx, index); err != nil {
		return err
	}
	if err := b.gathered(ctx, "pages/pages.jsonl", s.pages.spool); err != nil {
		return err
	}
	if s.extra.n > 0 {
		if err := b.gathered(ctx, "pages/extraPages.jsonl", s.extra.spool); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := b.file(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

func (b *bundle) index(ctx context.Context, index *spool.Spool) (err error) {
	if index.Size() <= b.plain {
		return b.gathered(ctx, "indexes/index.cdxj", index)
	}
	blocks := newSpool(b.dir)
	defer blocks.Close() //nolint:errcheck // a temporary file
	heads := newSpool(b.dir)
	defer heads.Close() //nolint:errcheck // a temporary file
	if err := zipNum(ctx, index.Section(), blocks, heads); err != nil {
		return fmt.Errorf("wacz: compress the index: %w", err)
	}
	// WACZ, Zip Compression: compressed files are stored.
	if err := b.gathered(ctx, "indexes/index.cdx.gz", blocks); err != nil {
		return err
	}
	return b.gathered(ctx, "indexes/index.idx", heads)
}

func newSpool(dir string) *spool.Spool { return &spool.Spool{Dir: dir, Pattern: "wacz.*.spool"} }

func (b *bundle) gathered(ctx context.Context, name string, s *spool.Spool) error {
	return b.add(ctx, name, func() (io.Reader, error) { return s.Section(), nil })
}

func (b *bundle) file(ctx context.Context, f File) error {
	top, _, ok := strings.Cut(f.Name, "/")
	// WACZ, Other files and directories: they must not be in the format's own directories.
	if !plainName(f.Name) || ok && (top == "archive" || top == "indexes" || top == "pages") || !ok {
		return fmt.Errorf("wacz: %q cannot be the name of a further file: it needs its own folder and plain letters",
			f.Name)
	}
	in, err := durable.Open(f.Path)
	if err != nil {
		return fmt.Errorf("wacz: %w", err)
	}
	defer in.Close()
	return b.add(ctx, f.Name, func() (io.Reader, error) {
		_, err := in.Seek(0, io.SeekStart)
		return in, err
	})
}

// add writes an entry, compressed unless its content is. open returns its bytes from the beginning, repeatedly.
func (b *bundle) add(ctx context.Context, name string, open func() (io.Reader, error)) error {
	r, err := open()
	if err != nil {
		return fmt.Errorf("wacz: pack %s: %w", name, err)
	}
	m := newMeter()
	if slices.Contains([]string{".gz", ".zst", ".png"}, path.Ext(name)) {
		if _, err := copyAll(ctx, m, r); err != nil {
			return fmt.Errorf("wacz: pack %s: %w", name, err)
		}
		if r, err = open(); err != nil {
			return fmt.Errorf("wacz: pack %s: %w", name, err)
		}
		return b.stored(ctx, name, m.print(), r)
	}
	small := newSpool(b.dir)
	defer small.Close() //nolint:errcheck // a temporary file
	z, err := flate.NewWriter(small, flate.DefaultCompression)
	if err == nil {
		if _, err = copyAll(ctx, io.MultiWriter(m, z), r); err == nil {
			err = z.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("wacz: pack %s: %w", name, err)
	}
	return b.raw(ctx, name, zip.Deflate, m.print(), small.Size(), small.Section())
}

// stored writes an entry as it is, and fails if its bytes do not match the print.
func (b *bundle) stored(ctx context.Context, name string, p print, r io.Reader) error {
	m := newMeter()
	if err := b.raw(ctx, name, zip.Store, p, p.size, io.TeeReader(r, m)); err != nil {
		return err
	}
	if m.print() != p {
		return fmt.Errorf("wacz: pack %s: it changed while it was read; run the command again when nothing writes to it",
			name)
	}
	return nil
}

// raw writes an entry of known size and checksum, and adds it to the manifest.
func (b *bundle) raw(ctx context.Context, name string, method uint16, p print, size int64, r io.Reader) error {
	if b.names[name] {
		return fmt.Errorf("wacz: pack %s: there are two of that name", name)
	}
	b.names[name] = true
	h := &zip.FileHeader{
		Name: name, Method: method, CRC32: p.crc, CompressedSize64: uint64(size), UncompressedSize64: uint64(p.size),
		CreatorVersion: 20, ReaderVersion: 20,
	}
	if max(size, p.size) >= math.MaxUint32 {
		h.Flags |= 0x8 // a 64-bit descriptor after the data: the header has no room for it
		h.ReaderVersion = 45
	}
	h.SetModTime(b.when) //nolint:staticcheck // CreateRaw uses no other date
	w, err := b.zip.CreateRaw(h)
	if err != nil {
		return fmt.Errorf("wacz: pack %s: %w", name, err)
	}
	n, err := copyAll(ctx, w, r)
	if err != nil {
		return fmt.Errorf("wacz: pack %s: %w", name, err)
	}
	if n != size {
		return fmt.Errorf("wacz: pack %s: it changed while it was read; run the command again when nothing writes to it",
			name)
	}
	b.resources = append(b.resources,
		resource{resourceName(name), name, "sha256:" + hex.EncodeToString(p.sum[:]), p.size})
	return nil
}

// resourceName returns the unique name of a file in the manifest (Data Resource): its last part, or all parts of a deeper
// file such as a ledger tile.
func resourceName(file string) string {
	if strings.Count(file, "/") > 1 {
		return strings.ToLower(strings.ReplaceAll(file, "/", "-"))
	}
	return strings.ToLower(path.Base(file))
}

// manifest is datapackage.json.
type manifest struct {
	Profile     string     `json:"profile"`
	Version     string     `json:"wacz_version"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Created     string     `json:"created"`
	Software    string     `json:"software,omitempty"`
	MainURL     string     `json:"mainPageUrl,omitempty"`
	MainDate    string     `json:"mainPageDate,omitempty"`
	Resources   []resource `json:"resources"`
	Metadata    metadata   `json:"metadata"` // not in the specification: players read title and description here
	Curtsy      notes      `json:"curtsy"`   // an extension, as the specification allows
}

type metadata struct {
	Title string `json:"title,omitempty"`
	Desc  string `json:"desc,omitempty"`
}

// notes has no counterpart in the format.
type notes struct {
	Pages     int64     `json:"pages"`
	Records   int64     `json:"records"`
	LeftOut   []string  `json:"leftOut,omitempty"`
	NoArchive []reduced `json:"noarchive,omitempty"`
}

// reduced is a segment with records omitted for noarchive.
type reduced struct {
	Path    string `json:"path"`
	Records int    `json:"recordsLeftOut"`
	Octets  int64  `json:"octetsLeftOut"`
	Whole   string `json:"hashOfTheWhole"` // of the original segment
}

func manifestOf(o Options, s *survey) manifest {
	m := manifest{
		Profile: "data-package", Version: "1.1.1", Title: o.Title, Description: o.Description, Created: stamp(s.last),
		Software: o.Software, Curtsy: notes{Pages: s.pages.n + s.extra.n, Records: s.records, LeftOut: o.LeftOut},
	}
	if s.elsewhere > 0 {
		m.Curtsy.LeftOut = append(slices.Clip(m.Curtsy.LeftOut),
			fmt.Sprintf("What %d revisit records repeat is not in this file: an earlier crawl archived it.", s.elsewhere))
	}
	if o.Version != "" {
		m.Software += " " + o.Version
	}
	if s.main != nil {
		m.MainURL, m.MainDate = s.main.URL, s.main.Time
		if u, err := url.Parse(s.main.URL); err == nil && m.Title == "" {
			m.Title = "Crawl of " + u.Host
		}
	}
	m.Metadata = metadata{m.Title, m.Description}
	for _, seg := range s.segments {
		if n := len(seg.cuts); n > 0 {
			m.Curtsy.NoArchive = append(m.Curtsy.NoArchive,
				reduced{"archive/" + seg.name, n, seg.lost, "sha256:" + seg.whole})
		}
	}
	return m
}

func (b *bundle) manifest(ctx context.Context, m manifest) (hash string, err error) {
	m.Resources = b.resources
	text, err := indented(m)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), b.add(ctx, manifestName, again(text))
}

func (b *bundle) digest(ctx context.Context, hash string, o Options) error {
	d := digest{Path: manifestName, Hash: hash}
	if o.Key != nil {
		signed, err := sign(o.Key, hash)
		if err != nil {
			return err
		}
		signed.Created, signed.Software, signed.Version = stamp(b.when), o.Software, o.Version
		d.Signed = signed
		d.Ledger = &ledgerSignature{
			Algorithm: "Ed25519", Key: hex.EncodeToString(o.Key.Public().(ed25519.PublicKey)),
			Sig: hex.EncodeToString(ed25519.Sign(o.Key, LedgerMessage(hash))),
		}
		for _, note := range o.Rotations {
			d.Rotations = append(d.Rotations, string(note))
		}
	}
	text, err := indented(d)
	if err != nil {
		return err
	}
	return b.add(ctx, digestName, again(text))
}

func again(text []byte) func() (io.Reader, error) {
	return func() (io.Reader, error) { return bytes.NewReader(text), nil }
}

func indented(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("wacz: write the manifest: %w", err)
	}
	return append(b, '\n'), nil
}

// digest is datapackage-digest.json.
type digest struct {
	Path      string           `json:"path"`
	Hash      string           `json:"hash"`
	Signed    *signedData      `json:"signedData,omitempty"`
	Ledger    *ledgerSignature `json:"ledgerSignature,omitempty"`
	Rotations []string         `json:"ledgerRotations,omitempty"` // notes signed by both keys
}

// signedData is a signature of wacz-auth: anonymous, as this crawler makes, or of a domain.
type signedData struct {
	Hash       string `json:"hash"`
	Created    string `json:"created"`
	Software   string `json:"software"`
	Version    string `json:"version"`
	Signature  string `json:"signature"`
	PublicKey  string `json:"publicKey"`
	Domain     string `json:"domain,omitempty"`
	DomainCert string `json:"domainCert,omitempty"`
}

// ledgerSignature is a signature by the key of the ledger's heads.
type ledgerSignature struct {
	Algorithm string `json:"algorithm"` // "Ed25519"
	Key       string `json:"key"`       // hex, as in the ledger
	Sig       string `json:"sig"`       // hex, of LedgerMessage
}

// LedgerMessage returns the message that the ledger's key signs: a line distinct from all signatures of a ledger, and the
// manifest's hash as text.
func LedgerMessage(hash string) []byte { return []byte("curtsy wacz 1\n" + hash) }

func sign(key ed25519.PrivateKey, hash string) (*signedData, error) {
	signer, err := signerOf(key)
	if err != nil {
		return nil, fmt.Errorf("wacz: sign: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(&signer.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("wacz: sign: %w", err)
	}
	sum := sha256.Sum256([]byte(hash))
	der, err := signer.Sign(nil, sum[:], crypto.SHA256) // deterministic: RFC 6979
	if err != nil {
		return nil, fmt.Errorf("wacz: sign: %w", err)
	}
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &rs); err != nil {
		return nil, fmt.Errorf("wacz: sign: %w", err)
	}
	// Web Cryptography, 23.7.3: r followed by s, each as long as the order of the curve.
	sig := make([]byte, 96)
	rs.R.FillBytes(sig[:48])
	rs.S.FillBytes(sig[48:])
	return &signedData{Hash: hash, Signature: base64.StdEncoding.EncodeToString(sig),
		PublicKey: base64.StdEncoding.EncodeToString(public)}, nil
}

// signerOf derives the P-384 key. FIPS 186-5 A.2.1: 64 bits more than the order has, modulo the order minus one, plus one.
func signerOf(key ed25519.PrivateKey) (*ecdsa.PrivateKey, error) {
	b, err := hkdf.Key(sha256.New, key.Seed(), nil, "curtsy wacz 1: ECDSA P-384", 56)
	if err != nil {
		return nil, err
	}
	one := big.NewInt(1)
	n := new(big.Int).Sub(elliptic.P384().Params().N, one)
	d := new(big.Int).Mod(new(big.Int).SetBytes(b), n)
	return ecdsa.ParseRawPrivateKey(elliptic.P384(), d.Add(d, one).FillBytes(make([]byte, 48)))
}
