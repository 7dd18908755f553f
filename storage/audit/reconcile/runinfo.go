package reconcile

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// Info implements Witness: each warcinfo record is the one that the mark of a run binds, and the files stand in the
// order of the runs.
func (l *Ledger) Info(_ context.Context, in *evidence.Info, found finding.Report) error {
	before := l.runs.last
	n := l.runs.file(in)
	l.optOuts.info(n, in)
	f := finding.Finding{Code: finding.LedgerDiffers, Place: in.Place, Time: in.Date,
		Required: "a warcinfo record that the mark of a run in the ledger binds, and files in the order of these " +
			"(docs/ledger.md)"}
	switch {
	case l.runs.count >= maxKnown:
		return nil
	case n == noRun:
		f.Observed = "no mark binds this one, of SHA-256 " + in.SHA256
	case n < before:
		f.Observed = fmt.Sprintf("this one is of run %d, behind a file of run %d", n, before)
	default:
		return nil
	}
	found(f)
	return nil
}

// stepped takes an exchange before which the clock is said to have been set back. Within a run dates never go back:
// its file is of a later run than all before it.
func (l *Ledger) stepped(e *evidence.Exchange, found finding.Report) {
	if n := l.runs.of(e.File); e.Stepped && n <= l.runs.past {
		of := "of run " + strconv.Itoa(n)
		if n == noRun {
			of = "of no run"
		}
		found(e.Finding(finding.LedgerDiffers,
			"the mark of a run in the ledger for each time that the clock is said to have been set back: within a "+
				"run its dates never go back",
			e.File+" is "+of+" of the ledger, behind a file of run "+strconv.Itoa(l.runs.past)))
	}
}

// grown reports whether the ledger has grown since it was read: the crawl runs.
func (l *Ledger) grown() (bool, error) {
	size, err := sizeOf(l.o.Dir)
	return size != l.size, err
}

// sizeOf is the size of what is in a folder.
func sizeOf(dir string) (size int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("audit: %w", err)
	}
	for _, e := range entries {
		if fi, err := e.Info(); err == nil { // else it was packed meanwhile
			size += fi.Size()
		}
	}
	return size, nil
}
