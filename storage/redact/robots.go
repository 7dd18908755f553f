package redact

import (
	"slices"
	"strings"

	"curtsy/storage"
	"curtsy/storage/warc"
)

// bound reports whether a line is of what the crawl was bound by, and stays: robots.txt and proofs of ownership,
// wherever a redirect led them. They go with everything of a subject that is all of a host, unless another host
// redirected there.
func (s *Subject) bound(l *storage.Line, all bool) bool {
	if l.Decision != storage.DecisionRobots && l.Decision != storage.DecisionOwner {
		return false
	}
	return !all || !s.Host || l.Via != "" && !s.Covers(l.Via)
}

// takes reports whether a line goes with everything of the subject, from the ledger, and from the archive's refusals.
func (s *Subject) takes(l *storage.Line) bool {
	return s.Covers(l.URL) && !s.bound(l, true) || s.ledTo(l)
}

// ledTo reports whether a line is of what the robots.txt of the subject, all of a host, redirected to: it is its robots.txt,
// and goes with it. The /robots.txt of the host that was asked binds that host, too, and stays.
func (s *Subject) ledTo(l *storage.Line) bool {
	_, rest, _ := strings.Cut(l.URL, "://")
	_, path, _ := strings.Cut(rest, "/")
	return s.Host && l.Decision == storage.DecisionRobots && l.Via != "" && s.Covers(l.Via) && path != "robots.txt"
}

// elsewhere has an exchange go of which a record is the metadata, if the subject's robots.txt led there.
func (a *archived) elsewhere(rec *warc.Record) {
	l, err := rec.Decision()
	if err != nil || !a.subject.ledTo(&l) { // one that cannot be read is nobody's
		return
	}
	id := rec.ConcurrentTo()
	a.exchange(id)
	for _, id := range []string{a.request, id, rec.ID()} {
		if _, goes := a.edits[id]; !goes {
			a.edits[id] = warc.Drop
			a.Records++
		}
	}
}

// metadata tells what an exchange was for, and takes back what was decided of one that stays.
func (a *archived) metadata(rec *warc.Record) error {
	id := rec.ConcurrentTo()
	if _, changes := a.edits[id]; !changes {
		return nil
	}
	l, err := rec.Decision()
	if err != nil {
		return err
	}
	if !a.subject.bound(&l, a.all) {
		return nil
	}
	a.Robots++
	for _, id := range []string{a.request, id, rec.ID()} {
		switch fate, changes := a.edits[id]; {
		case changes && fate == warc.Reduce:
			a.Bodies--
		case changes:
			a.Records--
		}
		delete(a.edits, id)
	}
	delete(a.seen, id)
	a.ids = slices.DeleteFunc(a.ids, func(other string) bool { return other == id })
	return nil
}
