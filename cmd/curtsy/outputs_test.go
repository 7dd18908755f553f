package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

const (
	reads  = "reads"
	places = "places" // makes a crawl in a folder that is new or empty
)

// fileOptions are all options that name a file or folder. One that writes has a command line, in which OUT is the file, D a crawl
// directory and SEGMENT a file of its archive.
var fileOptions = map[string]string{
	"audit --html":                "audit --html OUT D",
	"audit --access-log":          reads,
	"audit --checkpoint":          reads,
	"audit --key":                 reads,
	"audit --robots":              reads,
	"audit --witness-key":         reads,
	"audit --bot-page":            reads,
	"audit --bot-ranges":          reads,
	"linkcheck --baseline":        reads,
	"linkcheck --html":            "linkcheck --offline --html OUT D",
	"diff --html":                 "diff --html OUT D",
	"linkcheck --ignore":          reads,
	"linkcheck --junit":           "linkcheck --offline --junit OUT D",
	"crawl --ca-file":             reads,
	"crawl --auth":                reads,
	"crawl --header":              reads,
	"crawl --config":              reads,
	"crawl --dashboard-token":     reads,
	"crawl --dir":                 places,
	"crawl --opt-out":             reads,
	"crawl --seeds":               reads,
	"crawltest score --log":       "crawltest score --token x --log OUT -- echo",
	"crawltest score --keys":      reads,
	"crawltest serve --keys":      reads,
	"dashboard --token":           reads,
	"demo --dir":                  places,
	"redact --wacz":               "redact --wacz OUT D 127.0.0.1",
	"frontier add --seeds":        reads,
	"frontier export --output":    "frontier export --output OUT D",
	"identity keygen --output":    "identity keygen --signature-agent https://crawl.library.org --output OUT",
	"ledger prove --output":       "ledger prove --host 127.0.0.1 --output OUT D",
	"ledger verify --access-log":  reads,
	"ledger verify --key":         reads,
	"ledger verify --witness-key": reads,
	"mirror rebuild --output":     "mirror rebuild --output OUT/.. SEGMENT",
	"export --output":             "export --format wacz --output OUT D",
	"plan --ethics":               "plan --ethics OUT http://127.0.0.1:9/",
	"report --output":             "report --no-audit --output OUT D",
	"robots check --config":       reads,
	"robots check --file":         reads,
}

func TestOptions_FileOptionsAreListed(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if !sub.Hidden {
				visit(sub)
			}
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "curtsy ")
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			what, _ := pflag.UnquoteUsage(f)
			if !strings.Contains(what, "FILE") && !strings.Contains(what, "DIR") {
				return
			}
			for _, as := range []string{name, "crawl", "robots check"} { // whose options others share
				if fileOptions[as+" --"+f.Name] != "" {
					used[as+" --"+f.Name] = true
					return
				}
			}
			t.Errorf("%s --%s names %s: add it to fileOptions", name, f.Name, what)
		})
	}
	visit(newRoot(cli.Streams{}))
	for option := range fileOptions {
		assert.Truef(t, used[option], "%s is in fileOptions and does not exist", option)
	}
}

// No option that writes a file replaces one that it did not make, or writes among the files of a crawl.
func TestOptions_KeepForeignFiles(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	base := t.TempDir()
	d := filepath.Join(base, "d")
	inside(t, "mirror", "--quiet", "--delay", "0", "--dir", d, seed).want(t, cli.ExitDone)
	shared(t, "report", "--no-audit", d).want(t, cli.ExitDone)
	segments, err := crawldir.Entries(inDir(d, crawldir.ArchiveName), "", ".warc.gz")
	require.NoError(t, err)
	require.NotEmpty(t, segments)
	mine := filepath.Join(base, "mine")
	require.NoError(t, os.Mkdir(mine, 0o700))
	page := []byte("<!DOCTYPE html>\n<html><head><title>My garden</title></head></html>\n")
	outs := []string{segments[0], inDir(d, crawldir.ConfigName), inDir(d, crawldir.FrontierName), inDir(d, crawldir.ReportName+".html"), inDir(d, crawldir.LedgerName+"/new"), inDir(d, "mirror/missing.jsonl")}
	for _, ext := range []string{".html", ".wacz", ".txt"} {
		path := filepath.Join(mine, "garden"+ext)
		require.NoError(t, os.WriteFile(path, bytes.Repeat(page, 40), 0o600))
		outs = append(outs, path)
	}
	before := filesOf(t, base)
	for option, line := range fileOptions {
		if line == reads || line == places {
			continue
		}
		for _, out := range outs {
			if option == "report --output" && strings.HasSuffix(out, crawldir.ReportName+".html") {
				continue
			}
			whole := strings.HasSuffix(line, "OUT/..") || strings.Contains(line, "OUT/.. ")
			if folder := filepath.Dir(out); whole && (folder == d || folder == mine && !strings.Contains(line, "--profile")) {
				continue
			}
			fill := strings.NewReplacer("OUT/..", filepath.Dir(out), "OUT", out, "SEGMENT", segments[0], " D", " "+d)
			r := atHome(t, strings.Fields(fill.Replace(line))...)
			if r.code == cli.ExitDone {
				t.Errorf("%s: exit code 0\n%s", fill.Replace(line), r.err)
			}
			if after := filesOf(t, base); !maps.Equal(before, after) {
				for path := range after {
					if before[path] != after[path] {
						t.Fatalf("%s: changed %s", fill.Replace(line), path)
					}
				}
				t.Fatalf("%s: removed something", fill.Replace(line))
			}
		}
	}
}
