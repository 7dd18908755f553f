package main

import (
	"bytes"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
)

// A file that is no list of seeds at all must not fill the screen.
func TestOfManyBadLinesSomeAreShownAndAllAreCounted(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	file := strings.Repeat("garbage \x1b[31m"+strings.Repeat("x", 5000)+"\n", 500) + "http://127.0.0.1:9/\n"
	got, err := config.CollectSeeds(nil, "-", cli.Streams{In: strings.NewReader(file), Err: &errs})
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	if n := strings.Count(errs.String(), "\n"); n != config.MaxComplaints+1 || !strings.Contains(errs.String(), "500 lines passed over in all") {
		t.Errorf("%d lines:\n%.500s", n, errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if len(line) > 3*crawldir.MaxQuoted {
			t.Errorf("a line of %d octets: %.300s", len(line), line)
		}
	}
}

func TestASeedFileWithoutAnyUsableSeedIsAnError(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	_, err := config.CollectSeeds(nil, "-", cli.Streams{In: strings.NewReader("garbage\n"), Err: &errs})
	if err == nil || !strings.Contains(err.Error(), "no usable seed") || !strings.Contains(errs.String(), "standard input:1:") {
		t.Errorf("%v, said %q", err, errs.String())
	}
}
