package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// audited runs audit --json in this process.
func audited(t *testing.T, args ...string) (*audit.Result, int) {
	t.Helper()
	r := shared(t, append([]string{"audit", "--json"}, args...)...)
	var got audit.Result
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatalf("exit code %d: %v\n%s%s", r.code, err, r.out, r.err)
	}
	return &got, r.code
}

// violated lists the codes of violations.
func violated(r *audit.Result) (all []string) {
	for _, c := range r.Counts {
		if c.Found > c.Notes {
			all = append(all, string(c.Code))
		}
	}
	return all
}

// namedBy fails unless the audit ends with exit code 3 and names the code among its violations, in the text as well.
func namedBy(t *testing.T, code finding.Code, args ...string) {
	t.Helper()
	r, exit := audited(t, args...)
	if exit != cli.ExitFound || !slices.Contains(violated(r), string(code)) {
		b, _ := json.MarshalIndent(r.Findings, "", " ")
		t.Errorf("exit code %d, %v; want %s\n%.4000s", exit, violated(r), code, b)
	}
	if text := shared(t, append([]string{"audit"}, args...)...); text.code != cli.ExitFound || !strings.Contains(text.out, "  "+string(code)+": ") {
		t.Errorf("exit code %d\n%s", text.code, text.out)
	}
}

// The evidence of a polite crawl is clean wherever its archive is; a lodged head and access logs that differ are found. Package
// forgery tests what else is found.
func TestAudit_EvidenceOfACrawl(t *testing.T) {
	if testing.Short() {
		t.Skip("a crawl at one request a second")
	}
	t.Parallel()
	demo := filepath.Join(t.TempDir(), "demo")
	judge := ended(t, curtsy(t, "demo", "--quiet", "--dir", demo))
	judge.want(t, cli.ExitDone)
	t.Run("the report counts what the servers counted", func(t *testing.T) { countsAlike(t, demo, judge.out) })

	const host = "station.test"
	r, exit := audited(t, demo)
	if exit != cli.ExitDone || !r.Clean || r.Level != audit.SelfConsistent || r.Totals.Pages < 100 || r.Totals.Refusals == 0 ||
		r.Ledger == nil || r.Ledger.Agree != r.Ledger.Records+r.Ledger.Refusals {
		t.Errorf("exit code %d: %+v\n%+v\n%+v", exit, r.Totals, r.Ledger, r.Findings)
	}
	if i := slices.IndexFunc(r.Hosts, func(h *audit.Host) bool { return h.Authority == "http://"+host }); i < 0 || r.Hosts[i].Dates == 0 || math.Abs(r.Hosts[i].Skew) > 2 {
		t.Errorf("the clock of the server and that of the crawler differ: %+v", r.Hosts)
	}
	t.Run("a lodged head", func(t *testing.T) { lodgedHead(t, demo) })
	t.Run("access logs", func(t *testing.T) { accessLogged(t, demo, host) })

	const file = "curtsy-00000.warc.gz"
	moved, bare := copied(t, demo), copied(t, demo)
	archive := inDir(moved, crawldir.ArchiveName)
	if err := errors.Join(os.Rename(inDir(archive, file), inDir(moved, "a.warc.gz")), os.Remove(archive), os.RemoveAll(inDir(bare, crawldir.IndexName))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{moved, inDir(demo, crawldir.ArchiveName)} {
		if r := clean(t, path); r.Ledger == nil || r.Ledger.Agree == 0 {
			t.Errorf("%s: the ledger was not compared: %+v", path, r.Ledger)
		}
	}
	namedBy(t, finding.FileMissing, bare)
}

// lodgedHead checks that --head takes what ledger checkpoint prints and SIZE:HEX, and that another head is found.
func lodgedHead(t *testing.T, dir string) {
	note := filepath.Join(t.TempDir(), "head.txt")
	if err := os.WriteFile(note, []byte(shared(t, "ledger", "checkpoint", dir).out), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, exit := audited(t, "--head", note, dir); exit != cli.ExitDone || r.Level != audit.Lodged || r.Ledger.Since != 0 {
		t.Errorf("exit code %d: %+v %+v", exit, r.Level, r.Ledger)
	}
	n, err := ledger.Latest(inDir(dir, crawldir.LedgerName))
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("%d:%X", n.Size, n.Root[:])
	if r, exit := audited(t, "--head", head, dir); exit != cli.ExitDone || r.Level != audit.Lodged || r.Ledger.Since != 0 {
		t.Errorf("exit code %d: %+v %+v", exit, r.Level, r.Ledger)
	}
	namedBy(t, finding.LedgerHead, "--head", fmt.Sprintf("%d:%s", n.Size, strings.Repeat("ab", 32)), dir)
	if r := shared(t, "audit", "--head", "abc", dir); r.code != cli.ExitUsage || !strings.Contains(r.err, "SIZE:HEX") {
		t.Errorf("%+v", r)
	}
}

// accessLogged checks that a log with the requests of an archive confirms it, and that one more or less is found.
func accessLogged(t *testing.T, dir, host string) {
	f, err := os.Open(filepath.Join(dir, crawldir.ArchiveName, "curtsy-00000.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	begin := ""
	for r := warc.NewReader(f); ; {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(rec.Block)
		if err != nil {
			t.Fatal(err)
		}
		switch first, _, _ := strings.Cut(string(b), "\r\n"); {
		case !strings.HasPrefix(rec.Fields.Get("WARC-Target-URI"), "http://"+host+"/"):
		case rec.Fields.Get("WARC-Type") == "request":
			at, err := time.Parse(time.RFC3339Nano, rec.Fields.Get("WARC-Date"))
			if err != nil {
				t.Fatal(err)
			}
			begin = fmt.Sprintf("198.18.0.9 - - [%s] \"%s\"", at.Format("02/Jan/2006:15:04:05 -0700"), first)
		case strings.HasPrefix(first, "HTTP/"):
			lines = append(lines, fmt.Sprintf("%s %s 12 \"-\" \"curtsy/%s\"\n", begin, strings.Fields(first)[1], crawldir.Version))
		}
	}
	log := func(lines ...string) string {
		path := filepath.Join(t.TempDir(), "access.log")
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		return host + "=" + path
	}
	if r, exit := audited(t, "--access-log", log(lines...), dir); exit != cli.ExitDone || r.Level != audit.ConfirmedByLog || len(r.Logs) != 1 || r.Logs[0].Agree != int64(len(lines)) {
		t.Errorf("exit code %d: %s %+v", exit, r.Level, r.Findings)
	}
	namedBy(t, finding.LogMissing, "--access-log", log(slices.Delete(slices.Clone(lines), 3, 4)...), dir)
	namedBy(t, finding.LogExtra, "--access-log", log(append(slices.Clone(lines), strings.Replace(lines[3], "GET /", "GET /private", 1))...), dir)
	namedBy(t, finding.LogExtra, "--access-log", log(append(slices.Clone(lines), lines[3])...), dir)
	if r := shared(t, "audit", "--access-log", strings.TrimPrefix(log(lines...), host+"="), dir); r.code != cli.ExitUsage || !strings.Contains(r.err, "HOST=FILE") {
		t.Errorf("%+v", r)
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
