package proof

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/accesslog"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// logCheck holds the lines to the site's access logs, by the comparison that an audit makes of an archive.
type logCheck struct {
	v         *verification
	with      *accesslog.Comparison
	agents    bool // requests have named one
	confirmed bool
}

func (v *verification) newLogCheck() *logCheck {
	o := accesslog.Options{Stdin: v.Stdin, Skew: v.Skew, TempDir: v.TempDir, Crashed: v.marks.crashed, Whole: v.marks.ended}
	for _, l := range v.Logs {
		if l.Host == "" {
			l.Host = v.r.Host
		}
		o.Logs = append(o.Logs, l)
	}
	return &logCheck{v: v, with: accesslog.Compare(o)}
}

// take shows a line to the comparison, if octets of it were sent.
func (c *logCheck) take(ctx context.Context, index int64, l *storage.Line, h *Head) error {
	if l.Record == "" {
		return nil
	}
	u, err := evidence.ParseURL(l.URL)
	if err != nil {
		return nil //nolint:nilerr // nobody was asked for what is no URL
	}
	e := &evidence.Exchange{
		Place: finding.Place{File: linesName, Offset: index, Record: l.Record}, URL: l.URL, Authority: u.Authority,
		Target: u.Target, Began: l.Began, Took: l.Took, Ended: true, Resolution: time.Microsecond, Method: "GET",
		Status: l.Status, Answered: l.Status != 0, Cut: l.Truncated, Robots: l.Decision == storage.DecisionRobots,
	}
	if h != nil {
		e.Agent = agentOf(h.Request)
		c.agents = c.agents || e.Agent != ""
		if t := targetOf(h.Request); t != "" {
			e.Target = t
		}
	}
	return c.with.Exchange(ctx, e, func(finding.Finding) {})
}

// close reads the logs.
func (c *logCheck) close(ctx context.Context) error {
	r := c.v.r
	if !c.agents { // then its product is all that is known of its name
		name, _, _ := strings.Cut(c.v.bundle.manifest.Software, "/")
		if err := c.with.Info(ctx, &evidence.Info{Token: name}, nil); err != nil {
			return err
		}
	}
	var all []finding.Finding
	of := &audit.Result{}
	if err := c.with.Close(ctx, of, func(f finding.Finding) {
		if !f.Note && len(all) < 10*maxFindings {
			all = append(all, f)
		}
	}); err != nil {
		return err
	}
	if len(of.Logs) > 0 {
		r.Log = of.Logs[0]
	}
	c.confirmed = of.Level == audit.ConfirmedByLog
	r.CannotShow = append(r.CannotShow, of.CannotShow...)
	if redacted := r.Summary.Redacted; redacted > 0 && r.Log != nil && r.Log.Extra > 0 && r.Log.Extra <= redacted {
		r.CannotShow = append(r.CannotShow, fmt.Sprintf(
			"whether %d requests of the access log that no line has are among the %d lines that were taken out", r.Log.Extra, redacted))
		all = slices.DeleteFunc(all, func(f finding.Finding) bool { return f.Code == finding.LogExtra })
	}
	for _, f := range all {
		switch f.Code {
		case finding.LogExtra:
			r.found(LogExtra, "the access log has a request that no line has: %s", f.Observed)
		case finding.LogMissing:
			r.at(LogMissing, f.Offset, "the access log lacks a request that entry %d has, %.200s: %s", f.Offset, f.URL, f.Observed)
		}
	}
	return nil
}
