package reconcile

import (
	"fmt"

	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// markedFiles are the files that a ledger vouches for.
type markedFiles struct {
	all      map[string]mark // by name, relative to the crawl directory, with slashes
	more     bool            // than are kept
	settings string          // SHA-256 that the last run binds; "" for none
	differ   []finding.Finding
}

// mark is the last mark of a file.
type mark struct {
	octets int64
	sum    string // SHA-256, in hexadecimal digits
	index  int64  // of its entry
	seen   bool   // its file is there
}

// maxMarks bounds the names that are kept: a crawl has one for each GiB. maxDiffer bounds the faults of redactions.
const (
	maxMarks  = 1 << 20
	maxDiffer = 100
)

// Take takes a mark of the ledger.
func (f *markedFiles) Take(index int64, m *ledger.Mark) {
	switch m.Kind {
	case ledger.KindRun:
		f.settings = m.Settings
	case ledger.KindOperator:
		if m.Operator.Settings != "" {
			f.settings = m.Operator.Settings
		}
	case ledger.KindFile:
		f.put(m.Name, mark{octets: m.Octets, sum: m.SHA256, index: index})
	case ledger.KindRedaction:
		for _, of := range m.Redaction.Files {
			if was, ok := f.all[of.Name]; ok && was.sum != of.Before && len(f.differ) < maxDiffer {
				f.differ = append(f.differ, finding.Finding{Code: finding.FileDiffers, Place: finding.Place{File: of.Name},
					Time: m.Time, Required: "a redaction of the file in the ledger with the SHA-256 " + was.sum,
					Observed: fmt.Sprintf("entry %d has %s as its former SHA-256", index, of.Before)})
			}
			f.put(of.Name, mark{octets: of.Octets, sum: of.SHA256, index: index})
		}
	}
}

func (f *markedFiles) put(name string, m mark) {
	if f.all == nil {
		f.all = map[string]mark{}
	}
	if _, known := f.all[name]; !known && len(f.all) >= maxMarks {
		f.more = true
		return
	}
	f.all[name] = m
}

// Count is how many files the ledger vouches for.
func (f *markedFiles) Count() int { return len(f.all) }
