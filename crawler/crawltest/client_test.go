package crawltest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustKeep(t *testing.T, r Report) {
	t.Helper()
	if !r.OK() {
		t.Errorf("the referee found:\n%s", table(t, r))
	}
}

func table(t *testing.T, r Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteTable(&b))
	for line := range strings.SplitSeq(b.String(), "\n") {
		assert.LessOrEqual(t, len([]rune(line)), Columns, line)
	}
	return b.String()
}

const second = time.Second
