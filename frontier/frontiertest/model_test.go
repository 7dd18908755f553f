package frontiertest

import (
	"testing"

	"curtsy/frontier"
)

// inMemory is the harness of the model: a directory is the model that was last open in it.
func inMemory() Harness {
	kept := map[string]*Model{}
	return Harness{
		Open: func(_ testing.TB, dir string, o frontier.Options) frontier.Frontier {
			if m := kept[dir]; m != nil {
				kept[dir] = m.Reopen(o)
			} else {
				kept[dir] = NewModel(o)
			}
			return kept[dir]
		},
		Crash: func(_ testing.TB, f frontier.Frontier) { f.(*Model).Crash() },
	}
}

func TestModelKeepsTheContract(t *testing.T) { Run(t, inMemory()) }
