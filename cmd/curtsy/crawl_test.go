package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"curtsy/crawler/crawltest"
)

// inside runs a command line to its end, with a configuration folder of its own.
func inside(t *testing.T, args ...string) result {
	t.Helper()
	return fed(t, "", args...)
}

// shared is inside, in the configuration folder that all tests share: for several commands of one identity.
func shared(t *testing.T, args ...string) result {
	t.Helper()
	cmd := curtsy(t, args...)
	cmd.Env = append(os.Environ(), asCurtsy+"=1")
	return ended(t, cmd)
}

// fed is inside, with something on standard input.
func fed(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	cmd := curtsy(t, args...)
	cmd.Stdin = strings.NewReader(stdin)
	return ended(t, cmd)
}

// judged fails the test unless the referee finds nothing.
func judged(t *testing.T, web *crawltest.Web, rules crawltest.Rules) crawltest.Report {
	t.Helper()
	report := web.Referee().Judge(rules)
	if !report.OK() {
		var b bytes.Buffer
		if err := report.WriteTable(&b); err != nil {
			t.Fatal(err)
		}
		t.Errorf("the referee:\n%s", b.String())
	}
	return report
}
