package reconcile

import (
	"fmt"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// raised holds paces of which lines say that the operator raised them against the marks of that. A pace that is kept, and
// was asked for by nobody, is no breach of politeness: it is a ledger that does not tell what was.
type raised struct {
	by    evidence.Info // the pauses that marks before tell of, as a warcinfo record would
	wrong []finding.Finding
}

// maxRaised bounds the marks that are kept, and the findings.
const maxRaised = 1000

func (r *raised) mark(m *ledger.Mark) {
	if o := m.Operator; o != nil && o.Act == ledger.ActDelay && len(r.by.Delays) < maxRaised {
		r.by.Delays = append(r.by.Delays, evidence.HostDelay{Hosts: o.Hosts, Pause: o.Delay})
	}
}

// line takes a line, behind the marks that stand before it. Of several marks the longest pause counts, since none takes one
// back.
func (r *raised) line(l *storage.Line, place string) {
	if l.PaceBy != storage.ByOperator || len(r.by.Delays) >= maxRaised || len(r.wrong) >= maxRaised {
		return
	}
	a := evidence.AuthorityOf(l.URL)
	for _, d := range r.by.Delays {
		one := evidence.Info{Delays: []evidence.HostDelay{d}}
		if told := one.Delay(a); told > 0 && (l.Pace-told).Abs() <= time.Millisecond {
			return
		}
	}
	told := r.by.Delay(a)
	required := "an earlier mark that the operator increased the delay of the host to " + finding.Round(l.Pace)
	observed := fmt.Sprintf("%s has it, but no mark does", place)
	if told > 0 {
		observed = fmt.Sprintf("%s has it, but the marks have %s", place, finding.Round(told))
	}
	r.wrong = append(r.wrong, finding.Finding{Code: finding.GapTold, URL: l.URL, Authority: a, Time: l.Time, Required: required, Observed: observed})
}

func (r *raised) judge(found finding.Report) {
	for _, f := range r.wrong {
		found(f)
	}
}
