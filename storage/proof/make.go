package proof

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

type Source struct {
	Host       string // as hostmap.Host writes it
	Software   string // that makes the bundle: name/version; may be empty
	Checkpoint []byte // the note

	Marks []Row // the first one begins the log, the last one is the checkpoint's last entry
	Lines iter.Seq2[Row, error]

	Hashes tlog.HashReader                   // of the tree of the checkpoint
	Hosts  iter.Seq2[hostmap.Entry, error]   // the map of the last mark, in the order of keys
	Heads  func([]Exchange) ([]*Head, error) // of some exchanges, nil for missing ones
	Robots func(sha256 string) []byte        // nil if it is unavailable
}

type Exchange struct {
	Index  int64
	URL    string
	Record string // the id of its record
	Heads  string // heads_sha256
}

// ErrDamaged reports a ledger whose lines, marks or map do not match its checkpoint.
var ErrDamaged = errors.New("the ledger does not match its checkpoint")

type Made struct {
	Summary *Summary
	Heads   int64 // exchanges whose heads are available
	Lacking int64 // exchanges whose heads are missing, though their lines have the digest
	Texts   int64 // robots.txt files
	Without int64 // robots.txt files that are unavailable
}

// Make writes a bundle to w. It checks it: a bundle that Verify would refuse is an error.
func Make(ctx context.Context, w io.Writer, s Source) (*Made, error) {
	m, err := newMaker(w, s)
	if err == nil {
		err = m.all(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("proof: make the bundle of %s: %w", s.Host, err)
	}
	return m.made, nil
}

type maker struct {
	Source
	zip   *zip.Writer
	note  *checkpoint.Note
	made  *Made
	files []member

	lines     indexed
	exchanges []Exchange
	digests   []string // of robots.txt files that lines name, each once
	entry     hostmap.Entry
	hosts     *mark // of hosts
	proofs    proofJSON
}

func newMaker(w io.Writer, s Source) (*maker, error) {
	note, err := checkpoint.Parse(s.Checkpoint)
	if err != nil {
		return nil, err
	}
	m := &maker{Source: s, zip: zip.NewWriter(w), note: note, made: &Made{Summary: newSummary()}}
	m.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	m.entry.Key = hostmap.Key(note.Origin, s.Host)
	n := len(s.Marks)
	if n == 0 || s.Marks[n-1].Index != note.Size-1 {
		return nil, errors.New("the checkpoint does not end in the mark of a completeness map")
	}
	if m.hosts, err = parseMark(s.Marks[n-1]); err != nil || m.hosts.Kind != ledger.KindHosts {
		return nil, errors.Join(errors.New("the checkpoint does not end in the mark of a completeness map"), err)
	}
	return m, nil
}

func (m *maker) all(ctx context.Context) error {
	steps := []func() error{
		func() error { return m.member(checkpointName, m.Checkpoint) },
		func() error { return m.linesOf(ctx) },
		m.heads,
		m.robots,
		m.prove,
		m.page,
		m.manifest,
		m.zip.Close,
	}
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

type digested struct {
	to   io.Writer
	sum  hash.Hash
	size int64
}

func (d *digested) Write(b []byte) (int, error) {
	n, err := d.to.Write(b)
	d.sum.Write(b[:n])
	d.size += int64(n)
	return n, err
}

// noTime is the first date of ZIP: the bytes of a bundle depend only on crawl and checkpoint.
var noTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func (m *maker) write(name string, fill func(w io.Writer) error) error {
	to, err := m.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: noTime})
	if err != nil {
		return err
	}
	d := &digested{to: to, sum: sha256.New()}
	if err := fill(d); err != nil {
		return err
	}
	m.files = append(m.files, member{name, d.size, hex.EncodeToString(d.sum.Sum(nil))})
	return nil
}

func (m *maker) member(name string, b []byte) error {
	return m.write(name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// linesOf writes the host's lines, and gathers the exchanges and digests for the other members.
func (m *maker) linesOf(ctx context.Context) error {
	named := map[string]bool{}
	return m.write(linesName, func(w io.Writer) error {
		var b []byte
		for r, err := range m.Lines {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			b = r.append(b[:0])
			if _, err := w.Write(b); err != nil {
				return err
			}
			if err := m.line(r, named); err != nil {
				return fmt.Errorf("entry %d: %w", r.Index, err)
			}
			if len(m.lines.indexes) > maxRows {
				return fmt.Errorf("it has more than %d lines", maxRows)
			}
		}
		return nil
	})
}

func (m *maker) line(r Row, named map[string]bool) error {
	h, err := m.lines.add(r)
	if err != nil {
		return err
	}
	if r.Index < m.hosts.Size {
		m.entry.Add(r.Index, h)
	}
	if ledger.IsStub(r.Public) {
		m.made.Summary.Lines++
		m.made.Summary.Redacted++
		return nil
	}
	l, err := storage.ParseLine(r.Public)
	if err != nil {
		return err
	}
	m.made.Summary.take(&l)
	if l.Heads != "" {
		m.exchanges = append(m.exchanges, Exchange{r.Index, l.URL, l.Record, l.Heads})
	}
	if sha := l.RobotsSHA256; ledger.IsDigest(sha) && !named[sha] && len(named) < maxTexts {
		named[sha] = true
		m.digests = append(m.digests, sha)
	}
	return nil
}

const someHeads = 4096 // exchanges whose heads are in memory together

func (m *maker) heads() error {
	return m.write(headsName, func(w io.Writer) error {
		var b []byte
		for some := range slices.Chunk(m.exchanges, someHeads) {
			heads, err := m.Heads(some)
			if err != nil {
				return err
			}
			for i, h := range heads {
				if h == nil || h.sum() != some[i].Heads {
					m.made.Lacking++
					continue
				}
				m.made.Heads++
				m.made.Summary.head(*h)
				if b, err = h.append(b[:0], some[i].Index); err != nil {
					return err
				}
				if _, err := w.Write(b); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (m *maker) robots() error {
	slices.Sort(m.digests)
	for _, sha := range m.digests {
		body := m.Robots(sha)
		if sum := sha256.Sum256(body); body == nil || len(body) > maxRobots || hex.EncodeToString(sum[:]) != sha {
			m.made.Without++
			continue
		}
		m.made.Texts++
		m.made.Summary.bundled(sha, body)
		if err := m.member(robotsFolder+sha+robotsEnd, body); err != nil {
			return err
		}
	}
	return nil
}

func (m *maker) prove() error {
	var marks indexed
	err := m.write(marksName, func(w io.Writer) error {
		var b []byte
		for _, r := range m.Marks {
			if _, err := marks.add(r); err != nil {
				return err
			}
			b = r.append(b)
		}
		_, err := w.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	all, err := m.lines.with(&marks)
	if err != nil {
		return err
	}
	nodes, err := tree.ProveMany(m.Hashes, m.note.Size, all.indexes)
	if errors.Is(err, tree.ErrTiles) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err != nil {
		return err
	}
	if err := tree.CheckMany(nodes, m.note.Size, m.note.Root, all.indexes, all.hashes); err != nil {
		return fmt.Errorf("%w: lines were changed, or are missing (%w)", ErrDamaged, err)
	}
	if m.proofs.Map, err = m.proveHost(); err != nil {
		return err
	}
	m.proofs.Nodes = make([]hostmap.Hash, len(nodes))
	for i, h := range nodes {
		m.proofs.Nodes[i] = hostmap.Hash(h)
	}
	b, err := json.Marshal(m.proofs)
	if err != nil {
		return err
	}
	return m.member(proofName, b)
}

// proveHost proves the map's entry of the host, and that the lines are all of them.
func (m *maker) proveHost() (j mapJSON, err error) {
	p, e, err := hostmap.Prove(m.Hosts, m.entry.Key)
	if err != nil {
		return j, err
	}
	if err := hostmap.Check(m.hosts.Root, m.entry.Key, e, p); err != nil {
		return j, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	j.Siblings = append([]hostmap.Hash{}, p.Siblings...) // an empty list is [] in JSON
	j.Other = p.Other
	if e == nil {
		if m.entry.Count > 0 {
			return j, fmt.Errorf("%w: the completeness map does not have the host, and the ledger has %d lines of it", ErrDamaged,
				m.entry.Count)
		}
		return j, nil
	}
	if e.First != m.entry.First || e.Count != m.entry.Count || e.Digest != m.entry.Digest {
		return j, fmt.Errorf("%w: the completeness map has %d lines of the host, and the ledger %d, or others", ErrDamaged,
			e.Count, m.entry.Count)
	}
	j.Entry = &entryJSON{e.First, e.Count, e.Digest}
	return j, nil
}

func (m *maker) page() error {
	m.made.Summary.close()
	b, err := render(m.note, m.hosts, m.Host, m.made.Summary)
	if err != nil {
		return err
	}
	return m.member(pageName, b)
}

func (m *maker) manifest() error {
	slices.SortFunc(m.files, func(a, b member) int { return strings.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(manifest{Format, pageVersion, m.Software, m.Host, m.files}); err != nil {
		return err
	}
	return m.member(manifestName, b.Bytes())
}
