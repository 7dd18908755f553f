package model_test

import (
	"fmt"
	"os"
	"testing"

	"curtsy/frontier/frontiertest"
)

func TestModelFollowsItself(t *testing.T) {
	seeds := uint64(20)
	if os.Getenv("CURTSY_LONG") == "1" {
		seeds = 2000
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { frontiertest.Workload(t, seed, 400, inMemory()) })
	}
}
