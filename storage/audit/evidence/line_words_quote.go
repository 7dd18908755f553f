package evidence

import "fmt"

// quote is what a verdict quotes of a robots.txt.
type quote struct{ Rule, Group, RunnerUp string }

func (q quote) String() string {
	return fmt.Sprintf("%q of group %q before %q", q.Rule, q.Group, q.RunnerUp)
}
