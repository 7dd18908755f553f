package frontiertest

import (
	"fmt"
	"testing"
)

func TestModelFollowsItself(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { Workload(t, seed, 400, inMemory()) })
	}
}
