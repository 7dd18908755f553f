package proof

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
	"curtsy/storage/spool"
	"curtsy/storage/warc"
)

// Crawl has the paths of a crawl's files.
type Crawl struct {
	Ledger  string   // the folder of the ledger
	Archive string   // the folder of the archive
	Index   []string // the files of its index
	TempDir string   // for data beyond memory
}

// gathered has the Source of a bundle. It is valid until Close.
type gathered struct {
	Source

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

type gatheredMark struct {
	*ledger.Mark
	row Row
}

type stub struct {
	index int64
	hash  tlog.Hash
	mine  bool
}

type place struct{ url, record string }

const patience = 10 // attempts if a running crawl makes other checkpoints meanwhile

// Of gathers the Source of a host's bundle.
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
	if err := g.hostsOf(); err != nil {
		return nil, err
	}
	if err := g.claimStubs(); err != nil {
		return nil, err
	}
	g.marks()
	g.Lines = g.eachLine
	g.Hashes = ledger.Hashes(c.Ledger, c.TempDir, g.note)
	g.Heads = func(some []Exchange) ([]*Head, error) { return g.heads(ctx, some) }
	g.Robots = func(sha string) []byte { return g.robotsOf(ctx, sha) }
	return g, nil
}

func (g *gathered) Close() error {
	err := g.rows.Close()
	if g.copied != "" {
		err = errors.Join(err, os.RemoveAll(g.copied))
	}
	return err
}

// checkpoint reads the latest one, with the cosignatures stored for it.
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

// lines reads the ledger once. It keeps the host's lines, marks that may matter, and stubs.
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

// mark keeps a mark that may matter: the first, the last, and those of runs, stops, keys and redactions.
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

var (
	timeStart = []byte(`{"time":"`)
	urlStart  = []byte(`","url":"`)
)

// hashOf is the entry hash of a line, full or public. An invalid stub matches no checkpoint.
func hashOf(line []byte) tlog.Hash { return ledger.HashOf(tree.NewHasher(), line) }

// hostOf is the host of a decision. For speed it does not parse lines of other hosts, which begin with their time and URL
// (docs/reference/ledger.md).
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

// marks chooses those for the bundle: of redactions, those that name a line of the host. Others may name another host.
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

func (g *gathered) line(e ledger.Text) error {
	g.buf = Row{e.Index, tree.Public(nil, e.Line)}.append(g.buf[:0])
	if _, err := g.rows.Write(g.buf); err != nil {
		return err
	}
	l, err := storage.ParseLine(e.Line)
	if err != nil {
		return fmt.Errorf("%w: entry %d cannot be read: %w", ErrDamaged, e.Index, err)
	}
	if l.Decision == storage.DecisionRobots && l.RobotsSHA256 != "" && l.Record != "" && len(g.robots) < maxTexts {
		g.robots[l.RobotsSHA256] = place{l.URL, l.Record}
	}
	if l.RobotsSHA256 != "" && len(g.wanted) < maxTexts {
		g.wanted[l.RobotsSHA256] = true
	}
	return nil
}

// each yields the host's kept lines. Bytes are valid until the next.
func (g *gathered) each(yield func(Row, error) bool) {
	err := eachRow(g.rows.Section(), linesName, g.note.Size, func(r Row) error {
		if !yield(r, nil) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		yield(Row{}, err)
	}
}

// eachLine is each with the host's stubs, in order.
func (g *gathered) eachLine(yield func(Row, error) bool) {
	mine := slices.DeleteFunc(slices.Clone(g.stubs), func(s stub) bool { return !s.mine })
	more := true
	before := func(index int64) {
		for ; more && len(mine) > 0 && mine[0].index < index; mine = mine[1:] {
			more = yield(Row{Index: mine[0].index, Public: ledger.Stub(mine[0].hash)}, nil)
		}
	}
	for r, err := range g.each {
		if err == nil {
			before(r.Index)
		}
		if more = more && yield(r, err); !more {
			return
		}
	}
	before(g.note.Size)
}

const maxBody = 500<<10 + 1 // of a robots.txt: one byte more than RFC 9309 2.5 requires, as crawls read

func (g *gathered) heads(ctx context.Context, some []Exchange) ([]*Head, error) {
	all := make([]*Head, len(some))
	byURL := map[string][]int{}
	for i, e := range some {
		byURL[e.URL] = append(byURL[e.URL], i)
	}
	for url, wanted := range byURL {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		byRecord := map[string]int{}
		for _, i := range wanted {
			byRecord[some[i].Record] = i
		}
		g.captures(url, func(path string, at int64) bool {
			id, h := headAt(path, at)
			i, ok := byRecord[id]
			if !ok {
				return true
			}
			if all[i] = h; h.sum() != some[i].Heads {
				all[i] = &Head{Request: h.Request} // an answer without a whole head
			}
			delete(byRecord, id)
			return len(byRecord) > 0
		})
	}
	return all, nil
}

// captures calls f with the place of each archived response of a URL until it returns false. It skips invalid index lines.
func (g *gathered) captures(url string, f func(path string, offset int64) bool) {
	for l, err := range cdxj.Lookup(g.crawl.Index, url) {
		if err != nil || l.URL != url || filepath.Base(l.Filename) != l.Filename {
			continue
		}
		path := filepath.Join(g.crawl.Archive, l.Filename)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path += ".open" // the segment that a crawl is writing
		}
		if !f(path, l.Offset) {
			return
		}
	}
}

// headAt reads the head of the response at a place, and the request before it. id is the response record's.
func headAt(path string, offset int64) (id string, h *Head) {
	rec, file, err := warc.ReadAt(path, offset)
	if err != nil {
		return "", nil
	}
	defer file.Close()
	id, h = rec.ID(), &Head{}
	if of, err := warc.ReadHTTP(rec.Block); err == nil && of.Complete {
		h.Answer = bytes.Clone(of.Head)
	}
	h.Request = requestBefore(path, offset, rec.ConcurrentTo())
	return id, h
}

const maxRequest = 64 << 10 // bytes of a request's gzip member before its response

// requestBefore reads the request with an id that ends where its response begins. Each record is a gzip member (WARC 1.1,
// D.2), so it begins at an earlier place that looks like the begin of one; the id decides.
func requestBefore(path string, offset int64, id string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, min(maxRequest, offset))
	if _, err := f.ReadAt(b, offset-int64(len(b))); err != nil {
		return nil
	}
	for tries := 64; tries > 0; tries-- {
		i := bytes.LastIndex(b, []byte{0x1f, 0x8b, 8})
		if i < 0 {
			return nil
		}
		if request := requestAt(path, offset-int64(len(b)-i), id); request != nil {
			return request
		}
		offset, b = offset-int64(len(b)-i), b[:i]
	}
	return nil
}

func requestAt(path string, at int64, id string) []byte {
	rec, file, err := warc.ReadAt(path, at)
	if err != nil {
		return nil
	}
	defer file.Close()
	if rec.Type != "request" || rec.ID() != id || rec.Length > maxRequest {
		return nil
	}
	b, err := io.ReadAll(rec.Block)
	if err != nil {
		return nil
	}
	return b
}

// robotsOf finds the robots.txt with a digest, in another host's lines if the host's own redirected there.
func (g *gathered) robotsOf(ctx context.Context, sha string) []byte {
	at, ok := g.robots[sha]
	if !ok && g.wanted != nil {
		g.elsewhere(ctx)
		at, ok = g.robots[sha]
	}
	if !ok {
		return nil
	}
	var body []byte
	g.captures(at.url, func(path string, offset int64) bool {
		rec, file, err := warc.ReadAt(path, offset)
		if err != nil {
			return true
		}
		defer file.Close()
		if rec.ID() != at.record {
			return true
		}
		body = bodyOf(rec)
		return false
	})
	return body
}

func bodyOf(rec *warc.Record) []byte {
	a, err := answer.Read(rec, 0)
	if err != nil {
		return nil
	}
	in, err := a.Body(maxBody)
	if err != nil {
		return nil
	}
	b, err := io.ReadAll(in)
	if err != nil && !errors.Is(err, warc.ErrTooLarge) {
		return nil
	}
	return b
}

// robotsWord is in each line of an exchange for robots.txt.
var robotsWord = []byte(`,"decision":"` + string(storage.DecisionRobots) + `"`)

// elsewhere looks once through all lines for robots.txt files that the host's own exchanges lack.
func (g *gathered) elsewhere(ctx context.Context) {
	for e, err := range g.entries(ctx) {
		if err != nil {
			break
		}
		if ledger.IsMark(e.Line) || ledger.IsStub(e.Line) || !bytes.Contains(e.Line, robotsWord) {
			continue
		}
		l, err := storage.ParseLine(e.Line)
		if err == nil && l.Decision == storage.DecisionRobots && l.Record != "" && g.wanted[l.RobotsSHA256] && g.robots[l.RobotsSHA256] == (place{}) {
			g.robots[l.RobotsSHA256] = place{l.URL, l.Record}
		}
	}
	g.wanted = nil
}

func (g *gathered) hostsOf() error {
	for _, name := range []string{ledger.HostsName, ledger.HostsNext} {
		if found, err := g.stored(name); found || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s is of another one; if the crawl runs, run the command again; otherwise the next run makes the map again", ErrDamaged, ledger.HostsName)
}

// stored takes a file of the map if it is the last mark's. It copies it first: a running crawl may replace it between reads.
func (g *gathered) stored(name string) (found bool, err error) {
	if g.copied == "" {
		if g.copied, err = os.MkdirTemp(g.crawl.TempDir, "hosts-"); err != nil {
			return false, err
		}
	}
	from, err := durable.Open(filepath.Join(g.crawl.Ledger, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(g.copied, ledger.HostsName))
	if err != nil {
		return false, err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return false, err
	}
	all, mine := ledger.Hosts(g.copied), hostmap.Entry{Key: g.known.Key}
	root, _, err := hostmap.Root(all, func(e *hostmap.Entry) error {
		if e.Key == mine.Key {
			mine = *e
		}
		return nil
	})
	if err != nil || root != g.hosts.Root {
		return false, nil //nolint:nilerr // it is another map
	}
	g.Hosts, g.known = all, mine
	return true, nil
}

const maxTries = 1 << 17 // to find the stubs of a host

// claimStubs finds the stubs that are the host's: those with which its digest is that of the map.
func (g *gathered) claimStubs() error {
	if len(g.stubs) == 0 {
		return nil
	}
	var own []stub // the lines that exist
	for r, err := range g.each {
		if err != nil {
			return err
		}
		if r.Index < g.hosts.Size {
			own = append(own, stub{index: r.Index, hash: hashOf(r.Public)})
		}
	}
	missing := int(g.known.Count) - len(own)
	if missing <= 0 {
		return nil // if there are too many, the proof reports it
	}
	c := claim{own: own, stubs: g.stubs, want: g.known, left: maxTries}
	if !c.groups(g.all, missing) && !c.singly(nil, 0, missing) {
		return fmt.Errorf("%d of its lines were redacted, among %d in total, and cannot be identified any more: "+
			"no proof that the others are all", missing, len(g.stubs))
	}
	for i := range g.stubs {
		g.stubs[i].mine = slices.Contains(c.found, i)
	}
	return nil
}

type claim struct {
	own   []stub
	stubs []stub
	want  hostmap.Entry
	left  int   // how often it may still be tried
	found []int // places in stubs
}

func (c *claim) try(chosen []int) bool {
	if c.left--; c.left < 0 {
		return false
	}
	e := hostmap.Entry{Key: c.want.Key}
	own := c.own
	for _, i := range chosen {
		for ; len(own) > 0 && own[0].index < c.stubs[i].index; own = own[1:] {
			e.Add(own[0].index, own[0].hash)
		}
		e.Add(c.stubs[i].index, c.stubs[i].hash)
	}
	for _, s := range own {
		e.Add(s.index, s.hash)
	}
	if e.First != c.want.First || e.Count != c.want.Count || e.Digest != c.want.Digest {
		return false
	}
	c.found = slices.Clone(chosen)
	return true
}

// groups tries whole redactions: each is mostly of one host.
func (c *claim) groups(marks []gatheredMark, missing int) bool {
	var all [][]int
	for _, m := range marks {
		if m.Kind != ledger.KindRedaction {
			continue
		}
		var of []int
		for _, index := range m.Redaction.Entries {
			if i, ok := slices.BinarySearchFunc(c.stubs, index, func(s stub, index int64) int { return cmp.Compare(s.index, index) }); ok {
				of = append(of, i)
			}
		}
		if len(of) > 0 && len(of) <= missing {
			all = append(all, of)
		}
	}
	if len(all) > 12 {
		return false
	}
	for set := range 1 << len(all) {
		var chosen []int
		for i, of := range all {
			if set>>i&1 == 1 {
				chosen = append(chosen, of...)
			}
		}
		slices.Sort(chosen)
		if chosen = slices.Compact(chosen); len(chosen) == missing && c.try(chosen) {
			return true
		}
	}
	return false
}

func (c *claim) singly(chosen []int, from, missing int) bool {
	if missing == 0 {
		return c.try(chosen)
	}
	for i := from; i+missing <= len(c.stubs) && c.left > 0; i++ {
		if c.singly(append(chosen, i), i+1, missing-1) {
			return true
		}
	}
	return false
}
