package scoreboard

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"

	"curtsy/crawler/crawltest"
	"curtsy/storage/plainly"
)

// The widths of the columns of a Score's table: what is left of a line of 100 columns is for the evidence.
const (
	numberWidth   = 2
	ruleWidth     = 32
	verdictWidth  = 9
	evidenceWidth = crawltest.Columns - numberWidth - ruleWidth - verdictWidth - 3*2
)

// verdicts are the words that a Score has for what the referee says.
var verdicts = map[crawltest.Verdict]string{crawltest.Kept: "pass", crawltest.Broken: "FAIL",
	crawltest.Unshown: "not shown"}

// Word says a verdict as the scoreboard does: "pass", "FAIL", "not shown".
func Word(v crawltest.Verdict) string { return cmp.Or(verdicts[v], string(v)) }

// WriteTable prints the score: a line for each row, the findings of those that failed and the sum. It is plain text of
// at most 100 columns.
func (s Score) WriteTable(w io.Writer) error {
	var b bytes.Buffer
	line := func(number, rule, verdict, evidence string) {
		fmt.Fprintf(&b, "%*s  %-*s  %-*s  %s\n", numberWidth, number, ruleWidth, crawltest.Shorten(rule, ruleWidth), verdictWidth,
			verdict, evidence)
	}
	line("", "RULE", "VERDICT", "EVIDENCE")
	for _, row := range s.Rows {
		number := ""
		if row.Number > 0 {
			number = strconv.Itoa(row.Number)
		}
		evidence := row.Evidence
		if n := len(row.Findings); n > 0 {
			evidence = plainly.Count(n, "finding") + ", see below"
		}
		line(number, string(row.Rule), Word(row.Verdict), crawltest.Shorten(evidence, evidenceWidth))
	}
	for _, row := range s.Rows {
		for i, f := range row.Findings {
			switch {
			case i == 0:
				fmt.Fprintf(&b, "\n%s (%s):\n", row.Rule, row.Source)
			case i == mostScored:
				fmt.Fprintf(&b, "  … and %d more\n", len(row.Findings)-mostScored)
			}
			if i < mostScored {
				crawltest.Wrap(&b, f.String())
			}
		}
	}
	fmt.Fprintf(&b, "\n%s in %s: %d of %d rules kept, %d broken, %d not shown\n", plainly.Count(s.Requests, "request"),
		crawltest.Seconds(s.Elapsed),
		s.Count(crawltest.Kept), len(s.Rows), s.Count(crawltest.Broken), s.Count(crawltest.Unshown))
	_, err := w.Write(b.Bytes())
	return err
}

// mostScored is how many findings of a row Score.WriteTable prints.
const mostScored = 3
