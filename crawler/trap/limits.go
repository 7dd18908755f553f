package trap

import (
	"fmt"
	"strings"
)

// The names of the rules, as they stand in ledger, status and commands.
const (
	RuleQueries  = "trap:queries"
	RuleTemplate = "trap:template"
	RuleCopy     = "trap:copy"
)

// Limits are the numbers of the rules. Zero means the default, a negative number switches the rule off.
type Limits struct {
	Queries  int // distinct queries of one path; zero means 1,000
	Template int // URLs of one template; zero means 10,000
	Copy     int // copies in a row until the links of one are dropped; zero means 1
}

// MaxLimit is the largest number that a rule may have: no count goes further.
const MaxLimit = 2_000_000

// maxCopy is likewise the largest of Limits.Copy.
const maxCopy = 200

// Names are the names of the rules without "trap:", in order.
func Names() []string { return []string{"copy", "queries", "template"} }

// Set gives the rule of that name, with or without "trap:", another number; 0 switches it off. known is false if there
// is no such rule here.
func (l *Limits) Set(name string, n int) (known bool) {
	if n <= 0 {
		n = -1
	}
	switch strings.TrimPrefix(name, "trap:") {
	case "queries":
		l.Queries = n
	case "template":
		l.Template = n
	case "copy":
		l.Copy = n
	default:
		return false
	}
	return true
}

// Check says what is wrong with l, or nil.
func (l Limits) Check() error {
	for _, r := range []struct {
		name    string
		n, most int
	}{{"queries", l.Queries, MaxLimit}, {"template", l.Template, MaxLimit}, {"copy", l.Copy, maxCopy}} {
		if r.n > r.most {
			return fmt.Errorf("trap: %s=%d is more than can be counted, %d; switch the rule off instead", r.name, r.n, r.most)
		}
	}
	return nil
}

// orDefault is n, or what zero stands for.
func orDefault(n, zero int) int {
	if n == 0 {
		return zero
	}
	return n
}

func (l Limits) queries() int  { return orDefault(l.Queries, 1000) }
func (l Limits) template() int { return orDefault(l.Template, 10_000) }
func (l Limits) copy() int     { return orDefault(l.Copy, 1) }
