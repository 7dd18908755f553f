package main

import (
	"fmt"
	"strings"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
	"curtsy/storage/redact"
)

// told is the JSON form of what was forgotten.
type told struct {
	Subject string     `json:"subject"`
	Kind    string     `json:"kind"`
	Extent  string     `json:"extent"`
	DryRun  bool       `json:"dry_run"`
	Time    *time.Time `json:"time,omitempty"`
	Salt    string     `json:"salt,omitempty"`
	Digest  string     `json:"subject_sha256,omitempty"`
	redact.Found
}

// print prints the JSON form, if it is wanted. A journal is of what was forgotten.
func (o *options) print(std cli.Streams, s *subject, f redact.Found, j *redact.Journal) error {
	if !o.json {
		return nil
	}
	t := told{Subject: s.Text, Kind: s.kind, Extent: ledger.ExtentBodies, DryRun: o.dryRun, Found: f}
	if o.all {
		t.Extent = ledger.ExtentAll
	}
	if j != nil {
		t.Time, t.Salt, t.Digest = &j.Time, j.Salt, j.Digest
	}
	return cli.WriteJSON(std.Out, t)
}

// reportText says what was forgotten, or would be.
func reportText(s *subject, o *options, f redact.Found, j *redact.Journal, dir string) string {
	var b strings.Builder
	verb := "redacted"
	if o.dryRun {
		verb = "would be redacted"
	}
	fmt.Fprintf(&b, "%s: %s\n", verb, plainly.OneLine(s.means()))
	for _, row := range []struct {
		n         int64
		one, many string
	}{
		{f.Bodies, "body", "bodies"}, {f.Records, "record", "records"},
		{f.Refusals, "refusal in the archive", "refusals in the archive"},
		{f.Lines, "line of the ledger", "lines of the ledger"},
	} {
		switch {
		case row.n == 1:
			fmt.Fprintf(&b, "  1 %s\n", row.one)
		case row.n > 1:
			fmt.Fprintf(&b, "  %d %s\n", row.n, row.many)
		}
	}
	if f.Files > 0 {
		fmt.Fprintf(&b, "from %s, whose other records are unchanged\n", plainly.Count(f.Files, "WARC file"))
	}
	if f.Robots > 0 {
		fmt.Fprintf(&b, "robots.txt stays, since it bound the crawl; --all of the host removes it from the archive\n")
	}
	if f.Repeats > 0 {
		fmt.Fprintf(&b, "%s of other URLs with this body also lost it\n", plainly.Count(f.Repeats, "answer"))
	}
	if f.Elsewhere > 0 {
		fmt.Fprintf(&b, "%s with a body that stays archived under another URL:\n", plainly.Count(f.Elsewhere, "answer"))
		for _, u := range f.ElsewhereURLs {
			fmt.Fprintf(&b, "  %s\n", plainly.OneLine(u))
		}
	}
	if j == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "the ledger records it under a salted digest:\n  %s\n", j.Digest)
	fmt.Fprintf(&b, "its salt is not stored; give it to the requester as a receipt:\n  %s\n", j.Salt)
	fmt.Fprintf(&b, "not crawled from now on, by %s; the frontier still has the URLs\nand robots.txt\n", plainly.OneLine(dir+"/optout.txt"))
	return b.String()
}
