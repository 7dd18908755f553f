package main

import (
	"context"
	"path/filepath"

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
		f := reports.AuditFinding{Code: string(c.Code), Meaning: auditMeanings[c.Code], Count: c.Found, Violation: c.Found > c.Notes}
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

// auditMeanings say in a sentence what each code stands for.
var auditMeanings = map[finding.Code]string{
	finding.RobotsMissing:     "A page was requested before any robots.txt of its host.",
	finding.RobotsExpired:     "The robots.txt that a page was judged by was too old.",
	finding.RobotsUnreachable: "A page was requested while robots.txt was unavailable.",
	finding.Disallowed:        "A page was requested that robots.txt disallows.",
	finding.Gap:               "The delay since the last request to the host was too short.",
	finding.InFlight:          "Two requests to one host were in flight at once.",
	finding.RetryAfter:        "The server had requested a longer delay.",
	finding.AddressPace:       "Requests to one address started too soon after each other.",
	finding.Window:            "A request was sent outside the crawl's window.",
	finding.Hours:             "A request was sent outside the hours set for the host.",
	finding.PerDay:            "A host got more requests in a day than allowed.",
	finding.Digest:            "The bytes do not match their digest.",
	finding.Verdict:           "The crawl recorded another verdict than robots.txt gives.",
	finding.GapTold:           "The crawl recorded another delay than its records show.",
	finding.UserAgent:         "A request does not identify the crawler.",
	finding.Method:            "A method other than GET and HEAD was used.",
	finding.Credentials:       "A request has cookies or credentials.",
	finding.BadRecord:         "A record is malformed, misplaced or incomplete.",
	finding.LedgerLines:       "Lines or marks of the ledger are changed, missing or damaged.",
	finding.LedgerRoot:        "A checkpoint is missing, damaged, or not of the ledger's lines.",
	finding.LedgerHosts:       "The completeness map does not match the lines.",
	finding.LedgerTiles:       "The tiles do not match the checkpoint.",
	finding.LedgerSigner:      "A checkpoint is not signed by the key of its run.",
	finding.LedgerKey:         "The ledger is not signed by the key that was given.",
	finding.LedgerOrigin:      "A checkpoint or a segment belongs to another log.",
	finding.LedgerShort:       "A checkpoint covers more lines than exist.",
	finding.LedgerFork:        "A signature is for other lines than these.",
	finding.LedgerHead:        "The ledger lacks a checkpoint that was submitted, or stored with the key.",
	finding.Redacted:          "A line was removed without a record of it.",
	finding.Cosignature:       "A cosignature under the name of a known witness is invalid.",
	finding.FileDiffers:       "A finished file differs from its mark in the ledger.",
	finding.MemberMissing:     "The directory of a member of the fleet was not given.",
	finding.Owner:             "A member of the fleet requested from a host leased to another member.",
	finding.FileMissing:       "A file that the ledger has a mark of is missing.",
	finding.FileExtra:         "A finished file of archive or index has no mark in the ledger.",
	finding.Settings:          "The settings are not from the last run.",
	finding.OptOuts:           "A line names an opt-out list that no mark has.",
	finding.LedgerMissing:     "A record of the archive has no line in the ledger.",
	finding.LedgerExtra:       "A line of the ledger has no record in the archive.",
	finding.LedgerDiffers:     "Line and record differ.",
	finding.LogMissing:        "An archived request is not in the site's access log.",
	finding.LogExtra:          "The access log has a request of the crawler that is not in the archive.",
	finding.LogLine:           "A line of the access log cannot be read.",
	finding.BadPackage:        "The WACZ file does not match its manifest or signatures.",
	finding.ClockStep:         "The clock of the crawling computer was set back between two runs.",
	finding.TakenDown:         "Redacted: the ledger has the time, the reason and the amount.",
	finding.CrashInFlight:     "A run was killed, or is still running: its requests in flight.",
}
