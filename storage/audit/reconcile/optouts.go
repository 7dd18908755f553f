package reconcile

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/optout"
)

// optOuts holds the lists of opt-outs that lines name against those that were in force in their run: by its warcinfo
// record, by its mark, and by the marks of changes.
type optOuts struct {
	marked  map[listOf]bool    // by marks
	changed map[int]bool       // runs whose lists changed
	told    map[int][]string   // of runs, by their warcinfo records
	named   map[listOf]namedBy // by lines
}

// listOf is a list of a run.
type listOf struct {
	run    int
	digest string
}

// namedBy is the first line that names a list.
type namedBy struct {
	url   string
	time  time.Time
	place string
}

// maxLists bounds what is kept: a list changes a few times a day.
const maxLists = 10_000

// mark takes what a mark says of the lists of a run.
func (o *optOuts) mark(run int, m *ledger.Mark) {
	digest := m.OptOuts
	if m.Kind == ledger.KindOptOuts {
		digest, o.changed[run] = m.SHA256, true
	}
	if len(o.marked) < maxLists {
		o.marked[listOf{run, digest}] = true
	}
}

// line takes a line.
func (o *optOuts) line(run int, l *storage.Line, place string) {
	of := listOf{run, l.List}
	if _, met := o.named[of]; l.List == "" || met || len(o.named) >= maxLists {
		return
	}
	o.named[of] = namedBy{l.URL, l.Time, place}
}

// info takes the warcinfo record of a file of a run.
func (o *optOuts) info(run int, in *evidence.Info) {
	if _, met := o.told[run]; met || len(o.told) >= maxLists {
		return
	}
	o.told[run] = listsIn(in)
}

// listsIn are the SHA-256s of the lists that a warcinfo record names.
func listsIn(in *evidence.Info) (lists []string) {
	for _, f := range in.Fields {
		if f[0] == "opt-out-sha256" {
			lists = append(lists, f[1])
		}
	}
	return lists
}

// judge names the lines that name a list that was not in force. A mark has one digest for several lists, so where they
// changed nobody can tell which they were.
func (o *optOuts) judge(found finding.Report) {
	if len(o.marked) >= maxLists {
		return
	}
	for of, by := range o.named {
		lists, met := o.told[of.run]
		if !met || o.marked[of] || slices.Contains(lists, of.digest) || o.changed[of.run] && len(lists) > 1 {
			continue
		}
		found(finding.Finding{Code: finding.OptOuts, URL: by.url, Authority: evidence.AuthorityOf(by.url), Time: by.time,
			Required: "a list of opt-outs that was in force, as the marks of the run and its warcinfo record have them",
			Observed: fmt.Sprintf("%s names the list %s", by.place, finding.Short(of.digest))})
	}
}

// optedOut holds requests to the entries of opt-out lists that are in force where their lines stand in the ledger: those
// that a line names, and all of the list in the crawl directory while it is the one that the marks name. The zero value
// has none.
type optedOut struct {
	list   string         // digest of the lists in force, by the marks
	file   string         // digest of the list in the crawl directory; "" without one
	all    []optout.Entry // of that list
	unread bool           // a list was in force that is not there

	changed time.Time // when the lists changed within the run; zero if they did not

	inForce optout.List
	entries []entry         // of inForce, in its order
	has     map[string]bool // entries that lines name, with their list
	asked   []finding.Finding
}

// entry is an entry in force (docs/trust/opt-out.md).
type entry struct {
	text, said string
	from       time.Time
	of         string // the authority to which it applies from the very moment on; "*" for all
}

// underWay is how long after an entry came into force a request may begin that was decided before: it waits for a
// resolver, a connection or the pace of an address.
const underWay = time.Minute

const (
	optOutName = "optout.txt" // in the crawl directory
	maxOptOuts = 16 << 20     // bytes of a list
	maxInForce = 1 << 20      // entries
)

// open reads the list in the crawl directory, if there is one.
func (o *optedOut) open(root string) {
	path := filepath.Join(root, optOutName)
	fi, err := os.Stat(path)
	if root == "" || err != nil || !fi.Mode().IsRegular() || fi.Size() > maxOptOuts {
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return // as if it were not there
	}
	if l, err := optout.Parse(path, b); err == nil { // a list with mistakes was never in force, and cannot be checked
		o.file, o.all = fmt.Sprintf("%x", l.Digest()), l.Entries()
	}
}

// mark takes which lists are in force from a mark on.
func (o *optedOut) mark(m *ledger.Mark) {
	digest, of := m.OptOuts, "*"
	o.changed = time.Time{}
	if m.Kind == ledger.KindOptOuts {
		digest, of, o.changed = m.SHA256, "", m.Time
	}
	if digest == o.list && m.Kind == ledger.KindRun {
		return
	}
	o.list, o.inForce, o.entries, o.has = digest, optout.List{}, nil, nil
	switch {
	case digest == "":
	case digest != o.file:
		o.unread = true
	default:
		for _, e := range o.all {
			o.enter(entry{e.Text, "the list in force since " + finding.Clock(m.Time), m.Time, of})
		}
	}
}

// line takes a line: it names an entry, or is of a request that none may forbid.
func (o *optedOut) line(l *storage.Line, place string) {
	u, err := canon.Parse(l.URL)
	if err != nil {
		return
	}
	if l.List != "" && l.RobotsRule != "" && l.Record == "" {
		if l.List != o.list && !o.changed.IsZero() && l.Time.Before(o.changed.Add(underWay)) {
			return // decided with the lists before, perhaps; with several lists the digest in force is that of all
		}
		text, _, _ := strings.Cut(l.RobotsRule, " # ") // the reason follows
		if key := l.List + " " + text; !o.has[key] {
			if o.has == nil {
				o.has = map[string]bool{}
			}
			o.has[key] = true
			of := u.Authority().Origin()
			if l.Own { // asked for several pages at once
				of = ""
			}
			o.enter(entry{text, place, l.Time, of})
		}
		return
	}
	if l.Record == "" || l.Time.Before(l.Began) || len(o.entries) == 0 || len(o.asked) >= maxProblems {
		return
	}
	if e, under := o.find(u, l); under {
		o.asked = append(o.asked, finding.Finding{Code: finding.OptOuts, URL: l.URL, Authority: u.Authority().Origin(), Time: l.Began,
			Place:    finding.Place{Record: l.Record},
			Required: "nothing that an opt-out list refuses (politeness rule 16): " + finding.Short(e.text) + ", by " + e.said,
			Observed: fmt.Sprintf("%s: it was requested", place)})
	}
}

// enter puts an entry in force. What cannot be read forbids nothing.
func (o *optedOut) enter(e entry) {
	if len(o.entries) < maxInForce && o.inForce.Add(e.text) == nil {
		o.entries = append(o.entries, e)
	}
}

// find returns the entry that a request is under.
func (o *optedOut) find(u canon.URL, l *storage.Line) (e entry, is bool) {
	addr := l.Addr.Addr()
	if l.Proxy != "" { // it is the proxy's
		addr = netip.Addr{}
	}
	o.inForce.Under(u, addr, func(at int) bool {
		e = o.entries[at]
		from := e.from
		if e.of != "*" && e.of != u.Authority().Origin() {
			from = from.Add(underWay)
		}
		is = l.Began.After(from)
		return !is
	})
	return e, is
}
