package crawltest

import (
	"strings"
	"testing"
	"time"
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
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// second is the pace of most tests.
const second = time.Second
