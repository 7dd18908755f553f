package main

import (
	"context"
	"path/filepath"
	"strings"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/reconcile"
	reports "curtsy/storage/report"
)

// auditFor audits the archive of a crawl and the ledger beside it, for a report.
func auditFor(dir string) func(context.Context) (reports.Audit, error) {
	return func(ctx context.Context) (reports.Audit, error) {
		files, ledgerDir, err := archiveAt(dir)
		if err != nil {
			return reports.Audit{}, err
		}
		if ledgerDir == "" || len(files) == 0 { // the archive is gone: what files there are in dir are others
			return reports.Audit{}, audit.ErrNothing
		}
		o := reconcile.Options{Dir: ledgerDir}
		besideFiles(&o, files)
		book, err := reconcile.Open(ctx, o)
		if err != nil {
			return reports.Audit{}, err
		}
		witnesses := []audit.Witness{book, audit.NotRead(filepath.Dir(files[0]), files)}
		r, err := audit.Run(ctx, audit.Options{Ours: true, Files: files, Limit: 5, Witnesses: witnesses})
		if err != nil {
			return reports.Audit{}, err
		}
		return auditTold(r), nil
	}
}

// auditTold is a result as a report tells it.
func auditTold(r *audit.Result) reports.Audit {
	a := reports.Audit{Level: string(r.Level), Clean: r.Clean, Violations: r.Totals.Violations, Unprovable: r.Totals.Unprovable, CannotShow: r.CannotShow}
	for _, c := range r.Counts {
		f := reports.AuditFinding{Code: string(c.Code), Meaning: sentence(c.Code.Words()), Count: c.Found, Violation: c.Found > c.Notes}
		for i := range r.Findings {
			if found := &r.Findings[i]; found.Code == c.Code && len(f.Samples) < 3 {
				f.Samples = append(f.Samples, findingSample(found))
			}
		}
		a.Findings = append(a.Findings, f)
	}
	return a
}

func findingSample(f *finding.Finding) string {
	what := f.URL
	if what == "" {
		what = f.Authority
	}
	if what != "" {
		what += ": "
	}
	return what + f.Observed + "; required: " + f.Required
}

// sentence makes one of words.
func sentence(words string) string { return strings.ToUpper(words[:1]) + words[1:] + "." }
