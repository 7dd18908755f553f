package weburl

import "fmt"

// Quote is what a verdict quotes of a robots.txt.
type Quote struct{ Rule, Group, RunnerUp string }

func (q Quote) String() string {
	return fmt.Sprintf("%q of group %q before %q", q.Rule, q.Group, q.RunnerUp)
}
