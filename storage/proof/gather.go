package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
	"curtsy/storage/spool"
)

// Crawl is where a crawl keeps what is gathered.
type Crawl struct {
	Ledger  string   // the folder of the ledger
	Archive string   // the folder of the archive
	Index   []string // the files of its index
	TempDir string   // for what does not fit into memory
}

// gathered is what a bundle is made of. Its Source is valid until Close.
type gathered struct {
	Source
	Notes []string // what had to be made anew, in words

	crawl  Crawl
	note   *checkpoint.Note
	rows   spool.Spool // of the host's lines
	buf    []byte
	stubs  []stub
	hosts  *ledger.Mark // of hosts, the last one
	known  hostmap.Entry
	copied string           // the folder of a copy of the map; empty without one
	robots map[string]place // where a robots.txt is archived, by its digest
	wanted map[string]bool  // digests that lines name
	all    []gatheredMark   // that may matter
}

// gatheredMark is a mark with its line.
type gatheredMark struct {
	*ledger.Mark
	row Row
}

// stub is a forgotten line.
type stub struct {
	index int64
	hash  tlog.Hash
	mine  bool
}

// place is where an archived answer is to be looked for.
type place struct{ url, record string }

// patience is how often it is begun anew because a crawl that runs has made another checkpoint meanwhile.
const patience = 10

// Of gathers what a bundle of a host is made of.
func Of(ctx context.Context, c Crawl, host string) (g *gathered, err error) {
	for range patience {
		size := int64(0)
		if n, err := ledger.Latest(c.Ledger); err == nil {
			size = n.Size
		}
		if g, err = once(ctx, c, host); !errors.Is(err, ErrDamaged) {
			return g, err
		}
		if n, lerr := ledger.Latest(c.Ledger); lerr != nil || n.Size == size {
			return g, err
		}
	}
	return g, err
}

func once(ctx context.Context, c Crawl, host string) (_ *gathered, err error) {
	g := &gathered{crawl: c, robots: map[string]place{}, wanted: map[string]bool{}}
	g.rows.Dir, g.rows.Pattern = c.TempDir, "proof.*.spool"
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("proof: %w", err), g.Close())
		}
	}()
	if err := g.checkpoint(); err != nil {
		return nil, err
	}
	g.Host, g.known.Key = host, hostmap.Key(g.note.Origin, host)
	if err := g.lines(ctx); err != nil {
		return nil, err
	}
	if err := g.hostsOf(ctx); err != nil {
		return nil, err
	}
	if err := g.claimStubs(); err != nil {
		return nil, err
	}
	g.marks()
	g.Lines = g.eachLine
	if err := g.hashes(ctx); err != nil {
		return nil, err
	}
	g.Heads = func(some []Exchange) ([]*Head, error) { return g.heads(ctx, some) }
	g.Robots = func(sha string) []byte { return g.robotsOf(ctx, sha) }
	return g, nil
}

// Close removes temporary files.
func (g *gathered) Close() error {
	err := g.rows.Close()
	if g.copied != "" {
		err = errors.Join(err, os.RemoveAll(g.copied))
	}
	return err
}

// checkpoint reads the latest one, with the signatures that were gathered for it.
func (g *gathered) checkpoint() error {
	n, err := ledger.Latest(g.crawl.Ledger)
	if err != nil {
		return err
	}
	if more, err := ledger.ReadNote(ledger.CheckpointPath(g.crawl.Ledger, n.Size)); err == nil && bytes.Equal(more.Text(), n.Text()) {
		for _, s := range more.Signatures {
			n.Add(s)
		}
	}
	g.note, g.Checkpoint = n, n.Marshal()
	return nil
}

// entries goes through the ledger up to the checkpoint.
func (g *gathered) entries(ctx context.Context) iter.Seq2[ledger.Text, error] {
	return func(yield func(ledger.Text, error) bool) {
		next := int64(0)
		for t, err := range ledger.Texts(g.crawl.Ledger) {
			if err != nil {
				err = fmt.Errorf("%w: %w", ErrDamaged, err)
			} else if t.Index != next {
				err = fmt.Errorf("%w: entry %d is missing, or cannot be read", ErrDamaged, next)
			} else if next%1024 == 0 {
				err = ctx.Err()
			}
			if err != nil {
				yield(ledger.Text{}, err)
				return
			}
			if next++; !yield(t, nil) || next == g.note.Size {
				return
			}
		}
		if next < g.note.Size {
			yield(ledger.Text{}, fmt.Errorf("%w of %d entries: it has %d", ErrDamaged, g.note.Size, next))
		}
	}
}

// lines reads the ledger once: it keeps the host's lines, and of the others what may matter.
func (g *gathered) lines(ctx context.Context) error {
	for e, err := range g.entries(ctx) {
		if err != nil {
			return err
		}
		switch {
		case ledger.IsMark(e.Line):
			g.mark(e)
		case ledger.IsStub(e.Line):
			g.stubs = append(g.stubs, stub{index: e.Index, hash: hashOf(e.Line)})
		case hostOf(e.Line) == g.Host:
			if err := g.line(e); err != nil {
				return err
			}
		}
	}
	if g.hosts == nil {
		return fmt.Errorf("%w: entry %d, its last, is not a mark of a map of hosts", ErrDamaged, g.note.Size-1)
	}
	return nil
}

// mark keeps a mark that may matter: the first, the last, runs, stops, changes of the key, and redactions.
func (g *gathered) mark(e ledger.Text) {
	m, err := ledger.ParseMark(e.Line)
	if err != nil {
		return
	}
	switch m.Kind {
	case ledger.KindHosts:
		if e.Index != g.note.Size-1 {
			return
		}
		g.hosts = m
	case ledger.KindBegin:
		if e.Index != 0 {
			return
		}
	case ledger.KindRun, ledger.KindStop, ledger.KindKey, ledger.KindRedaction:
	default:
		return
	}
	g.all = append(g.all, gatheredMark{m, Row{Index: e.Index, Public: bytes.Clone(e.Line)}})
}

// hashes opens the tiles, or makes them anew.
func (g *gathered) hashes(ctx context.Context) error {
	g.Hashes = tree.Reader(g.crawl.Ledger, g.note.Size, g.note.Root)
	indexes := []int64{0}
	for _, m := range g.all {
		if m.row.Index > 0 {
			indexes = append(indexes, m.row.Index)
		}
	}
	for r, err := range g.eachLine {
		if err != nil {
			return err
		}
		indexes = append(indexes, r.Index)
	}
	slices.Sort(indexes)
	_, err := tree.ProveMany(g.Hashes, g.note.Size, slices.Compact(indexes))
	if err == nil || !errors.Is(err, tree.ErrTiles) {
		return err
	}
	g.Notes = append(g.Notes, fmt.Sprintf("the tiles of the ledger cannot be used (%v): they were computed again from its lines", err))
	dir, err := os.MkdirTemp(g.crawl.TempDir, "tiles-")
	if err != nil {
		return err
	}
	if _, err := tree.Rebuild(dir, func(yield func(tlog.Hash, error) bool) {
		for e, err := range g.entries(ctx) {
			if err != nil {
				yield(tlog.Hash{}, err)
				return
			}
			if !yield(hashOf(e.Line), nil) {
				return
			}
		}
	}); err != nil {
		return err
	}
	g.Hashes = tree.Reader(dir, g.note.Size, g.note.Root)
	if _, err := tree.ProveMany(g.Hashes, g.note.Size, slices.Compact(indexes)); err != nil {
		return fmt.Errorf("%w: lines were changed", ErrDamaged)
	}
	return nil
}

var (
	timeStart = []byte(`{"time":"`)
	urlStart  = []byte(`","url":"`)
)

// hashOf is the entry hash of a line, in full or public. A stub that is none fits no checkpoint.
func hashOf(line []byte) tlog.Hash { return ledger.HashOf(tree.NewHasher(), line) }

// hostOf is the host of a decision. It exists for its speed: there is a line for every URL ever met, and most are of other
// hosts. Lines begin with their time and their URL (docs/reference/ledger.md), so the others need not be parsed.
func hostOf(line []byte) string {
	if rest, ok := bytes.CutPrefix(line, timeStart); ok {
		at := bytes.IndexByte(rest, '"')
		if url, ok := bytes.CutPrefix(rest[max(at, 0):], urlStart); ok {
			if end := bytes.IndexByte(url, '"'); end >= 0 && bytes.IndexByte(url[:end], '\\') < 0 {
				return hostmap.Host(string(url[:end]))
			}
		}
	}
	l, err := storage.ParseLine(line)
	if err != nil {
		return "" // as the ledger has it
	}
	return hostmap.Host(l.URL)
}

// marks chooses those for the bundle: of redactions, the ones that name a line of the host. Another one may say of
// another host, in its operator's words, what is not this host's business.
func (g *gathered) marks() {
	mine := map[int64]bool{}
	for _, s := range g.stubs {
		if s.mine {
			mine[s.index] = true
		}
	}
	for _, m := range g.all {
		if m.Kind != ledger.KindRedaction || slices.ContainsFunc(m.Redaction.Entries, func(i int64) bool { return mine[i] }) {
			g.Marks = append(g.Marks, m.row)
		}
	}
}
