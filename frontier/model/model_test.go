package model_test

import (
	"fmt"
	"os"
	"testing"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest"
	"curtsy/frontier/model"
)

// inMemory is the harness of the model: a directory is the model that was last open in it.
func inMemory() frontiertest.Harness {
	kept := map[string]*model.Model{}
	return frontiertest.Harness{
		Open: func(_ testing.TB, dir string, o frontier.Options) frontier.Frontier {
			if m := kept[dir]; m != nil {
				kept[dir] = m.Reopen(o)
			} else {
				kept[dir] = model.New(o)
			}
			return kept[dir]
		},
		Crash: func(_ testing.TB, f frontier.Frontier) { f.(*model.Model).Crash() },
	}
}

func TestModelKeepsTheContract(t *testing.T) { frontiertest.Run(t, inMemory()) }

func TestModelFollowsItself(t *testing.T) {
	seeds := uint64(20)
	switch {
	case os.Getenv("CURTSY_LONG") == "1":
		seeds = 2000
	case testing.Short():
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { frontiertest.Workload(t, seed, 400, inMemory()) })
	}
}
