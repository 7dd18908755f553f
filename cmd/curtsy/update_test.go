package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/status"
	watching "curtsy/crawler/watch"
	"curtsy/storage"
	"curtsy/storage/warc"
)

// changesOf reads the file of an update.
func changesOf(t *testing.T, dir string) (counts map[string]int64, of map[string]crawldir.Change) {
	t.Helper()
	b := fileOf(t, inDir(dir, crawldir.ChangesName))
	var file struct {
		Counts  map[string]int64
		Changes []crawldir.Change `json:"changes"`
	}
	require.NoError(t, json.Unmarshal(b, &file), string(b))
	of = map[string]crawldir.Change{}
	sum := int64(0)
	for _, c := range file.Changes {
		of[c.URL[strings.Index(c.URL[8:], "/")+8:]] = c
	}
	for _, n := range file.Counts {
		sum += n
	}
	if !slices.IsSortedFunc(file.Changes, func(a, b crawldir.Change) int { return strings.Compare(a.URL, b.URL) }) || sum != int64(len(file.Changes)) || len(of) != len(file.Changes) {
		t.Errorf("the changes are not sorted, or not all of them: %s", b)
	}
	return file.Counts, of
}

// archiveClean runs curtsy warc check on every segment, and checks that each revisit refers to a response.
func archiveClean(t *testing.T, dir string) (revisits map[string]int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*.warc.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	inside(t, append([]string{"warc", "check"}, files...)...).want(t, cli.ExitDone)
	revisits = map[string]int{}
	responses := map[string]bool{} // by URL, date and name
	var referring []warc.Fields
	recordsIn(t, dir, func(rec *warc.Record) {
		switch rec.Type {
		case "response":
			responses[rec.TargetURI()+" "+rec.Fields.Get("WARC-Date")+" "+rec.ID()] = true
		case "revisit":
			profile := rec.Fields.Get("WARC-Profile")
			revisits[profile[strings.LastIndex(profile, "/")+1:]]++
			referring = append(referring, slices.Clone(rec.Fields))
		}
	})
	for _, fields := range referring {
		to := func(name string) string { return strings.Trim(fields.Get("WARC-Refers-To"+name), "<>") }
		if original := to("-Target-URI") + " " + to("-Date") + " " + to(""); !responses[original] {
			t.Errorf("the revisit of %s refers to nothing: %s", fields.Get("WARC-Target-URI"), original)
		}
	}
	indexHolds(t, dir)
	return revisits
}

// A frontier that is rebuilt during an update takes the outcomes of this generation only.
func TestARebuiltUpdateGoesOn(t *testing.T) {
	t.Parallel()
	dir, _ := crawledOnce(t, crawltest.Tree("bakery.test", 9))
	inside(t, "update", "--quiet", "--max-pages", "2", dir).want(t, cli.ExitDone)
	b := fileOf(t, inDir(dir, crawldir.FrontierName))
	kept := 0
	page := os.Getpagesize()
	for at := 2 * page; at < len(b) && kept < 2; at += page {
		copied := filepath.Join(t.TempDir(), "d")
		require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
		spoilt := slices.Concat(b[:at], bytes.Repeat([]byte{0xa5}, page), b[at+page:])
		require.NoError(t, os.WriteFile(inDir(copied, crawldir.FrontierName), spoilt, 0o600))
		inside(t, "frontier", "repair", copied).want(t, cli.ExitDone)
		inside(t, "resume", "--quiet", "--max-pages", "0", copied)
		if r := inside(t, "status", "--json", copied); !strings.Contains(r.out, `"generation": 2`) {
			continue // the generation is lost with the totals: it continues as a crawl
		}
		kept++
		if counts, _ := changesOf(t, copied); counts["unchanged"] != 9 || counts[crawldir.Unlinked] != 0 {
			t.Errorf("without page %d: %v", at/page, counts)
		}
	}
	assert.NotEqual(t, 0, kept, "no page was lost that matters")
}

// often makes each page due at each look, without a budget.
var often = []string{"--min-interval", "1ms", "--max-interval", "1ms", "--round-interval", "1ms", "--per-host-per-day", "1000000000"}

func watched(dir string, flags ...string) []string {
	return append(append([]string{"watch"}, flags...), dir)
}

func planOf(t *testing.T, dir string, flags ...string) map[string]watching.Entry {
	t.Helper()
	r := inside(t, watched(dir, append(flags, "--list", "--json")...)...)
	r.want(t, cli.ExitDone)
	of := map[string]watching.Entry{}
	for line := bufio.NewScanner(strings.NewReader(r.out)); line.Scan(); {
		var e watching.Entry
		require.NoError(t, json.Unmarshal(line.Bytes(), &e), line.Text())
		of[e.URL[strings.Index(e.URL[8:], "/")+8:]] = e
	}
	return of
}

// A watch that is killed several times continues: it loses no visit, and the audit finds nothing.
func TestWatch_AKillLosesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many processes")
	}
	const kills = 3
	dir, web := crawledOnce(t, crawltest.Tree("bakery.test", 12))
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for i := range kills {
		web.Change("bakery.test", func(s *crawltest.Site) {
			s.Pages = maps.Clone(s.Pages)
			p := s.Pages["/"]
			p.Text, p.Links = fmt.Sprintf("kill %d", i), append(p.Links, fmt.Sprintf("/new%d", i))
			s.Pages["/"], s.Pages[fmt.Sprintf("/new%d", i)] = p, crawltest.Page{}
		})
		before, more := len(web.Referee().Requests()), 1+rng.IntN(30)
		p := launched(t, curtsy(t, watched(dir, append(often, "--quiet")...)...))
		p.until(t, "some requests", func() bool { return len(web.Referee().Requests()) >= before+more })
		if !p.kill() {
			t.Fatalf("it ended before the kill: %s", p.errs.String())
		}
		reopened(t, dir)
		agree(t, dir)
	}
	for range 2 { // the rest after the kill, and a whole round
		inside(t, watched(dir, append(often, "--once", "--quiet")...)...).want(t, cli.ExitDone)
	}
	of := map[string]storage.Outcome{}
	for _, l := range ledgerLinesIn(t, dir) {
		of[l.URL] = l.Outcome
	}
	base := web.LoopbackURL("bakery.test")
	for i := range kills {
		assert.Equalf(t, storage.OutcomeFetched, of[strings.TrimSuffix(base, "/")+fmt.Sprintf("/new%d", i)], "/new%d", i)
	}
	archiveClean(t, dir)
	inside(t, "audit", dir).want(t, cli.ExitDone)
}

func TestWatch_ASignalEndsItsSleep(t *testing.T) {
	t.Parallel()
	dir, _ := crawledOnce(t, crawltest.Tree("bakery.test", 2))
	p := launched(t, curtsy(t, watched(dir, "--min-interval", "2h")...))
	p.until(t, "a sleep", func() bool { return strings.Contains(p.errs.String(), "the next round is not before") })
	var st status.Status
	if r := inside(t, "status", "--json", dir); json.Unmarshal([]byte(r.out), &st) != nil || st.State != status.Watching || st.Watch == nil ||
		st.Watch.Why != "min-interval" || st.Watch.URLs == 0 || st.Watch.Next.Before(time.Now()) {
		t.Errorf("the status of a watch that sleeps: %s", r.out)
	}
	if r := inside(t, "status", dir); !strings.Contains(r.out, "watching") || !strings.Contains(r.out, "min-interval, http://") {
		t.Errorf("the status of a watch that sleeps: %s", r.out)
	}
	inside(t, watched(dir)...).want(t, cli.ExitFailed, "already being watched")
	if e := planOf(t, dir)["/"]; e.Due.Sub(e.Last) != 2*time.Hour { // as the watch has it
		t.Errorf("the plan beside the watch: %+v", e)
	}
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	<-p.over
	if code := p.cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code %d: %s", code, p.errs.String())
	}
	if e := planOf(t, dir)["/"]; e.Due.Sub(e.Last) != 2*time.Hour {
		t.Errorf("the plan after it: %+v", e)
	}
	assert.NotContains(t, inside(t, "status", dir).out, "watch", "the status after it")
	inside(t, "audit", dir).want(t, cli.ExitDone)
}
