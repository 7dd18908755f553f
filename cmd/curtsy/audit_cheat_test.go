package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage"
	"curtsy/storage/audit/finding"
)

// Who takes evidence away as a whole, and leaves nothing that contradicts the rest, is found out as well; who only
// moves it is not blamed.
func TestAuditOfACrawlDirectoryThatWasTamperedWith(t *testing.T) {
	if testing.Short() {
		t.Skip("a crawl at one exchange a second")
	}
	t.Parallel()
	demo := filepath.Join(t.TempDir(), "demo")
	referee := ended(t, curtsy(t, "demo", "--quiet", "--dir", demo))
	referee.want(t, cli.ExitDone)
	t.Run("the report counts what the referee counted", func(t *testing.T) { countsAlike(t, demo, referee.out) })
	const host = "station.test"
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		plant  func(t *testing.T, e *forgery) // before it is written
		tamper func(t *testing.T, dir string) (path string)
		want   finding.Code
	}{
		"the index is gone": {want: finding.FileMissing, tamper: func(t *testing.T, dir string) string {
			must(t, os.RemoveAll(inDir(dir, crawldir.IndexName)))
			return dir
		}},
		"the archive stands beside the ledger": {tamper: func(t *testing.T, dir string) string {
			must(t, os.Rename(inDir(inDir(dir, crawldir.ArchiveName), "curtsy-00000.warc.gz"), inDir(dir, "a.warc.gz")))
			must(t, os.Remove(inDir(dir, crawldir.ArchiveName)))
			return dir
		}},
		"the ledger is gone": {want: finding.LedgerLines, tamper: func(t *testing.T, dir string) string {
			must(t, os.RemoveAll(inDir(dir, crawldir.LedgerName)))
			return dir
		}},
		"the ledger is empty": {want: finding.LedgerMissing, tamper: func(t *testing.T, dir string) string {
			must(t, os.Remove(inDir(inDir(dir, crawldir.LedgerName), "000000.jsonl")))
			return dir
		}},
		"a page is gone and the archive stands elsewhere": {
			plant: func(t *testing.T, e *forgery) { e.drop(e.page(t, host, 4)...) }, want: finding.LedgerExtra,
			tamper: func(t *testing.T, dir string) string {
				must(t, os.Rename(inDir(inDir(dir, crawldir.ArchiveName), "curtsy-00000.warc.gz"), inDir(dir, "a.warc.gz")))
				must(t, os.Remove(inDir(dir, crawldir.ArchiveName)))
				return dir
			},
		},
		"a page is gone, and the folder of the archive alone is shown": {
			plant: func(t *testing.T, e *forgery) { e.drop(e.page(t, host, 4)...) }, want: finding.LedgerExtra,
			tamper: func(_ *testing.T, dir string) string { return inDir(dir, crawldir.ArchiveName) },
		},
		"a page is gone, and the last head, as after a kill": {
			want: finding.LedgerExtra, tamper: func(_ *testing.T, dir string) string { return dir },
			plant: func(t *testing.T, e *forgery) {
				e.drop(e.page(t, host, 4)...)
				e.ledger = e.ledger[:len(e.ledger)-1]
			},
		},
		"another software is named, and a date shifted": {
			want: finding.BadRecord, tamper: func(_ *testing.T, dir string) string { return dir },
			plant: func(t *testing.T, e *forgery) {
				e.of("warcinfo", "")[0].replace(t, "software: curtsy/", "software: otherbot/")
			},
		},
		"the first segment of the ledger is gone, and another key signs": {
			want: finding.LedgerLines,
			tamper: func(t *testing.T, dir string) string {
				(&forgery{}).again(t, dir, 8<<10, nil)
				names, err := filepath.Glob(filepath.Join(dir, crawldir.LedgerName, "000000.*"))
				must(t, err)
				if len(names) != 1 {
					t.Fatal(names)
				}
				must(t, os.Remove(names[0]))
				return dir
			},
		},
		"a host's lines are left out of a ledger that is made anew": {
			want: finding.LedgerMissing,
			tamper: func(t *testing.T, dir string) string {
				(&forgery{}).again(t, dir, 1<<20, func(l storage.Line) bool { return strings.HasPrefix(l.URL, "http://"+host+"/") })
				return dir
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := readEvidence(t, demo)
			if c.plant != nil {
				c.plant(t, e)
			}
			path := c.tamper(t, e.write(t))
			if c.want == "" {
				if r := clean(t, path); r.Ledger == nil || r.Ledger.Agree == 0 {
					t.Errorf("the ledger was not compared: %+v", r.Ledger)
				}
				return
			}
			namedBy(t, c.want, path)
		})
	}
	text := strings.Join(strings.Fields(shared(t, "audit", demo).out), " ") // whatever the lines
	for _, says := range []string{"was not archived", "the clock of the crawling computer", "cut off behind its last line", "written all of it anew", "when an answer began"} {
		if !strings.Contains(text, says) {
			t.Errorf("the audit does not say that it cannot show: %s", says)
		}
	}
	if words := strings.Fields(text); slices.Contains(words, "Named,") {
		t.Errorf("a clean crawl has notes:\n%s", text)
	}
}

// countsAlike compares the exchanges of each host in the report of a demo with the requests that the servers counted.
func countsAlike(t *testing.T, dir, table string) {
	t.Helper()
	r := shared(t, "report", "--no-audit", "--json", "-o", filepath.Join(t.TempDir(), "r.html"), dir)
	var report struct {
		Hosts []struct {
			Host      string `json:"host"`
			Exchanges int    `json:"exchanges"`
			Robots    int    `json:"robots_exchanges"`
		} `json:"hosts"`
	}
	if err := json.Unmarshal([]byte(r.out), &report); err != nil {
		t.Fatalf("%v: %s%s", err, r.out, r.err)
	}
	_, table, found := strings.Cut(table, "HOST ")
	if !found || len(report.Hosts) == 0 {
		t.Fatalf("%d hosts; the referee said %q", len(report.Hosts), table)
	}
	for _, h := range report.Hosts {
		name := strings.TrimSuffix(strings.TrimPrefix(h.Host, "http://"), ":80")
		_, row, _ := strings.Cut(table, "\n"+name+" ")
		counts := strings.Fields(row)
		if len(counts) < 2 || counts[0] != strconv.Itoa(h.Exchanges) || counts[1] != strconv.Itoa(h.Robots) {
			t.Errorf("%s: the report has %d exchanges, %d for robots.txt; the referee %.40q", name, h.Exchanges, h.Robots, row)
		}
	}
}

// The scoreboard with all that misbehaves is crawled politely, whatever a site answers, and the audit says so.
func TestAuditOfTheScoreboardIsClean(t *testing.T) {
	t.Parallel()
	if !full() {
		t.Skip("minutes")
	}
	dir := filepath.Join(t.TempDir(), "wing")
	args := slices.Clone(oursPolite)
	for i := range args {
		if args[i] == "{dir}" {
			args[i] = dir
		}
	}
	one := curtsy(t, append([]string{"crawltest", "score", "--all-hostile", "--quiet", "--timeout", "6m", "--token", "curtsy", "--", os.Args[0]}, args...)...)
	cmd := exec.CommandContext(t.Context(), one.Path, one.Args[1:]...) // it takes longer than a command may
	cmd.Env = one.Env
	ended(t, cmd)
	clean(t, dir)
}
