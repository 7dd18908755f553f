package frontiertest

import (
	"fmt"
	"os"
	"testing"
)

func TestModelFollowsItself(t *testing.T) {
	seeds := uint64(60)
	if os.Getenv("CURTSY_LONG") == "1" {
		seeds = 2000
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { Workload(t, seed, 400, inMemory()) })
	}
}
