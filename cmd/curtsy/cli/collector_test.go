package cli

import (
	"math"
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

// settingsOfTheCollector returns the settings of the garbage collector.
func settingsOfTheCollector() (percent int, limit int64) {
	percent = debug.SetGCPercent(-1)
	debug.SetGCPercent(percent)
	return percent, debug.SetMemoryLimit(-1)
}

// unset removes variables from the environment for a test.
func unset(t *testing.T, names ...string) {
	for _, name := range names {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
}

func TestMemoryLimitHoldsWhileACrawlRunsAndNoLonger(t *testing.T) {
	unset(t, "GOGC", "GOMEMLIMIT")
	percent, limit := settingsOfTheCollector()
	stop := Tune(1 << 30)
	if p, l := settingsOfTheCollector(); p != garbage || l != 1<<30 {
		t.Errorf("while it runs: GOGC %d, limit %d", p, l)
	}
	stop()
	if p, l := settingsOfTheCollector(); p != percent || l != limit {
		t.Errorf("after: GOGC %d, limit %d; before: %d, %d", p, l, percent, limit)
	}
}

func TestMemoryLimitLeavesAChoiceAlone(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		limit       int64
	}{{"GOGC", "50", 1 << 30}, {"GOMEMLIMIT", "1GiB", 1 << 30}, {"GOGC", "", 0}} {
		unset(t, "GOGC", "GOMEMLIMIT")
		if tt.value != "" {
			t.Setenv(tt.name, tt.value)
		}
		percent, limit := settingsOfTheCollector()
		stop := Tune(tt.limit)
		if p, l := settingsOfTheCollector(); p != percent || l != limit {
			t.Errorf("%s=%s, limit %d: GOGC %d, limit %d", tt.name, tt.value, tt.limit, p, l)
		}
		stop()
	}
}

// A limit below the live heap would make the collector run without end. Large pages do not raise the default.
func TestMemoryLimitDoesNotStrangle(t *testing.T) {
	for _, tt := range []struct{ asked, live, want int64 }{
		{48 << 20, 0, 48 << 20}, {48 << 20, 32 << 20, 48 << 20}, {48 << 20, 40 << 20, 60 << 20}, {1, 1 << 40, 3 << 39}, {math.MaxInt64, 1 << 40, math.MaxInt64},
	} {
		assert.Equalf(t, tt.want, room(tt.asked, tt.live), "asked for %d, %d live", tt.asked, tt.live)
	}
}
