package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// A crawl that is killed and resumed ten times fetches every page, repeats only requests in flight, and its archive is valid
// after each resume.
func TestAKilledCrawlLosesNothing(t *testing.T) {
	amongOthers(t)
	if testing.Short() {
		t.Skip("many processes")
	}
	kills, pages, large := 10, 400, 12
	if full() {
		kills, pages, large = 100, 2000, 40
	}
	site := crawltest.Tree("bakery.test", pages)
	site.Latency = 4 * time.Millisecond
	pages += heavy(site, large, 2<<20)
	web := webOf(t, site)
	dir := filepath.Join(t.TempDir(), "crawl")
	seed := web.LoopbackURL("bakery.test")
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	settled, killed := settledURLs{}, 0
	under := 0 // kills in a row that left a suspect
	args := []string{"crawl", "--delay", "0", "--dir", dir, "--quiet", seed}
	for done := 0; done < kills; {
		before, more := len(web.Referee().Requests()), rng.IntN(pages/kills)
		p := launched(t, curtsy(t, args...))
		p.until(t, "some requests", func() bool { return len(web.Referee().Requests()) >= before+more })
		if under == frontier.QuarantineStops-1 { // one more could quarantine a page, which is another test
			clear := 0 // looks in a row: a kill loses uncommitted work
			p.until(t, "no suspect", func() bool {
				if clear++; suspects(t, dir) != 0 {
					clear = 0
				}
				return clear > 5
			})
			under = 0
		}
		if killed%2 == 1 { // during an append, if one comes within half a second
			inAppend(dir, 500*time.Millisecond)
		}
		if !p.kill() {
			break // it finished before the kill
		}
		killed++
		if _, err := os.Stat(dir); err != nil {
			continue // no request was made yet
		}
		if after := len(web.Referee().Requests()); after > before || done == 0 {
			done++
		}
		reopened(t, dir)
		agree(t, dir)
		settled.add(t, web, dir)
		under++
		if suspects(t, dir) == 0 {
			under = 0
		}
		args = []string{"resume", "--quiet", dir}
		// A crawl that is killed before its first response has no archive to audit.
		if files, err := os.ReadDir(inDir(dir, crawldir.ArchiveName)); err == nil && len(files) > 0 {
			clean(t, dir)
		}
	}
	ended(t, curtsy(t, "resume", dir)).want(t, cli.ExitDone)
	ended(t, curtsy(t, "resume", dir)).want(t, cli.ExitDone, "finished")
	reopened(t, dir)
	agree(t, dir)
	clean(t, dir)

	// Every page is requested, and none again that the frontier has as fetched. frontier/bolt tests the cost of a kill, one group
	// commit, in virtual time.
	settled.check(t, web)
	targets := map[string]bool{}
	for _, r := range web.Referee().Requests() {
		targets[r.Target] = true
	}
	assert.Equalf(t, pages+1, len(targets), "%d targets are requested, want %d pages and robots.txt", len(targets), pages)
	var st status.Status
	decoded(t, &st, "status", dir)
	if st.State != "finished" || st.Fetched != int64(pages) || st.Discovered != int64(pages) {
		t.Errorf("%+v", st)
	}
}

// suspects returns how many pages in flight at a kill have not been fetched since; -1 if the crawl does not answer.
func suspects(t *testing.T, dir string) int64 {
	var s status.Status
	if json.Unmarshal([]byte(shared(t, "status", "--json", dir).out), &s) != nil {
		return -1
	}
	return s.Suspects
}

// settledURLs are the URLs that a frontier has as fetched, with the number of requests until then. None may be requested again.
type settledURLs map[string]int

// add adds the fetched URLs of a crawl, which may be running.
func (s settledURLs) add(t *testing.T, web *crawltest.Web, dir string) {
	t.Helper()
	r := shared(t, "frontier", "ls", "--urls", "--outcome", "fetched", "--json", dir)
	r.want(t, cli.ExitDone)
	var urls []string
	for line := range strings.Lines(r.out) {
		var row struct{ URL string }
		require.NoError(t, json.Unmarshal([]byte(line), &row), line)
		urls = append(urls, row.URL)
	}
	s.see(web, urls)
}

func (s settledURLs) see(web *crawltest.Web, urls []string) {
	n := len(web.Referee().Requests())
	for _, u := range urls {
		if _, known := s[u]; !known {
			s[u] = n
		}
	}
}

func (s settledURLs) check(t *testing.T, web *crawltest.Web) {
	t.Helper()
	for i, r := range web.Referee().Requests() {
		u := strings.TrimSuffix(web.LoopbackURL(r.Host), "/") + r.Target
		if n, ok := s[u]; ok && i >= n {
			t.Errorf("%s is requested again, after the frontier had it as fetched", u)
		}
	}
}

// reopened opens a killed crawl as resume does, and checks database, archive and ledger.
func reopened(t *testing.T, dir string) {
	t.Helper()
	d, err := crawldir.Open(t.Context(), dir, crawldir.Options{Say: func(n crawldir.Note) { t.Log(n.Text) }})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	if findings, err := engine.Check(inDir(dir, crawldir.FrontierName)); err != nil || len(findings) > 0 {
		t.Fatalf("the frontier: %v %v", findings, err)
	}
	indexHolds(t, dir)
	// This process has another key, and lines that a kill left uncommitted remain so until the next run.
	expected := []ledger.Fault{ledger.NoStop, ledger.KeyChanged, ledger.Empty, ledger.Uncommitted}
	for e, err := range ledger.Scan(inDir(dir, crawldir.LedgerName)) {
		if err != nil || e.Problem != nil && !slices.Contains(expected, e.Problem.Fault) {
			t.Fatalf("the ledger: %v %v", e.Problem, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*"))
	require.NoError(t, err)
	for _, path := range files {
		gunzipped(t, fileOf(t, path))
	}
}

// A crawl of third-party hosts that is killed during exchanges keeps all delays, and its audit finds nothing. (The audit exempts
// own hosts, as in TestAKilledCrawlLosesNothing, from most rules.)
func TestAKilledCrawlOfForeignHostsIsAuditedClean(t *testing.T) {
	amongOthers(t)
	if testing.Short() {
		t.Skip("several processes")
	}
	kills, hosts := 4, 20
	if full() {
		kills, hosts = 40, 200
	}
	sites := make([]*crawltest.Site, hosts)
	for i := range sites {
		sites[i] = crawltest.Tree("host"+itoa(i)+".test", 3)
	}
	web := webOf(t, sites...)
	dir := filepath.Join(t.TempDir(), "crawl")
	user, says := &lab{t: t, config: t.TempDir()}, ""
	args := []string{"crawl", "--own-site", "none", "--ip-delay", "100ms", "--dir", dir, "--quiet"}
	for _, name := range web.Hosts() {
		args = append(args, web.LoopbackURL(name))
	}
	for done := 0; done < kills; done++ {
		before, more := len(web.Referee().Requests()), 1+rand.IntN(2*hosts/3)
		if done == 0 {
			more += hosts // an archive without a record cannot be audited
		}
		p := launched(t, user.command(args...))
		p.until(t, "some requests", func() bool { return len(web.Referee().Requests()) >= before+more })
		if !p.kill() {
			break
		}
		args = []string{"resume", "--quiet", dir}
		clean(t, dir)
	}
	if open, err := openSegment(dir); err != nil {
		t.Fatal(err)
	} else if open != "" { // none if the kill came before the first record of a run
		says = "which a kill left open, is completed, and the ledger has a mark of it"
	}
	file := filepath.Join(t.TempDir(), "x.wacz")
	user.run("export", "--format", "wacz", dir, "-o", file).want(t, cli.ExitDone, says)
	clean(t, file)
	user.run("resume", "--quiet", dir).want(t, cli.ExitDone)
	clean(t, dir)
	judged(t, web, crawltest.Rules{Pace: 990 * time.Millisecond, Repeats: kills * hosts})
}

// heavy adds large files, so that a kill can hit an append, and a refused link on each page.
func heavy(site *crawltest.Site, files, octets int) (pages int) {
	for target, p := range site.Pages {
		p.Links = append(p.Links, "http://elsewhere.test"+target)
		site.Pages[target] = p
	}
	for i := range files {
		target, from := fmt.Sprintf("/heavy%d.bin", i), fmt.Sprintf("/p%d.html", i*3+1)
		site.Pages[target] = crawltest.Page{Type: "application/octet-stream", Body: noise(uint64(i), octets)}
		p := site.Pages[from]
		p.Links = append(p.Links, target)
		site.Pages[from] = p
	}
	return files
}

// inAppend waits at most d until the open segment of a crawl grows, and reports whether it did.
func inAppend(dir string, d time.Duration) bool {
	size := func() (n int64) {
		open, _ := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*.open"))
		for _, path := range open {
			if fi, err := os.Stat(path); err == nil {
				n += fi.Size()
			}
		}
		return n
	}
	before := int64(-1)
	return within(d, 50*time.Microsecond, nil, func() bool {
		now := size()
		grew := before >= 0 && now > before+64<<10 // more than a page has
		before = now
		return grew
	})
}

func recordsIn(t *testing.T, dir string, visit func(*warc.Record)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*"))
	require.NoError(t, err)
	for _, path := range files {
		require.Truef(t, strings.HasSuffix(path, ".warc.gz"), "%s is left in the archive", path)
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		for rd := warc.NewReader(f); ; {
			rec, err := rd.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, path)
			visit(rec)
		}
	}
}

// agree checks that each URL that the frontier has as done has a line in the ledger, and each request in the ledger a record in
// the archive. A kill may leave the reverse.
func agree(t *testing.T, dir string) {
	t.Helper()
	ids := map[string]string{} // URLs of records
	recordsIn(t, dir, func(r *warc.Record) { ids[r.ID()] = r.TargetURI() })
	lines := map[string]map[string]bool{} // outcomes by URL
	for _, l := range ledgerLinesIn(t, dir) {
		if lines[l.URL] == nil {
			lines[l.URL] = map[string]bool{}
		}
		lines[l.URL][string(l.Outcome)] = true
		switch url, known := ids[l.Record]; {
		case l.Record == "" && (l.Octets > 0 || l.Outcome == storage.OutcomeFetched):
			t.Errorf("%s was answered, and its line names no record", l.URL)
		case l.Record != "" && !known:
			t.Errorf("the line of %s names the record %s, which is not in the archive", l.URL, l.Record)
		case l.Record != "" && url != l.URL:
			t.Errorf("the line of %s names a record of %s", l.URL, url)
		}
	}
	f, err := engine.OpenReadOnly(inDir(dir, crawldir.FrontierName))
	require.NoError(t, err)
	done := 0
	err = f.Export(context.Background(), func(i frontier.Item) error {
		e := i.URL
		if e == nil || e.Outcome == 0 {
			return nil
		}
		done++
		if !lines[e.URL.String()][e.Outcome.String()] {
			t.Errorf("the frontier holds %s for %s, and the ledger has %v", e.URL, e.Outcome, lines[e.URL.String()])
		}
		return nil
	})
	require.NoError(t, errors.Join(err, f.Close()))
	assert.LessOrEqualf(t, done, len(lines), "%d URLs are done, and %d have a line", done, len(lines))
}

// A URL at which the process dies several times is quarantined, and all others are fetched. An operator sees it, and can retry it.
func TestAURLThatKillsTheProcessIsSetAside(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many processes")
	}
	web := webOf(t, &crawltest.Site{Name: "mill.test", Pages: map[string]crawltest.Page{
		"/":       {Links: []string{"/flour", "/poison", "/bread"}},
		"/flour":  {},
		"/bread":  {},
		"/poison": {Delay: time.Hour},
	}})
	dir := filepath.Join(t.TempDir(), "crawl")
	args := []string{"crawl", "--delay", "0", "--dir", dir, web.LoopbackURL("mill.test")}
	deaths := 0
	for ; deaths < 10; deaths++ {
		p := launched(t, curtsy(t, args...))
		before := requested(web, "/poison")
		died := p.until(t, "it is asked for", func() bool { return requested(web, "/poison") > before })
		if died && deaths == 0 { // later its record is durable already
			done := settledURLs{}
			died = p.until(t, "the frontier has it on record, and the page before it as fetched", func() bool {
				done.add(t, web, dir)
				return len(done) == 2 && stops(t, dir, "/poison") > 0
			})
		}
		died = died && p.kill()
		if r := p.end(); !died {
			r.want(t, cli.ExitDone, "1 URL set aside", "curtsy frontier retry --reason quarantined")
			break
		}
		args = []string{"resume", dir}
	}
	if deaths < 3 || deaths > 6 {
		t.Errorf("set aside after %d deaths", deaths)
	}
	for _, target := range []string{"/flour", "/bread"} {
		if n := requested(web, target); n != 1 {
			t.Errorf("%s was requested %d times", target, n)
		}
	}
	r := inside(t, "frontier", "ls", "--urls", "--reason", "quarantined", dir)
	if r.want(t, cli.ExitDone); !strings.Contains(r.out, "/poison") || strings.Count(r.out, "http") != 1 {
		t.Errorf("%q", r.out)
	}
	set := 0
	for _, l := range ledgerLinesIn(t, dir) {
		if l.Reason == frontier.ReasonQuarantined {
			set++
			if !strings.HasSuffix(l.URL, "/poison") || l.Outcome != storage.OutcomeFailed || l.Kind != "link" {
				t.Errorf("%+v", l)
			}
		}
	}
	assert.Equal(t, 1, set, "lines of the ledger record the quarantined URL")
	clean(t, dir)
	inside(t, "frontier", "retry", "--reason", "quarantined", dir).want(t, cli.ExitDone)
	reopened(t, dir)
	t.Logf("set aside after %d deaths", deaths)
}

// stops returns at how many kills a URL was in flight.
func stops(t *testing.T, dir, target string) int {
	t.Helper()
	for line := range strings.Lines(shared(t, "frontier", "export", dir).out) {
		var item struct {
			URL struct {
				URL   string `json:"url"`
				Stops int    `json:"stops"`
			} `json:"url"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &item))
		if strings.HasSuffix(item.URL.URL, target) {
			return item.URL.Stops
		}
	}
	return 0
}

func requested(web *crawltest.Web, target string) (n int) {
	for _, r := range web.Referee().Requests() {
		if r.Target == target {
			n++
		}
	}
	return n
}
