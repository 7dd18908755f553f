package script

import (
	"iter"

	"curtsy/frontier/canon"
)

// Places yields what a name may mean that stands in a script, or in JSON, at a URL: relative to that, and to the page that
// loads it, which may be zero. What is of another authority is left out.
func Places(name string, at, page canon.URL) iter.Seq[canon.URL] {
	return func(yield func(canon.URL) bool) {
		first, err := at.Resolve(name)
		if err == nil && first.Authority() == at.Authority() && !yield(first) {
			return
		}
		if page.IsZero() {
			return
		}
		second, err := page.Resolve(name)
		if err == nil && second.Authority() == at.Authority() && second.Key() != first.Key() {
			yield(second)
		}
	}
}
