package reconcile

import (
	"context"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

// compareFiles holds the files of the crawl against their marks.
func (l *Ledger) compareFiles(ctx context.Context, r *audit.Result, found finding.Report) (err error) {
	l.check.Files = int64(l.files.Count())
	l.check.FilesAgree, err = l.files.Compare(ctx, markedOptions{
		Root: l.o.Root, Settings: l.o.Settings, Before: l.o.Before, Archive: r.Files, Stated: l.o.Stated, Base: l.o.Base,
		Running: l.running, Excused: l.runs.mayLackMark,
	}, found)
	return err
}
