package proof

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
)

// ErrNoBundle reports a file that is not a bundle, or one of an unknown format.
var ErrNoBundle = errors.New("not a bundle of curtsy ledger prove")

// opened is a bundle that is read. Reading a member compares it with its digest.
type opened struct {
	manifest manifest
	files    map[string]*zip.File
	members  map[string]member // by the manifest
}

// plainFlags are those that a member may have: compression level, data descriptor, and a name in UTF-8.
const plainFlags = 0x80e

// limits bound members by name. The size of the bundle bounds others.
var limits = map[string]uint64{
	manifestName: maxManifest, checkpointName: maxNote, proofName: maxProof, pageName: maxPage,
}

func open(r io.ReaderAt, size int64) (*opened, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: not a ZIP file, or truncated", ErrNoBundle)
	}
	o := &opened{files: map[string]*zip.File{}, members: map[string]member{}}
	if len(z.File) > maxTexts+16 {
		return nil, fmt.Errorf("%w: it has %d members", ErrNoBundle, len(z.File))
	}
	var all uint64
	for _, f := range z.File {
		if o.files[f.Name] != nil {
			return nil, fmt.Errorf("%w: it has two members %.80q", ErrNoBundle, f.Name)
		}
		if f.Flags&^plainFlags != 0 || f.Method != zip.Deflate && f.Method != zip.Store {
			return nil, fmt.Errorf("%w: its member %.80q is encrypted, or packed in an odd way", ErrNoBundle, f.Name)
		}
		if err := bounded(f, uint64(size)); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoBundle, err)
		}
		if all += f.UncompressedSize64; all > uint64(size)*maxUnfold+slack {
			return nil, fmt.Errorf("%w: it unfolds to more than %d times its size", ErrNoBundle, maxUnfold)
		}
		o.files[f.Name] = f
	}
	return o, o.readManifest()
}

func bounded(f *zip.File, size uint64) error {
	limit, ok := limits[f.Name]
	if strings.HasPrefix(f.Name, robotsFolder) {
		limit, ok = maxRobots, true
	}
	if !ok {
		limit = size*maxUnfold + slack
	}
	if f.UncompressedSize64 > limit {
		return fmt.Errorf("its member %.80q decompresses to %d bytes; the limit is %d", f.Name,
			f.UncompressedSize64, limit)
	}
	return nil
}

func (o *opened) readManifest() error {
	f := o.files[manifestName]
	if f == nil {
		return fmt.Errorf("%w: it has no %s", ErrNoBundle, manifestName)
	}
	b, err := unfold(f)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoBundle, err)
	}
	err = plain(b)
	if err == nil && !utf8.Valid(b) {
		err = errPlain
	}
	if err == nil {
		err = json.Unmarshal(b, &o.manifest)
	}
	if err != nil {
		return fmt.Errorf("%w: its %s cannot be read: %w", ErrNoBundle, manifestName, err)
	}
	if o.manifest.Format != Format {
		return fmt.Errorf("%w: its format is %.80q, and this program reads %q", ErrNoBundle, o.manifest.Format, Format)
	}
	if !isHost(o.manifest.Host) {
		return fmt.Errorf("%w: its host %.80q is not written as logs write hosts", ErrNoBundle, o.manifest.Host)
	}
	for _, m := range o.manifest.Files {
		if _, twice := o.members[m.Name]; twice {
			return fmt.Errorf("%w: its %s has %.80q twice", ErrNoBundle, manifestName, m.Name)
		}
		o.members[m.Name] = m
	}
	return nil
}

// isHost reports whether a log could have a host of that name. Of others, as EXAMPLE.org, any log proves that it has no line.
func isHost(host string) bool {
	return !strings.ContainsFunc(host, func(c rune) bool { return c <= ' ' || c > '~' }) && hostmap.Host("http://"+host+"/") == host
}

func unfold(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("its member %.80q cannot be read: %w", f.Name, err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, int64(f.UncompressedSize64)+1))
	if err == nil && uint64(len(b)) > f.UncompressedSize64 {
		err = errors.New("it is longer than stated")
	}
	if err != nil {
		return nil, fmt.Errorf("its member %.80q cannot be read: %w", f.Name, err)
	}
	return b, nil
}

type stream struct {
	io.Reader
	file  io.Closer
	sum   hash.Hash
	size  int64
	entry member
}

// Close reads the rest of the member and compares it with the manifest.
func (s *stream) Close() error {
	_, err := io.Copy(io.Discard, s)
	err = errors.Join(err, s.file.Close())
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", s.entry.Name, err)
	}
	if s.size != s.entry.Octets || hex.EncodeToString(s.sum.Sum(nil)) != s.entry.SHA256 {
		return fmt.Errorf("%s differs from the manifest: it was changed, or damaged in transit", s.entry.Name)
	}
	return nil
}

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	s.sum.Write(b[:n])
	s.size += int64(n)
	return n, err
}

func (o *opened) open(name string) (*stream, error) {
	f := o.files[name]
	entry, ok := o.members[name]
	if f == nil || !ok {
		return nil, fmt.Errorf("%s is missing, in the bundle or in its manifest", name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	return &stream{Reader: io.LimitReader(r, int64(f.UncompressedSize64)+1), file: r, sum: sha256.New(), entry: entry}, nil
}

// whole returns the bytes of a member, even if they differ from the manifest.
func (o *opened) whole(name string) ([]byte, error) {
	s, err := o.open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(s)
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	return b, err
}

// extras are members that are not part of a bundle, or are only in its manifest.
func (o *opened) extras() (names []string) {
	for name := range o.files {
		if name != manifestName && !o.isMember(name) {
			names = append(names, name)
		}
	}
	for name := range o.members {
		if o.files[name] == nil || !o.isMember(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (o *opened) isMember(name string) bool {
	return slices.Contains([]string{checkpointName, linesName, marksName, headsName, proofName, pageName}, name) ||
		o.robotsOf(name) != ""
}

// robotsOf returns the digest in the name of a robots.txt member, or "".
func (o *opened) robotsOf(name string) string {
	sha, ok := strings.CutPrefix(name, robotsFolder)
	sha, ok2 := strings.CutSuffix(sha, robotsEnd)
	if !ok || !ok2 || !ledger.IsDigest(sha) {
		return ""
	}
	return sha
}

// Format names the format in a manifest. It changes with each change that older verifiers must not ignore.
const Format = "curtsy-proof/1"

// pageVersion is the version of the page's words and looks: Verify compares only pages of its own version.
const pageVersion = 4

const (
	manifestName   = "manifest.json"
	checkpointName = "checkpoint"
	linesName      = "lines.jsonl"
	marksName      = "marks.jsonl"
	headsName      = "heads.jsonl"
	proofName      = "proof.json"
	pageName       = "index.html"
	robotsFolder   = "robots/"
	robotsEnd      = ".txt"
)

type manifest struct {
	Format   string   `json:"format"`
	Page     int      `json:"page"`
	Software string   `json:"software,omitempty"` // that made it: name/version
	Host     string   `json:"host"`
	Files    []member `json:"files"`
}

type member struct {
	Name   string `json:"name"`
	Octets int64  `json:"octets"`
	SHA256 string `json:"sha256"`
}

// proofJSON is proof.json. Hashes are in hexadecimal digits.
type proofJSON struct {
	Nodes []hostmap.Hash `json:"nodes"` // tree.Proof of all marks and lines
	Map   mapJSON        `json:"map"`
}

// mapJSON is a proof in the completeness map: of Entry, or without it, that the host has none.
type mapJSON struct {
	Siblings []hostmap.Hash `json:"siblings"`
	Entry    *entryJSON     `json:"entry,omitempty"`
	Other    *hostmap.Other `json:"other,omitempty"`
}

type entryJSON struct {
	First  int64        `json:"first"`
	Count  int64        `json:"count"`
	Digest hostmap.Hash `json:"digest"`
}

// Bounds of a bundle.
const (
	maxRows     = 1 << 21  // lines and marks, each
	maxRow      = 9 << 20  // bytes of one: a ledger's line has at most 8 MiB
	maxManifest = 4 << 20  // bytes
	maxProof    = 1 << 30  // bytes; its nodes are counted before they are kept
	maxNote     = 2 << 20  // bytes; Parse takes less
	maxPage     = 4 << 20  // bytes
	maxRobots   = 4 << 20  // bytes of a robots.txt
	maxTexts    = 10_000   // robots.txt files
	maxAllTexts = 64 << 20 // bytes of them all
	maxUnfold   = 120      // how many times its own size a bundle may unfold to: lines, which hold digests, stay below 20
	slack       = 1 << 20  // bytes that are not counted for that
	nodeSize    = 70       // bytes of a node in proof.json
)

var errPlain = errors.New("it is not JSON that all readers take for the same")

// plain refuses JSON that readers may take differently, as storage.CheckForm does, except for white space.
func plain(b []byte) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		return errPlain
	}
	if err := storage.CheckForm(compact.Bytes()); err != nil {
		return fmt.Errorf("%w: %w", errPlain, err)
	}
	return nil
}

// Row is an entry of a log: its index, and its line in the public form.
type Row struct {
	Index  int64
	Public []byte
}

// The parts of a row of lines.jsonl and marks.jsonl: {"index":N,"line":OBJECT}.
var (
	rowStart = []byte(`{"index":`)
	rowLine  = []byte(`,"line":`)
	saltKey  = []byte(`,"salt":"`) // the rest of the line names other sites, and no bundle has it
)

func (r Row) append(b []byte) []byte {
	b = strconv.AppendInt(append(b, rowStart...), r.Index, 10)
	return append(append(append(b, rowLine...), r.Public...), "}\n"...)
}

var errRow = errors.New(`not a row of the form {"index":N,"line":{…}}`)

// parseRow reads exactly the form that append writes. The line is a part of b.
func parseRow(b []byte) (r Row, err error) {
	digits, line, ok := bytes.Cut(bytes.TrimPrefix(b, rowStart), rowLine)
	if !ok || !bytes.HasPrefix(b, rowStart) || !bytes.HasSuffix(line, []byte("}")) {
		return r, errRow
	}
	r.Index, err = strconv.ParseInt(string(digits), 10, 64)
	r.Public = line[:len(line)-1]
	if err != nil || r.Index < 0 || strconv.FormatInt(r.Index, 10) != string(digits) || !json.Valid(r.Public) || !utf8.Valid(r.Public) {
		return r, errRow
	}
	if bytes.Contains(r.Public, saltKey) {
		return r, fmt.Errorf("entry %d is not in its public form", r.Index)
	}
	if err := storage.CheckForm(r.Public); err != nil {
		return r, fmt.Errorf("entry %d: %w", r.Index, err)
	}
	return r, nil
}

func (r Row) hash() (tlog.Hash, error) {
	_, _, err := ledger.ParseStub(r.Public)
	return hashOf(r.Public), err
}

type mark struct {
	*ledger.Mark
	index int64
}

func parseMark(r Row) (*mark, error) {
	m, err := ledger.ParseMark(r.Public)
	if err != nil {
		return nil, fmt.Errorf("not a mark of the ledger: %w", err)
	}
	return &mark{m, r.Index}, nil
}

// eachRow reads rows. Their indexes must ascend and be in a tree of that size.
func eachRow(in io.Reader, name string, size int64, f func(Row) error) error {
	before, n := int64(-1), 0
	return eachJSONL(in, name, func(b []byte) error {
		r, err := parseRow(b)
		switch n++; {
		case err != nil:
			return err
		case n > maxRows:
			return fmt.Errorf("there are more than %d", maxRows)
		case r.Index <= before:
			return fmt.Errorf("index %d does not follow %d: indexes ascend", r.Index, before)
		case r.Index >= size:
			return fmt.Errorf("index %d is not in a log of %d entries", r.Index, size)
		}
		before = r.Index
		return f(r)
	})
}

// eachJSONL calls f with each line of a member. The bytes are valid until it returns.
func eachJSONL(in io.Reader, name string, f func([]byte) error) error {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 64<<10), maxRow)
	s.Split(func(data []byte, end bool) (int, []byte, error) { // as bufio.ScanLines, but a last line needs its end
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		if end && len(data) > 0 {
			return 0, nil, errors.New("its last line has no end")
		}
		return 0, nil, nil
	})
	n := 0
	for s.Scan() {
		n++
		if err := f(s.Bytes()); err != nil {
			return fmt.Errorf("%s line %d: %w", name, n, err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s after line %d: %w", name, n, err)
	}
	return nil
}

// indexed are the hashes of entries, by their indexes, which ascend.
type indexed struct {
	indexes []int64
	hashes  []tlog.Hash
}

func (x *indexed) add(r Row) (tlog.Hash, error) {
	h, err := r.hash()
	x.indexes, x.hashes = append(x.indexes, r.Index), append(x.hashes, h)
	return h, err
}

// with merges two lists. An index that both have is an error.
func (x *indexed) with(y *indexed) (*indexed, error) {
	n := len(x.indexes) + len(y.indexes)
	all := &indexed{make([]int64, 0, n), make([]tlog.Hash, 0, n)}
	for i, j := 0, 0; i < len(x.indexes) || j < len(y.indexes); {
		from, k := x, &i
		switch {
		case i == len(x.indexes):
			from, k = y, &j
		case j < len(y.indexes) && x.indexes[i] == y.indexes[j]:
			return nil, fmt.Errorf("entry %d is a mark and a line at once", x.indexes[i])
		case j < len(y.indexes) && y.indexes[j] < x.indexes[i]:
			from, k = y, &j
		}
		all.indexes, all.hashes = append(all.indexes, from.indexes[*k]), append(all.hashes, from.hashes[*k])
		*k++
	}
	return all, nil
}

// Head is what an exchange can show without its bodies, byte for byte as archived.
type Head struct {
	Request []byte // the whole request
	Answer  []byte // the head of the answer; empty without a complete one
}

// sum is heads_sha256 of a line.
func (h Head) sum() string {
	s := sha256.New()
	s.Write(h.Request)
	s.Write(h.Answer)
	return hex.EncodeToString(s.Sum(nil))
}

var headEnd = []byte("\r\n\r\n") // of a request, which has no body

// headJSON is a row of heads.jsonl. Each byte is one character, U+0000 to U+00FF (ISO 8859-1), for people to read.
type headJSON struct {
	Index   int64  `json:"index"`
	Request string `json:"request"`
	Answer  string `json:"answer"`
}

func (h Head) append(b []byte, index int64) ([]byte, error) {
	row, err := json.Marshal(headJSON{index, latin1(h.Request), latin1(h.Answer)})
	if err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	return append(append(b, row...), '\n'), nil
}

func parseHead(b []byte) (index int64, h Head, err error) {
	var j headJSON
	if err := plain(b); err != nil {
		return 0, h, err
	}
	if err := json.Unmarshal(b, &j); err != nil || !utf8.Valid(b) {
		return 0, h, errors.New("not a head of a request or response")
	}
	if h.Request, err = octets(j.Request); err != nil {
		return 0, h, err
	}
	if bytes.Index(h.Request, headEnd) != len(h.Request)-len(headEnd) { // the digest does not show where the answer begins
		return 0, h, errors.New("a request does not end with its empty line")
	}
	h.Answer, err = octets(j.Answer)
	return j.Index, h, err
}

func latin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

func octets(s string) ([]byte, error) {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return nil, errors.New("a head has a character above 0xFF")
		}
		b = append(b, byte(r))
	}
	return b, nil
}
