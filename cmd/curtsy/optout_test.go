package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// atHome runs a command line in this process, with the configuration folder that the test has.
func atHome(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	return result{out.String(), errs.String(), code}
}

// site is host and port of a URL.
func site(url string) string { return strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/") }
