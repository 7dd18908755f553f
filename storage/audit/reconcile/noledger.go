package reconcile

import (
	"context"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// NoLedger stands for the ledger of a crawl directory that has none. A crawl of ours makes that folder before it asks
// for anything, so an archive of ours without it was tampered with; those of other crawlers have no ledger.
func NoLedger(dir string) audit.Witness { return &noLedger{dir: dir} }

type noLedger struct {
	dir  string
	ours bool
}

func (n *noLedger) Exchange(context.Context, *evidence.Exchange, finding.Report) error { return nil }
func (n *noLedger) Refused(context.Context, *storage.Line, finding.Place, finding.Report) error {
	return nil
}

func (n *noLedger) Info(_ context.Context, in *evidence.Info, _ finding.Report) error {
	n.ours = n.ours || in.Ours
	return nil
}

func (n *noLedger) Close(_ context.Context, _ *audit.Result, found finding.Report) error {
	if n.ours {
		found(finding.Finding{
			Code: finding.LedgerLines, Place: finding.Place{File: n.dir},
			Required: "a ledger beside the archive of a crawl (docs/reference/ledger.md)",
			Observed: "the folder is missing",
		})
	}
	return nil
}
