package proof

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/accesslog"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
	"curtsy/storage/plainly"
)

type Options struct {
	Key       checkpoint.Key   // the operator's, zero for an unknown one
	Witnesses []checkpoint.Key // each must have cosigned

	Logs    []accesslog.Log // of the host
	Skew    time.Duration   // of the clocks of site and crawler. Zero means 2 s
	Stdin   io.Reader       // for a log from standard input
	TempDir string          // for data of logs beyond memory; empty means the system's
}

// Verify checks a bundle of that size. An error reports that the file is not one (ErrNoBundle), or an unreadable log.
func Verify(ctx context.Context, r io.ReaderAt, size int64, o Options) (*Result, error) {
	b, err := open(r, size)
	if err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	v := &verification{Options: o, bundle: b, r: &Result{
		Version: Version, Level: NoLevel, Host: b.manifest.Host, Software: b.manifest.Software, Summary: newSummary(),
		CannotShow: []string{},
	}}
	if err := v.all(ctx); err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	v.conclude()
	return v.r, nil
}

type verification struct {
	Options
	bundle *opened
	r      *Result

	note   *checkpoint.Note
	marks  marks
	lines  indexed
	before int64 // of the lines, those that the map is of
	entry  hostmap.Entry
	judge  *judge
	log    *logCheck
}

func (v *verification) all(ctx context.Context) error {
	for _, name := range v.bundle.extras() {
		v.r.found(BadMember, "%.80q is not part of a bundle, or is only in its manifest: nothing proves its content", name)
	}
	if !v.checkpoint() || !v.readMarks() {
		v.r.Summary.close()
		return nil
	}
	v.signatures()
	store, err := evidence.NewStore(v.TempDir)
	if err != nil {
		return err
	}
	defer store.Close()
	v.judge = &judge{r: v.r, store: store, named: map[string]bool{}, served: map[string]served{}}
	if v.judge.texts, err = v.texts(store); err != nil {
		return err
	}
	if len(v.Logs) > 0 {
		v.log = v.newLogCheck()
	}
	if err := v.readLines(ctx); err != nil {
		return err
	}
	v.inclusion()
	if v.judge.close(); v.judge.err != nil {
		return v.judge.err
	}
	v.r.Summary.close()
	v.page()
	if v.log != nil {
		return v.log.close(ctx)
	}
	return nil
}

func (v *verification) checkpoint() bool {
	b, err := v.bundle.whole(checkpointName)
	if err != nil {
		v.r.found(BadMember, "%v", err)
	}
	if v.note, err = checkpoint.Parse(b); err != nil {
		v.r.found(BadCheckpoint, "the checkpoint cannot be read: %v", strings.TrimPrefix(err.Error(), "checkpoint: "))
		return false
	}
	v.r.Origin, v.r.Size, v.r.Root = v.note.Origin, v.note.Size, hostmap.Hash(v.note.Root).String()
	v.entry.Key = hostmap.Key(v.note.Origin, v.r.Host)
	return true
}

// inclusion compares lines and marks with the root of the checkpoint, and the lines with the map.
func (v *verification) inclusion() {
	p, err := v.readProof(len(v.lines.indexes) + len(v.marks.at.indexes))
	if err != nil {
		v.r.found(BadMember, "%v", err)
		return
	}
	all, err := v.lines.with(&v.marks.at)
	if err == nil {
		err = tree.CheckMany(p.nodes, v.note.Size, v.note.Root, all.indexes, all.hashes)
	}
	if err != nil {
		v.r.found(BadInclusion, "lines and marks are not in the log as its checkpoint has it: %v", cause(err))
	}
	if err := hostmap.Check(v.marks.hosts.Root, v.entry.Key, p.entry, p.host); err != nil {
		v.r.found(BadMap, "a statement about the completeness map is not in it: %v", cause(err))
	}
	v.complete(p.entry)
}

// complete compares the lines with the map's entry of the host.
func (v *verification) complete(e *hostmap.Entry) {
	switch {
	case e == nil:
		if v.r.Absent = v.before == 0; !v.r.Absent {
			v.r.found(Omitted, "the completeness map has no line of this host, and the bundle %d", v.before)
		}
	case e.Count != v.before:
		v.r.found(Omitted, "the completeness map has %d lines of this host, and the bundle %d", e.Count, v.before)
	case e.First != v.entry.First || e.Digest != v.entry.Digest:
		v.r.found(Omitted, "the lines do not match the digest in the completeness map")
	}
	rest := v.note.Size - 1 - v.marks.hosts.Size
	if rest > 0 {
		v.r.CannotShow = append(v.r.CannotShow, fmt.Sprintf("whether the last %d of the %d entries have more lines of this host: "+
			"the completeness map is of those before them, since they came while it was made", rest, v.note.Size))
	}
	if rest > mostPast && rest > v.marks.hosts.Size {
		v.r.found(BadMap, "the completeness map covers only the first %d of %d entries: lines may be hidden in the others",
			v.marks.hosts.Size, v.note.Size)
	}
}

const mostPast = 4096 // entries that may come while a map of fewer is made: a million hosts take seconds

func (v *verification) page() {
	b, err := v.bundle.whole(pageName)
	if err != nil {
		v.r.found(BadMember, "%v", err)
		return
	}
	if v.bundle.manifest.Page < 1 {
		v.r.found(BadPage, "%s has version %d, which does not exist: do not trust it", pageName, v.bundle.manifest.Page)
		return
	}
	if v.r.PageChecked = v.bundle.manifest.Page == pageVersion; !v.r.PageChecked {
		v.r.CannotShow = append(v.r.CannotShow, "the page: another version of curtsy wrote it, so it cannot be compared with the lines")
		return
	}
	want, err := render(v.note, v.marks.hosts, v.r.Host, v.r.Summary)
	if err != nil || string(want) != string(b) {
		v.r.found(BadPage, "%s does not match the lines: do not trust it", pageName)
	}
}

var unshown = plainly.Sentences(`{{with .Result.Heads.NotThere}}the heads of {{.}} requests: they are not in the bundle
{{end}}{{with .Result.Heads.Unprovable}}the heads of {{.}} requests: their lines do not bind them
{{end}}{{with .Result.Robots.Unprovable}}{{.}} verdicts: robots.txt, or the name that the crawler gave itself, is not in the bundle
{{end}}{{if not .Logs}}requests that the crawler did not record: the site's access log shows them (--access-log){{end}}`)

func (v *verification) conclude() {
	r := v.r
	r.Holds = len(r.Findings) == 0
	r.CannotShow = append(r.CannotShow, unshown(struct {
		*Result
		Logs []accesslog.Log
	}{r, v.Logs})...)
	if !r.Holds {
		return
	}
	r.Level = SelfConsistent
	if slices.ContainsFunc(r.Signers, func(s Signer) bool { return s.Known && !s.Witness }) {
		r.Level = Signed
	}
	if slices.ContainsFunc(r.Signers, func(s Signer) bool { return s.Known && s.Witness }) {
		r.Level = Cosigned
	}
	if v.log != nil && v.log.confirmed {
		r.Level = Confirmed
	}
}

func cause(err error) error {
	for _, known := range []error{tree.ErrProof, hostmap.ErrProof} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}

type proofs struct {
	nodes tree.Proof
	entry *hostmap.Entry
	host  hostmap.Proof
}

// readProof reads proof.json. A proof of so many entries has a bounded number of nodes; more are an error.
func (v *verification) readProof(entries int) (p proofs, err error) {
	b, err := v.bundle.open(proofName)
	if err != nil {
		return p, err
	}
	most := int64(entries+1) * 64
	text, err := io.ReadAll(io.LimitReader(b, most*nodeSize+slack))
	if cerr := b.Close(); err == nil {
		err = cerr
	}
	var j struct {
		Nodes []hostmap.Hash
		Map   *mapJSON
	}
	switch {
	case err != nil:
	case int64(len(text)) == most*nodeSize+slack:
		err = fmt.Errorf("it has more than %d nodes, which no proof of its lines needs", most)
	default:
		err = plain(text)
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&j)
	}
	switch {
	case err != nil:
	case j.Nodes == nil || j.Map == nil:
		err = errors.New("it lacks nodes or map")
	case int64(len(j.Nodes)) > most:
		err = fmt.Errorf("it has more than %d nodes, which no proof of its lines needs", most)
	case len(j.Map.Siblings) > hostmap.MaxSiblings:
		err = fmt.Errorf("a path in the map has at most %d siblings", hostmap.MaxSiblings)
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", proofName, err)
	}
	if e := j.Map.Entry; e != nil {
		p.entry = &hostmap.Entry{Key: v.entry.Key, First: e.First, Count: e.Count, Digest: e.Digest}
	}
	for _, h := range j.Nodes {
		p.nodes = append(p.nodes, tlog.Hash(h))
	}
	p.host = hostmap.Proof{Siblings: j.Map.Siblings, Other: j.Map.Other}
	return p, nil
}

// signatures compares the checkpoint with the known keys, and with the key that the log names.
func (v *verification) signatures() {
	for _, s := range v.note.Signatures {
		if !slices.ContainsFunc(v.r.Signers, func(o Signer) bool { return o.Name == s.Name }) {
			v.r.Signers = append(v.r.Signers, Signer{Name: s.Name})
		}
	}
	if !v.Key.IsZero() {
		v.signedBy(v.Key)
	}
	v.signedByOwn()
	for _, k := range v.Witnesses {
		at, ok := v.note.Cosigned(k)
		claimed := slices.ContainsFunc(v.note.Signatures, func(s checkpoint.Signature) bool { return s.Name == k.Name() })
		s := v.r.signer(k)
		s.Witness, s.Known, s.Time = true, ok, at
		switch {
		case ok:
		case claimed:
			v.r.found(BadCosignature, "the cosignature of %s under the checkpoint is forged, or of another checkpoint", k.Name())
		default:
			v.r.found(BadCosignature, "%s has not cosigned the checkpoint", k.Name())
		}
	}
}

func (v *verification) signedBy(known checkpoint.Key) {
	for _, k := range v.marks.trusted(known) {
		if v.note.SignedBy(k) {
			s := v.r.signer(k)
			if s.Known = true; k != known {
				s.By = known.Name()
			}
			return
		}
	}
	if _, claimed := v.note.Claimed(known); claimed {
		v.r.found(BadSignature, "the signature of %s under the checkpoint is forged, or of another checkpoint", known.Name())
		return
	}
	v.r.found(BadSignature, "%s has not signed the checkpoint", known.Name())
}

// signedByOwn compares the checkpoint with the key that its log names: no other key can change the log.
func (v *verification) signedByOwn() {
	if v.marks.named == "" {
		return
	}
	k, err := checkpoint.ParseKey(v.marks.named)
	switch {
	case err != nil:
		v.r.found(BadMark, "the key that the log names is invalid: %v", err)
	case !v.note.SignedBy(k) && len(v.r.Counts) == 0:
		v.r.found(BadSignature, "the checkpoint is not signed by %s, the key that its own log names", k.Name())
	}
}

// logCheck compares the lines with the site's access logs, as an audit does with an archive.
type logCheck struct {
	v         *verification
	with      *accesslog.Comparison
	agents    bool // requests have named one
	confirmed bool
}

func (v *verification) newLogCheck() *logCheck {
	o := accesslog.Options{Stdin: v.Stdin, Skew: v.Skew, TempDir: v.TempDir, Crashed: v.marks.crashed, Whole: v.marks.ended}
	for _, l := range v.Logs {
		l.Host = cmp.Or(l.Host, v.r.Host)
		o.Logs = append(o.Logs, l)
	}
	return &logCheck{v: v, with: accesslog.Compare(o)}
}

// take passes a line to the comparison, if bytes of its request were sent.
func (c *logCheck) take(ctx context.Context, index int64, l *storage.Line, h *Head) error {
	if l.Record == "" {
		return nil
	}
	u, err := evidence.ParseURL(l.URL)
	if err != nil {
		return nil //nolint:nilerr // an invalid URL leads to no request
	}
	e := &evidence.Exchange{
		Place: finding.Place{File: linesName, Offset: index, Record: l.Record}, URL: l.URL, Authority: u.Authority,
		Target: u.Target, Began: l.Began, Took: l.Took, Ended: true, Resolution: time.Microsecond, Method: "GET",
		Status: l.Status, Answered: l.Status != 0, Cut: l.Truncated, Robots: l.Decision == storage.DecisionRobots,
	}
	if h != nil {
		e.Agent = agentOf(h.Request)
		c.agents = c.agents || e.Agent != ""
		if t := targetOf(h.Request); t != "" {
			e.Target = t
		}
	}
	return c.with.Exchange(ctx, e, func(finding.Finding) {})
}

func (c *logCheck) close(ctx context.Context) error {
	r := c.v.r
	if !c.agents { // only its product name is known then
		name, _, _ := strings.Cut(c.v.bundle.manifest.Software, "/")
		if err := c.with.Info(ctx, &evidence.Info{Token: name}, nil); err != nil {
			return err
		}
	}
	var all []finding.Finding
	of := &audit.Result{}
	if err := c.with.Close(ctx, of, func(f finding.Finding) {
		if !f.Note && len(all) < 10*maxFindings {
			all = append(all, f)
		}
	}); err != nil {
		return err
	}
	if len(of.Logs) > 0 {
		r.Log = of.Logs[0]
	}
	c.confirmed = of.Level == audit.ConfirmedByLog
	r.CannotShow = append(r.CannotShow, of.CannotShow...)
	if redacted := r.Summary.Redacted; redacted > 0 && r.Log != nil && r.Log.Extra > 0 && r.Log.Extra <= redacted {
		r.CannotShow = append(r.CannotShow, fmt.Sprintf(
			"whether %d requests of the access log that no line has are among the %d lines that were taken out", r.Log.Extra, redacted))
		all = slices.DeleteFunc(all, func(f finding.Finding) bool { return f.Code == finding.LogExtra })
	}
	for _, f := range all {
		switch f.Code {
		case finding.LogExtra:
			r.found(LogExtra, "the access log has a request that no line has: %s", f.Observed)
		case finding.LogMissing:
			r.at(LogMissing, f.Offset, "the access log lacks a request that entry %d has, %.200s: %s", f.Offset, f.URL, f.Observed)
		}
	}
	return nil
}

func (v *verification) readLines(ctx context.Context) error {
	heads, err := v.openHeads()
	if err != nil {
		v.r.found(BadMember, "%v", err)
	} else {
		defer heads.stop()
	}
	in, err := v.bundle.open(linesName)
	if err != nil {
		v.r.found(BadMember, "%v", err)
		return nil
	}
	err = eachRow(in, linesName, v.note.Size, func(r Row) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := v.lines.add(r)
		if err != nil {
			return err
		}
		if r.Index < v.marks.hosts.Size {
			v.before++
			v.entry.Add(r.Index, h)
		}
		return v.line(ctx, r, heads)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if ferr := (*logError)(nil); errors.As(err, &ferr) {
		return ferr.err
	}
	if err != nil {
		v.r.found(BadLine, "%v", err)
	}
	if cerr := in.Close(); cerr != nil {
		v.r.found(BadMember, "%v", cerr)
	}
	v.restOfHeads(heads)
	return nil
}

type logError struct{ err error }

func (e *logError) Error() string { return e.err.Error() }

func (v *verification) line(ctx context.Context, r Row, heads *headStream) error {
	if ledger.IsMark(r.Public) {
		v.r.at(BadLine, r.Index, "entry %d is a mark, and no line of a host", r.Index)
		return nil
	}
	if ledger.IsStub(r.Public) {
		v.r.Summary.Lines++
		v.r.Summary.Redacted++
		if !v.redaction(r.Index) {
			v.r.at(Unredacted, r.Index, "entry %d was taken out, and no later mark of a redaction names it", r.Index)
		}
		return nil
	}
	l, err := storage.ParseLine(r.Public)
	if err != nil {
		v.r.at(BadLine, r.Index, "entry %d cannot be read: %v", r.Index, err)
		return nil
	}
	if host := hostmap.Host(l.URL); host != v.r.Host {
		v.r.at(OtherHost, r.Index, "entry %d is about %.80q, another host", r.Index, host)
		return nil
	}
	v.r.Summary.take(&l)
	v.marks.line(r.Index, l.Time)
	h := v.headOf(r.Index, &l, heads)
	v.judge.take(r.Index, &l, h)
	if v.log != nil {
		if err := v.log.take(ctx, r.Index, &l, h); err != nil {
			return &logError{err}
		}
	}
	return nil
}

// headOf returns the head of an exchange if it is in the bundle and matches its line.
func (v *verification) headOf(index int64, l *storage.Line, heads *headStream) *Head {
	if l.Record == "" {
		return nil
	}
	h := heads.at(index, func(other int64) {
		v.r.at(BadHeads, other, "there are heads for entry %d, which is not a request to this host", other)
	})
	switch {
	case l.Heads == "":
		v.r.Heads.Unprovable++
		if h != nil {
			v.r.at(BadHeads, index, "the line of entry %d binds no heads, and the bundle has some", index)
		}
		return nil
	case h == nil:
		v.r.Heads.NotThere++
		return nil
	case h.sum() != l.Heads:
		v.r.at(BadHeads, index, "the heads of entry %d are not those that its line binds: they were changed", index)
		return nil
	}
	v.r.Heads.Right++
	v.r.Summary.head(*h)
	return h
}

type headStream struct {
	in    *stream
	pull  func() (int64, *Head, bool)
	stop  func()
	index int64
	next  *Head
	err   error
}

func (v *verification) openHeads() (*headStream, error) {
	in, err := v.bundle.open(headsName)
	if err != nil {
		return nil, err
	}
	s := &headStream{in: in}
	s.pull, s.stop = iter.Pull2(func(yield func(int64, *Head) bool) {
		before := int64(-1)
		s.err = eachJSONL(in, headsName, func(b []byte) error {
			index, h, err := parseHead(b)
			switch {
			case err != nil:
				return err
			case index <= before:
				return errors.New("indexes ascend")
			}
			if before = index; !yield(index, &h) {
				return errEnough
			}
			return nil
		})
	})
	s.advance()
	return s, nil
}

var errEnough = errors.New("enough")

func (s *headStream) advance() { s.index, s.next, _ = s.pull() }

// at returns the head of an entry, or nil. It calls nobody for the indexes of heads before it.
func (s *headStream) at(index int64, nobody func(int64)) *Head {
	if s == nil {
		return nil
	}
	for s.next != nil && s.index < index {
		nobody(s.index)
		s.advance()
	}
	if s.next == nil || s.index != index {
		return nil
	}
	h := s.next
	s.advance()
	return h
}

func (v *verification) restOfHeads(s *headStream) {
	if s == nil {
		return
	}
	for ; s.next != nil; s.advance() {
		v.r.at(BadHeads, s.index, "there are heads for entry %d, which is not a request to this host", s.index)
	}
	if s.err != nil {
		v.r.found(BadHeads, "%v", s.err)
	}
	if err := s.in.Close(); err != nil {
		v.r.found(BadMember, "%v", err)
	}
}

// texts reads the robots.txt files and compares each with the digest in its name.
func (v *verification) texts(store *evidence.Store) (map[string]robotsText, error) {
	all, size := map[string]robotsText{}, 0
	names := make([]string, 0, len(v.bundle.files))
	for name := range v.bundle.files {
		if v.bundle.robotsOf(name) != "" {
			names = append(names, name)
		}
	}
	for name := range v.bundle.members {
		if v.bundle.robotsOf(name) != "" && v.bundle.files[name] == nil {
			v.r.found(BadMember, "%s is missing", name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		sha := v.bundle.robotsOf(name)
		b, err := v.bundle.whole(name)
		if err != nil {
			v.r.found(BadMember, "%v", err)
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != sha {
			v.r.found(BadRobots, "%s is not the robots.txt that it is named after: it was changed", name)
			continue
		}
		if size += len(b); size <= maxAllTexts {
			text, err := store.Put(b)
			if err != nil {
				return nil, err
			}
			all[sha] = robotsText{text, b}
		}
	}
	return all, nil
}

type marks struct {
	at    indexed
	first *mark
	hosts *mark // the last one

	rotations []*mark
	redacted  []redacted // entries that a mark names, by index
	named     string     // the key named as signer at the end of the log; empty for none
	crashes   []crash
	ended     bool // the last run ended cleanly
	last      time.Time
}

// crash is a kill of a run: later requests than its last known one may have no line.
type crash struct {
	next     int64 // the mark of the run after it
	from, to time.Time
}

type redacted struct {
	entry, by int64
	mark      int // which of Result.Redaction
}

// readMarks reads the marks, and reports whether the rest can be checked.
func (v *verification) readMarks() bool {
	in, err := v.bundle.open(marksName)
	if err != nil {
		v.r.found(BadMember, "%v", err)
		return false
	}
	m := &v.marks
	var last *mark
	err = eachRow(in, marksName, v.note.Size, func(r Row) error {
		if !ledger.IsMark(r.Public) {
			return fmt.Errorf("entry %d is not a mark", r.Index)
		}
		if _, err := m.at.add(r); err != nil {
			return err
		}
		of, err := parseMark(r)
		if err != nil {
			return fmt.Errorf("entry %d: %w", r.Index, err)
		}
		if last = of; m.first == nil {
			m.first = of
		}
		v.mark(of)
		return nil
	})
	if cerr := in.Close(); cerr != nil {
		v.r.found(BadMember, "%v", cerr)
	}
	if err != nil {
		v.r.found(BadMark, "%v", err)
		return false
	}
	slices.SortFunc(m.redacted, func(a, b redacted) int { return cmp.Compare(a.entry, b.entry) })
	return v.ends(last)
}

func (v *verification) ends(last *mark) bool {
	switch first := v.marks.first; {
	case first == nil || first.index != 0 || first.Kind != ledger.KindBegin:
		v.r.found(BadMark, "the mark is missing that begins the log and names its origin (entry 0)")
	case first.Schema != ledger.Schema:
		v.r.found(BadMark, "the log has schema %d, and this program reads %d", first.Schema, ledger.Schema)
	case first.Origin != v.note.Origin:
		v.r.found(BadOrigin, "the log begins as %.120q, and the checkpoint is of %.120q: they are not of one crawl",
			first.Origin, v.note.Origin)
	}
	if last == nil || last.Kind != ledger.KindHosts || last.index != v.note.Size-1 || last.Size < 0 || last.Size > last.index {
		v.r.found(BadMark, "the last entry of the checkpoint is not the mark of a completeness map of the lines before it")
		return false
	}
	v.marks.hosts = last
	v.r.AsOf, v.r.Covered, v.r.Hosts = last.Time, last.Size, last.Hosts
	return v.marks.first != nil
}

func (v *verification) mark(of *mark) {
	m := &v.marks
	switch of.Kind {
	case ledger.KindRun:
		m.ended = false
		if of.Killed {
			v.r.Killed++
			m.crashes = append(m.crashes, crash{of.index, m.last, of.Time})
		}
		if of.Key != "" {
			m.named = of.Key
		}
	case ledger.KindStop:
		m.ended = true
	case ledger.KindKey:
		m.rotations = append(m.rotations, of)
		m.named = of.Rotation.New.String()
	case ledger.KindRedaction:
		v.r.Redaction = append(v.r.Redaction, Redaction{Time: of.Time, Reason: of.Redaction.Reason})
		for _, i := range of.Redaction.Entries {
			m.redacted = append(m.redacted, redacted{i, of.index, len(v.r.Redaction) - 1})
		}
	}
	if of.Time.After(m.last) {
		m.last = of.Time
	}
}

// redaction notes that a line was redacted, and reports whether a later mark names it.
func (v *verification) redaction(index int64) bool {
	all := v.marks.redacted
	i, ok := slices.BinarySearchFunc(all, index, func(r redacted, i int64) int { return cmp.Compare(r.entry, i) })
	for ; ok && i < len(all) && all[i].entry == index; i++ {
		if all[i].by > index {
			v.r.Redaction[all[i].mark].Lines++
			return true
		}
	}
	return false
}

// line takes the time of a line of the host, whose run was not killed before. Lines come in order.
func (m *marks) line(index int64, at time.Time) {
	i, _ := slices.BinarySearchFunc(m.crashes, index, func(c crash, index int64) int { return cmp.Compare(c.next, index) })
	if i < len(m.crashes) && at.After(m.crashes[i].from) {
		m.crashes[i].from = at
	}
}

// crashed reports whether a kill may have lost a request that was sent between two instants: from the last known one of a run
// to the begin of the next.
func (m *marks) crashed(from, to time.Time) bool {
	return slices.ContainsFunc(m.crashes, func(c crash) bool { return !to.Before(c.from) && !from.After(c.to) })
}

// trusted are the keys to which rotations in the log lead from a known one.
func (m *marks) trusted(known checkpoint.Key) []checkpoint.Key {
	all := []checkpoint.Key{known}
	for more := true; more; {
		more = false
		for _, of := range m.rotations {
			if slices.Contains(all, of.Rotation.Old) && !slices.Contains(all, of.Rotation.New) {
				all, more = append(all, of.Rotation.New), true
			}
		}
	}
	return all
}
