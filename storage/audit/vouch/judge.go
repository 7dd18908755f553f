package vouch

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/plainly"
)

// Verdict is who vouches for a ledger.
type Verdict struct {
	Origin  string
	Size    int64  // entries
	Head    string // the latest checkpoint that is of these lines, as ParseHead reads it; "" without one
	Signer  checkpoint.Key
	Known   bool            // Signer is the auditor's key, or one that rotations lead to from there
	Covered int64           // entries that the latest checkpoint covers
	Lodged  []audit.Lodging // of each witness the first and the last, and each head
	Lacks   []int64         // sizes of the given checkpoints that the ledger does not have
	Since   int64           // decisions behind the largest size that somebody else vouches for
}

// judge is the judgement under way.
type judge struct {
	*Log

	v         *Verdict
	friends   []checkpoint.Key // the auditor's key, and those that rotations lead to
	found     finding.Report
	forks     []fork
	good      int64                   // the largest size of a checkpoint that is signed, and of these lines
	met       map[string]bool         // who vouches
	cosigners map[checkpoint.Key]bool // witnesses that cosigned a checkpoint, be it of these lines or not
	last      map[string]int          // where in Lodged the last time stands, of who does so again
}

// fork is a checkpoint of other lines, though the key of its run signed it.
type fork struct {
	size int64
	path string
}

// Close judges. Every entry was given.
func (l *Log) Close(ctx context.Context, found finding.Report) (Verdict, error) {
	j := &judge{Log: l, v: &Verdict{Origin: l.origin, Size: l.tree.Size()}, friends: l.known(), found: found,
		met: map[string]bool{}, cosigners: map[checkpoint.Key]bool{}, last: map[string]int{}}
	for _, size := range l.sizes {
		if err := ctx.Err(); err != nil {
			return Verdict{}, err
		}
		path := ledger.CheckpointPath(l.o.Dir, size)
		n, err := ledger.ReadNote(path)
		if err != nil || n.Size != size {
			continue // the ledger's own check names it
		}
		j.note(n, path)
	}
	if n, err := ledger.ReadNote(filepath.Join(l.o.Dir, ledger.CheckpointName)); err == nil && l.stored(n.Size) {
		// Package ledger looks at the signatures of the stored ones; this is the one that people lodge.
		if k := l.at[n.Size].key; !k.IsZero() && !n.SignedBy(k) {
			j.say(finding.LedgerSigner, filepath.Join(l.o.Dir, ledger.CheckpointName), "a latest checkpoint that the key of its run, "+
				k.Name()+", has signed", "it is not")
		}
	}
	for _, size := range l.gone {
		if _, err := os.Lstat(ledger.CheckpointPath(l.o.Dir, size)); err == nil {
			continue // a crawl that runs made it while the entries were read
		}
		j.say(finding.LedgerRoot, ledger.CheckpointPath(l.o.Dir, size), "each checkpoint of the ledger: a mark of hosts is "+
			"the last entry of one (ledger reference)", fmt.Sprintf("the checkpoint of %d entries is missing", size))
	}
	for _, f := range j.forks {
		if f.size < j.good {
			j.say(finding.LedgerFork, f.path, "one ledger: each checkpoint of an operator continues the one before",
				fmt.Sprintf("the operator's key has signed another tree of %d entries than these lines form, which a "+
					"later checkpoint of the same key stands for", f.size))
		}
	}
	l.late.end()
	for _, f := range l.late.wrong {
		f.Place.File = l.o.Dir
		found(f)
	}
	j.heads()
	j.kept()
	j.pinned()
	j.witnessed()
	covered := int64(-1)
	for _, d := range j.v.Lodged {
		covered = max(covered, d.Size)
	}
	if p := l.at[covered]; p != nil {
		j.v.Since = l.lines - p.lines
	}
	return *j.v, nil
}

func (j *judge) say(code finding.Code, path, required, observed string) {
	j.found(finding.Finding{Code: code, Place: finding.Place{File: path}, Required: required, Observed: observed})
}

// ours reports whether a checkpoint is of these lines.
func (j *judge) ours(origin string, size int64, root [32]byte) bool {
	p := j.at[size]
	return p != nil && p.known && p.root == root && (origin == "" || origin == j.origin)
}

// note judges a stored checkpoint.
func (j *judge) note(n *checkpoint.Note, path string) {
	ours := j.ours(n.Origin, n.Size, n.Root)
	p := j.at[n.Size]
	signed := n.SignedBy(p.key)
	if ours {
		j.v.Head, j.v.Covered = Head{Size: n.Size, Root: n.Root}.String(), n.Size
		j.v.Signer, j.v.Known = checkpoint.Key{}, false
		if signed {
			j.v.Signer = p.key
		}
		for _, k := range j.friends {
			if n.SignedBy(k) {
				j.v.Signer, j.v.Known = k, true
				break
			}
		}
		if signed {
			j.good = n.Size
		}
	} else if signed && p.known && n.Origin == j.origin {
		j.forks = append(j.forks, fork{n.Size, path})
	}
	for _, w := range j.o.Witnesses {
		j.cosigned(n, path, w, ours)
	}
}

// lodged takes that somebody vouches for the first entries. Of one who does so again and again the first and the last
// time are kept.
func (j *judge) lodged(d audit.Lodging) {
	who := d.How + " " + d.By
	if at, again := j.last[who]; again {
		j.v.Lodged[at] = d
		return
	}
	if j.met[who] {
		j.last[who] = len(j.v.Lodged)
	}
	j.met[who] = true
	j.v.Lodged = append(j.v.Lodged, d)
}

func (j *judge) cosigned(n *checkpoint.Note, path string, w checkpoint.Key, ours bool) {
	at, ok := n.Cosigned(w)
	j.cosigners[w] = j.cosigners[w] || ok
	switch {
	case ok && ours:
		j.lodged(audit.Lodging{How: audit.ByWitness, By: w.Name(), Size: n.Size, At: at})
	case ok && j.at[n.Size].known: // else lines are missing, which is said elsewhere
		j.other(path, "the witness "+w.Name()+" has cosigned", n.Size)
	case ok:
	case slices.ContainsFunc(n.Signatures, func(s checkpoint.Signature) bool { return s.Name == w.Name() && s.Hash == cosigner(w) }):
		j.say(finding.Cosignature, path, "cosignatures of the witness "+w.Name()+" that its key has made",
			"an invalid one under its name")
	}
}

// cosigner is what names a witness's key in its cosignatures: as in any note, but with the type of cosignature/v1
// (https://c2sp.org/tlog-cosignature).
func cosigner(w checkpoint.Key) uint32 {
	sum := sha256.Sum256(append([]byte(w.Name()+"\n\x04"), w.Public()...))
	return binary.BigEndian.Uint32(sum[:])
}

// other names another tree that somebody vouches for.
func (j *judge) other(path, who string, size int64) {
	j.say(finding.LedgerFork, path, "one ledger for all: the lines lead to each checkpoint that others vouch for",
		fmt.Sprintf("%s a tree of %d entries that these lines do not form: others were shown another ledger, or this one "+
			"was changed since", who, size))
}

// heads judges what was lodged elsewhere.
func (j *judge) heads() {
	for _, h := range j.o.Heads {
		if wrong := j.lacks(h); wrong != "" {
			j.say(finding.LedgerHead, j.o.Dir, "this ledger has the given checkpoint, "+h.String(), wrong)
			j.v.Lacks = append(j.v.Lacks, h.Size)
			continue
		}
		j.lodged(audit.Lodging{How: audit.ByHead, By: h.String(), Size: h.Size})
	}
}

// kept judges what the operator's own machine has kept. It lodges nothing: nobody else has seen it.
func (j *judge) kept() {
	h := j.o.Kept
	if h == nil {
		return
	}
	if wrong := j.lacks(*h); wrong != "" {
		j.say(finding.LedgerHead, j.o.Dir, "the newest checkpoint that your key signed for this ledger, kept in "+j.o.KeptIn+": "+h.String(),
			wrong+"; or the directory is an older copy")
	}
}

// lacks says in which way the ledger does not have a head; "" if it has.
func (j *judge) lacks(h Head) string {
	p := j.at[h.Size]
	switch {
	case h.Origin != "" && h.Origin != j.origin:
		return fmt.Sprintf("it is of the log %s, and this is %s", finding.Short(h.Origin), finding.Short(j.origin))
	case j.ours(h.Origin, h.Size, h.Root):
		return ""
	case !p.known && h.Size > j.tree.Size() && !j.lost:
		return fmt.Sprintf("the ledger has %s: the rest was cut off since, or it is another ledger", plainly.Count(j.tree.Size(), "line"))
	case !p.known:
		return "lines before it are missing"
	}
	return fmt.Sprintf("its first %s lead to %s: it is another ledger, or it was changed", plainly.Count(h.Size, "line"),
		Head{Size: h.Size, Root: p.root})
}

// pinned holds the signer against the auditor's key.
func (j *judge) pinned() {
	if j.o.Key.IsZero() || j.v.Known {
		return
	}
	f := finding.Finding{Code: finding.LedgerKey, Place: finding.Place{File: j.o.Dir},
		Required: "a latest checkpoint that is signed by the key you know, " + j.o.Key.Name() +
			", or by one that it was rotated to (--key)"}
	var names []string
	for _, k := range j.keys[:min(len(j.keys), 4)] {
		names = append(names, k.Name())
	}
	switch {
	case j.v.Head == "":
		f.Observed = "no checkpoint is of these lines"
	case !j.v.Signer.IsZero():
		f.Observed = "it is signed by " + j.v.Signer.Name() + ": somebody else's ledger, or a key that was changed without a " +
			"rotation"
	case len(names) > 0:
		f.Observed = "it is not signed so; the ledger names " + strings.Join(names, ", ")
	default:
		f.Observed = "it has no signature"
	}
	j.found(f)
}

// witnessed names each witness that was given and has cosigned no checkpoint of the ledger, as the proof of a host does.
func (j *judge) witnessed() {
	for _, w := range j.o.Witnesses {
		if !j.cosigners[w] {
			j.say(finding.Cosignature, j.o.Dir, "a checkpoint that the witness "+w.Name()+" has cosigned (--witness-key)",
				"it has cosigned none: the ledger was never shown to it, or is another one")
		}
	}
}
