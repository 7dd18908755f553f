package reconcile

import (
	"fmt"

	"curtsy/storage/audit"
	"curtsy/storage/audit/vouch"
	"curtsy/storage/plainly"
)

// tell says what the ledger proves.
func (l *Ledger) tell(r *audit.Result, v vouch.Verdict) {
	c := l.check
	c.Origin, c.Entries, c.Head, c.Covered = v.Origin, v.Size, v.Head, v.Covered
	c.Signer, c.SignerKnown, c.Lodged, c.Since = v.Signer.String(), v.Known, v.Lodged, v.Since
	for _, k := range l.log.Keys() {
		if len(c.Keys) < maxKeys {
			c.Keys = append(c.Keys, k.String())
		}
	}
	r.Ledger = c
	if v.Known {
		r.Reach(inPart(audit.SignedByKnown, v), fmt.Sprintf("the first %d of %s, by %s", v.Covered, entries(v.Size), v.Signer.Name()))
	}
	l.lodged(r, v)
	for _, size := range v.Lacks {
		r.Refute(audit.Lodged, fmt.Sprintf("the checkpoint of %s is not in this ledger", plainly.Count(size, "line")))
	}
	say := func(format string, args ...any) { r.CannotShow = append(r.CannotShow, fmt.Sprintf(format, args...)) }
	switch {
	case v.Signer.IsZero():
		say("ledger: no checkpoint of these lines is signed: nothing ties them to a key")
	case !v.Known && l.o.Key.IsZero():
		say("ledger: the signer is unknown: %s may be anybody's key; give the operator's verifier key (--key)",
			v.Signer.Name())
	}
	switch {
	case len(v.Lodged) == 0:
		say("ledger: no one else is known to have seen it (--checkpoint, --witness-key): the holder of the key may have " +
			"rewritten all of it")
		say("ledger: lines removed after its last one, together with their records: they leave no trace except a missing " +
			"stop")
	case v.Since > 0:
		say("ledger: %s after the last checkpoint that someone else has: no one else confirms them",
			plainly.Count(v.Since, "decision"))
	}
	if behind := v.Size - v.Covered; behind > 0 {
		say("ledger: %s after its last checkpoint: nothing commits to them yet", entries(behind))
	}
	if c.Forgotten > 0 {
		say("ledger: the content of %s that were removed: only their hashes remain",
			plainly.Count(c.Forgotten, "line"))
	}
	if c.Unsent > 0 {
		say("ledger: %s reached no server and left no record to compare", plainly.Count(c.Unsent, "attempt"))
	}
	if c.Crashes > 0 {
		say("ledger: %s did not end cleanly; the requests in flight may be missing from it or from the "+
			"archive (%d named)", plainly.Count(c.Crashes, "run"), c.InFlight)
	}
	if l.o.Root == "" {
		say("ledger: index and settings, which are in the crawl directory")
	}
}

// inPart is a level of a ledger, in part while entries are behind its last checkpoint.
func inPart(l audit.Level, v vouch.Verdict) audit.Level {
	if v.Covered < v.Size {
		return l.InPart()
	}
	return l
}

// maxKeys bounds the keys that are told.
const maxKeys = 16

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// lodged says until which entry somebody else vouches for the ledger, and since when at the latest.
func (l *Ledger) lodged(r *audit.Result, v vouch.Verdict) {
	var best *audit.Lodging
	for i := range v.Lodged {
		d := &v.Lodged[i]
		switch {
		case best == nil, d.Size > best.Size:
			best = d
		case d.Size == best.Size && !d.At.IsZero() && (best.At.IsZero() || d.At.Before(best.At)):
			best = d
		}
	}
	if best == nil {
		return
	}
	what := fmt.Sprintf("the first %d of %s", best.Size, entries(v.Size))
	switch best.How {
	case audit.ByHead:
		what += ", by the given checkpoint"
	default:
		what += fmt.Sprintf(", before %s, by %s", best.At.UTC().Format("2006-01-02 15:04:05 UTC"), plainly.OneLine(best.By))
	}
	r.Reach(inPart(audit.Lodged, v), what)
}
