package main

import (
	"testing"

	"curtsy/storage/plainly"
)

func TestHostileTextIsPlainOnATerminal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                "plain",
		"Müller — ok\n":        "Müller — ok\n",
		"\x1b[2Jgone":          `\x1b[2Jgone`,
		"a\rb\x00c\u202ed":     `a\rb\x00c\u202ed`,
		"bad \xff octet":       "bad � octet",
		"\u009b31m (C1 codes)": `\u009b31m (C1 codes)`,
	} {
		if got := plainly.Lines(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
