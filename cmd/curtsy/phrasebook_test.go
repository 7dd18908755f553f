package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"curtsy/cmd/curtsy/cli"
)

func called(t *testing.T, path ...string) *cobra.Command {
	t.Helper()
	root := newRoot(cli.Streams{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: new(bytes.Buffer)})
	cmd, rest, err := root.Find(path)
	if err != nil || cmd == root || len(rest) > 0 {
		t.Fatalf("no command %q: %v", path, err)
	}
	return cmd
}

// Each phrase is a flag of crawl or mirror that takes its value, or a command. An option of others is not a flag of curtsy, and is
// in the table once.
func TestEachPhraseIsAFlagOrACommandOfOurs(t *testing.T) {
	t.Parallel()
	all := cli.All()
	met := map[string]bool{}
	for _, p := range all {
		name, value, _ := strings.Cut(p.Ours, " ")
		if flag := p.Flag(); flag != "" {
			crawl, mirror := called(t, "crawl").Flags(), called(t, "mirror").Flags()
			f := mirror.Lookup(flag) // mirror has the flags of crawl, and some
			if f == nil {
				t.Errorf("%q: no flag --%s", p.Theirs, flag)
				continue
			}
			if inCrawl := crawl.Lookup(flag) != nil; !inCrawl && !strings.Contains(p.Note, "curtsy mirror") {
				t.Errorf("%q: the note does not say that %s is of curtsy mirror alone", p.Theirs, name)
			}
			if value != "" && value != strings.ToUpper(value) {
				assert.NoErrorf(t, f.Value.Set(value), "%q: %s", p.Theirs, p.Ours)
			}
		} else {
			words := strings.Fields(strings.TrimSuffix(strings.TrimPrefix(p.Ours, "curtsy "), " DIR"))
			called(t, words...)
		}
		for _, theirs := range p.Theirs {
			assert.Falsef(t, met[theirs], "%s is in the table twice", theirs)
			met[theirs] = true
			if long, ok := strings.CutPrefix(theirs, "--"); ok && long != p.Flag() && called(t, "mirror").Flags().Lookup(long) != nil {
				t.Errorf("%s is a flag of ours, too: nobody would ever read this", theirs)
			}
			if got, ok := cli.Find(theirs); !ok || got.Ours != p.Ours {
				t.Errorf("%s is not found: %+v", theirs, got)
			}
		}
	}
	assert.GreaterOrEqual(t, len(met), 40, "options")
}
