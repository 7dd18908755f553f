package crawltest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mustKeep fails the test with the table when a rule was broken.
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
	return b.String()
}

// second is the pace of most tests.
const second = time.Second
