package reconcile

import (
	"fmt"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// chain reports what is wrong with the ledger itself.
func (l *Ledger) chain(found finding.Report) {
	for _, e := range l.problem {
		p := e.Problem
		f := finding.Finding{
			Code: finding.LedgerChain, Place: finding.Place{File: l.o.Dir}, Observed: p.String(),
			Required: "the ledger's chain runs unbroken through every line (docs/ledger.md)",
		}
		switch p.Fault {
		case ledger.KeyChanged:
			// Who resumes with another configuration folder signs with another key. What was signed before stays so.
			f.Note, f.Required = true, "one key signs all heads"
		case ledger.Unchained:
			f.Note = true
		case ledger.Torn:
			if l.atEnd(e) {
				f.Code, f.Note, f.Required = finding.CrashInFlight, true, "every line has an end"
			}
		case ledger.Empty:
			if l.check.Records == 0 {
				continue
			}
			f.Required = "the mark of a run before its first exchange (docs/ledger.md)"
		}
		found(f)
	}
	killed := finding.Finding{Code: finding.CrashInFlight, Note: true, Place: finding.Place{File: l.o.Dir},
		Required: "a run ends with a signed head"}
	for _, e := range l.kills {
		killed.Observed = e.Problem.String()
		found(killed)
	}
	for range l.moreKills {
		killed.Observed = "no end head"
		found(killed)
	}
	for range l.more {
		found(finding.Finding{
			Code: finding.LedgerChain, Place: finding.Place{File: l.o.Dir}, Observed: "more faults",
			Required: "the ledger's chain runs unbroken through every line (docs/ledger.md)",
		})
	}
	if l.o.Head != nil && !l.check.Found {
		found(finding.Finding{
			Code: finding.LedgerHead, Place: finding.Place{File: l.o.Dir},
			Required: "the chain passes through the head that was lodged, " + l.check.Lodged,
			Observed: fmt.Sprintf("none of %d decisions has that hash: the ledger is another one, or it was changed",
				l.check.Lines),
		})
	}
}

// atEnd reports whether a problem is of the last segment, which alone a kill can tear.
func (l *Ledger) atEnd(e ledger.Entry) bool {
	for _, other := range l.problem {
		if other.Segment > e.Segment {
			return false
		}
	}
	return l.last <= e.Segment
}

// tell says what the ledger proves.
func (l *Ledger) tell(r *audit.Result) {
	r.Ledger = l.check
	if l.check.Found && r.Level == audit.SelfConsistent {
		r.Level = audit.LodgedHead
	}
	say := func(format string, args ...any) { r.CannotShow = append(r.CannotShow, fmt.Sprintf(format, args...)) }
	switch {
	case l.o.Head == nil:
		say("ledger: no lodged head was given (--head): who holds the key can have written all of it anew")
	case l.check.Found && l.check.Since > 0:
		say("ledger: %d decisions were written after the lodged head, which proves nothing of them", l.check.Since)
	}
	if l.o.Head == nil || !l.check.Found {
		say("ledger: what was cut off behind its last line, and off the archive with it: that leaves no trace but a " +
			"missing last head")
	}
	if l.check.Unsigned {
		say("ledger: its last head is not signed, or it has none: nothing ties it to a key")
	}
	if l.plain {
		say("ledger: it has segments of schema 1, without a chain: an edit leaves no trace there, and refusals were " +
			"not compared")
	}
	if l.check.Unsent > 0 {
		say("ledger: %d attempts reached no server and left no record to compare", l.check.Unsent)
	}
	if l.check.Crashes > 0 {
		say("ledger: %d runs did not end in good order; what they had in flight may be missing from it or from the "+
			"archive (%d named)", l.check.Crashes, l.check.InFlight)
	}
}
