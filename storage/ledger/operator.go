package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The acts of operators. Others may follow: a reader shows what it does not know as it is.
const (
	ActPause        = "pause"        // no exchange begins
	ActGoOn         = "unpause"      // the end of a pause
	ActDrain        = "drain"        // the run ends when the exchanges under way have
	ActPark         = "park"         // a host gets no turn
	ActRelease      = "release"      // the end of that, or of a drop; or a host that was left alone is open again
	ActDrop         = "drop"         // what is pending of a host is closed, or some of it
	ActRetry        = "retry"        // what was closed, or held, is tried again
	ActSeeds        = "add seeds"    // the scope is extended to them
	ActMaxPages     = "max-pages"    // the budget is another
	ActMaxPerHost   = "max-per-host" // likewise
	ActMaxPerDomain = "max-per-domain"
	ActMaxPerTag    = "max-per-tag"
	ActMaxBytes     = "max-bytes"
	ActMaxTime      = "max-time"
	ActStopWhen     = "stop-when" // the conditions are others
	ActWindow       = "window"    // the window is another
	ActInclude      = "include"   // a pattern of the scope came, or went
	ActExclude      = "exclude"   // likewise
	ActDelay        = "delay"     // the pause of all hosts, or of some, is longer
	ActOptOuts      = "opt-out"   // the opt-out lists were read again
	maxAct          = 32          // of the name of an act, in octets
	MaxAbout        = 2 << 10     // of Operator.About, in octets
	MaxNote         = 500         // of Operator.Note, in octets
)

// Operator is an act of an operator: what a person had the crawl do. It excuses nothing: politeness is judged by what was
// asked of whom, and when.
type Operator struct {
	Act      string        `json:"act"`
	About    string        `json:"about,omitzero"`           // the host, as an origin; the pattern or the budget, before and after. Paths of seeds are in their lines alone
	URLs     int64         `json:"urls,omitzero"`            // that it concerns, as far as that was known
	Note     string        `json:"note,omitzero"`            // in the operator's words; may be empty
	Hosts    string        `json:"whom,omitzero"`            // of ActDelay: a name, "*.example.org" for all below a name, or "*"
	Delay    time.Duration `json:"delay_ms,omitzero"`        // likewise: the pause from here on
	Settings string        `json:"settings_sha256,omitzero"` // of the settings from here on; empty where they stay
}

// check refuses what is no act.
func (o *Operator) check() error {
	switch {
	case o.Act == "" || len(o.Act) > maxAct || strings.Trim(o.Act, "abcdefghijklmnopqrstuvwxyz -") != "":
		return fmt.Errorf("%.80q is not an action", o.Act)
	case len(o.About) > MaxAbout || len(o.Note) > MaxNote || len(o.Hosts) > MaxNote:
		return errors.New("what it says is too long")
	case o.URLs < 0 || o.Delay < 0:
		return errors.New("urls or delay_ms is less than 0")
	case o.Settings != "" && !IsDigest(o.Settings):
		return errors.New("settings_sha256 is invalid")
	}
	return nil
}

// Operator notes an act of an operator, and makes that durable. It begins no run, unless the last run had another key: of a
// crawl that is stopped, the mark stands between two runs.
func (w *Writer) Operator(ctx context.Context, o Operator) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger: operator: %w", err)
	}
	o.About, o.Note = cutTo(o.About, MaxAbout), cutTo(o.Note, MaxNote)
	if err := o.check(); err != nil {
		return fmt.Errorf("ledger: operator: %w", err)
	}
	w.mu.Lock()
	err := w.refused()
	if err == nil {
		w.between()
		w.mark(Mark{Kind: KindOperator, Time: time.Now(), Operator: &o})
	}
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.sync()
}

// cutTo cuts a text that is too long, and says so.
func cutTo(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("…")], "") + "…"
}
