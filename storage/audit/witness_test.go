package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// diary is a witness that writes down what it is shown.
type diary struct {
	b    strings.Builder
	fail error
}

func (d *diary) Exchange(_ context.Context, e *evidence.Exchange, found finding.Report) error {
	decision := "untold"
	if e.Line != nil {
		decision = string(e.Line.Decision)
	}
	fmt.Fprintf(&d.b, "%s %s %d robots=%v ended=%v %s %v\n", e.Method, e.URL, e.Status, e.Robots, e.Ended, decision, e.Took)
	if e.Status == 404 {
		found(finding.Finding{Code: finding.LogMissing, Authority: e.Authority, URL: e.URL, Required: "r", Observed: "o"})
	}
	return d.fail
}

func (d *diary) Refused(_ context.Context, l *storage.Line, at finding.Place, _ finding.Report) error {
	fmt.Fprintf(&d.b, "refused %s %s in a record: %v\n", l.URL, l.Decision, at.Record != "")
	return nil
}

func (d *diary) Info(_ context.Context, in *evidence.Info, _ finding.Report) error {
	fmt.Fprintf(&d.b, "info %s %v\n", in.Token, in.Floor)
	return nil
}

func (d *diary) Close(_ context.Context, r *Result, found finding.Report) error {
	found(finding.Finding{Code: finding.CrashInFlight, Note: true, Required: "r", Observed: "o"})
	r.Level = ConfirmedByLog
	return nil
}

// A witness sees everything in the order of the archive, and what it finds counts.
func TestWitnessSeesTheArchiveAndItsFindingsCount(t *testing.T) {
	a := ours(t)
	a.add(fetch{url: site + "/robots.txt", body: rule, meta: "decision: robots\r\n"})
	a.add(fetch{url: site + "/a", at: 2 * s, status: 404, meta: "none"})
	l := storage.Line{Time: day0, URL: site + "/b", Decision: "refuse"}
	a.record("metadata", "", day0.Add(4*s), "Content-Type: application/x-ndjson", string(l.AppendJSON(nil))+"\n")
	a.add(fetch{url: site + "/c", at: 6 * s, status: -1})
	d := &diary{}
	r := a.audit(Options{Witnesses: []Witness{d}})
	want := `info Lantern 1s
GET https://bakery.test/robots.txt 200 robots=true ended=true robots 100ms
GET https://bakery.test/a 404 robots=false ended=false untold 0s
refused https://bakery.test/b refuse in a record: true
GET https://bakery.test/c 0 robots=false ended=true  100ms
`
	if got := d.b.String(); got != want {
		t.Errorf("the witness saw\n%swant\n%s", got, want)
	}
	if codes(r) != "record log-missing crash-in-flight" || r.Totals.Violations != 2 || // an exchange has no metadata
		r.Totals.Notes != 1 || r.Level != ConfirmedByLog || r.Hosts[0].Violations != 2 {
		t.Errorf("%q, %+v", codes(r), r.Totals)
	}
	d.fail = errors.New("the witness left")
	if _, err := Run(t.Context(), Options{Files: []string{a.file()}, TempDir: t.TempDir(), Witnesses: []Witness{d}}); !errors.Is(err, d.fail) {
		t.Errorf("a witness failed, and the audit: %v", err)
	}
}

// An audit that is cancelled ends with an error, not with a result.
func TestCancelledAuditIsNoResult(t *testing.T) {
	a := ours(t)
	a.robots(rule)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Run(ctx, Options{Files: []string{a.file()}, TempDir: t.TempDir()}); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", r, err)
	}
}
