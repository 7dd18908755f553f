package reconcile

import (
	"fmt"
	"slices"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
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

func newOptOuts() optOuts {
	return optOuts{map[listOf]bool{}, map[int]bool{}, map[int][]string{}, map[listOf]namedBy{}}
}

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
