//go:build peers

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/frontier/frontiertest"
	"curtsy/storage/ledger"
)

// fleet is processes with a crawl directory and caches each. They share only the frontier.
type fleet struct {
	web     *crawltest.Web
	dirs    []string
	members []*process
	env     []string
	stale   int // late results of resumed members

	incidents int
	settled   settledURLs
}

func (f *fleet) curtsy(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := curtsy(t, args...)
	cmd.Env = append(cmd.Env, f.env...)
	return cmd
}

// resumeLost resumes a member if it has ended because it was silent for too long. With wait it waits for the member's end.
func (f *fleet) resumeLost(t *testing.T, i int, wait bool) {
	t.Helper()
	for {
		p := f.members[i]
		if !wait {
			select {
			case <-p.over:
			default:
				return
			}
		}
		r := p.end()
		if !strings.Contains(r.err, "was silent for") {
			return
		}
		f.stale += strings.Count(r.err, "its result is dropped")
		f.resume(t, i)
	}
}

// resume resumes a member, and waits until it takes part.
func (f *fleet) resume(t *testing.T, i int) {
	t.Helper()
	p := launched(t, f.curtsy(t, "resume", f.dirs[i]))
	f.members[i] = p
	p.until(t, "it takes part", func() bool { return strings.Contains(p.errs.String(), "resuming crawl") })
}

const fleetHosts = 40

// newFleet crawls hosts with a Crawl-delay of 0.3 s.
func newFleet(t *testing.T, server *frontiertest.Server, members, pages int, env ...string) *fleet {
	t.Helper()
	sites := fleetSites(pages)
	return fleetOf(t, server, members, sites, len(sites), env...)
}

func fleetSites(pages int) []*crawltest.Site {
	sites := make([]*crawltest.Site, fleetHosts)
	for i := range sites {
		sites[i] = crawltest.Tree("host"+itoa(i)+".test", pages)
		sites[i].Latency = 50 * time.Millisecond
		sites[i].Robots.Body = "User-agent: *\nCrawl-delay: 0.3\n"
	}
	return sites
}

// fleetOf crawls sites, the first of which are seeds. Without a server it is one process with its own frontier.
func fleetOf(t *testing.T, server *frontiertest.Server, members int, sites []*crawltest.Site, seeds int, env ...string) *fleet {
	t.Helper()
	f := &fleet{web: crawltest.New(sites...), env: env, settled: settledURLs{}}
	require.NoError(t, f.web.Start())
	t.Cleanup(func() { f.web.Close() })
	f.dirs = []string{filepath.Join(t.TempDir(), "w1")}
	args := []string{"crawl", "--delay", "0", "--dir", f.dirs[0]}
	var locator string
	if server != nil {
		locator = server.Locator()
		args = append(args, "--frontier", locator, "--one-machine")
	}
	if seeds < len(sites) {
		args = append(args, "--scope", "any", "--allow-net", "127.0.0.0/8", "--max-time", "1h", "--contact", "crawl@library.org") // links lead there
	}
	for _, s := range sites[:seeds] {
		args = append(args, f.web.LoopbackURL(s.Name))
	}
	f.members = []*process{launched(t, f.curtsy(t, args...))}
	if !f.members[0].until(t, "the crawl is there to be joined", func() bool { return crawldir.Require(f.dirs[0]) == nil }) {
		t.Fatal(f.members[0].errs.String())
	}
	for i := range members - 1 {
		dir := filepath.Join(t.TempDir(), "w"+itoa(i+2))
		f.dirs = append(f.dirs, dir)
		f.members = append(f.members, launched(t, f.curtsy(t, "join", "--frontier", locator, "--one-machine", "--dir", dir)))
	}
	return f
}

// until waits for more requests.
func (f *fleet) until(t *testing.T, more int) {
	t.Helper()
	before := len(f.web.Referee().Requests())
	f.members[0].until(t, "some requests", func() bool { return len(f.web.Referee().Requests()) >= before+more })
}

// incident is called before a failure: pages that the frontier has as fetched are not requested again.
func (f *fleet) incident(t *testing.T, server *frontiertest.Server) {
	t.Helper()
	f.incidents++
	fetched := server.SQL(t, "SELECT h.auth||u.u FROM curtsy_t1.url u JOIN curtsy_t1.host h ON h.id=u.host WHERE u.st=1")
	f.settled.see(f.web, strings.Fields(fetched))
}

// complete waits for the end and checks that each page is fetched once, except those that an incident interrupts, with one request
// to a host at a time and the Crawl-delay between any two, and that each directory is finished and clean.
func (f *fleet) complete(t *testing.T, pages int) {
	t.Helper()
	for i := range f.members {
		f.resumeLost(t, i, true)
		f.members[i].end().want(t, cli.ExitDone)
	}
	judged(t, f.web, crawltest.Rules{Pace: 300 * time.Millisecond, Repeats: f.incidents * fleetHosts})
	f.settled.check(t, f.web)
	all, gates := map[string]bool{}, 0
	for _, r := range f.web.Referee().Requests() {
		if r.Target == "/robots.txt" {
			continue
		}
		switch again := all[r.Host+r.Target]; {
		case again && f.incidents == 0:
			t.Errorf("%s%s is requested again", r.Host, r.Target)
		case !again && r.Host == gateName:
			gates++
		}
		all[r.Host+r.Target] = true
	}
	if len(all)-gates != fleetHosts*pages {
		t.Errorf("%d pages of %d are requested", len(all)-gates, fleetHosts*pages)
	}
	for _, dir := range f.dirs {
		if r := ended(t, curtsy(t, "status", "--json", dir)); !r.contains(`"state": "finished"`) || !r.contains(fmt.Sprintf(`"fetched": %d,`, len(all))) {
			t.Errorf("status %s: not finished, or not %d pages: %s%s", dir, len(all), r.out, r.err)
		}
	}
	if r := ended(t, curtsy(t, append([]string{"audit"}, f.dirs...)...)); r.code != cli.ExitDone {
		t.Errorf("audit: exit code %d: %s%s", r.code, r.out, r.err)
	}
}

// gateName is a site that keeps the fleet running until the members share the slots.
const gateName = "gate.test"

func (r result) contains(s string) bool { return strings.Contains(r.out, s) }

// Two processes crawl as one, and divide the work: each has half of the slots before the first page of 40 hosts is due.
func TestPeers_FleetTwoProcesses(t *testing.T) {
	t.Parallel()
	server := frontiertest.Start(t)
	var links atomic.Value // of the gate; "" until the slots are divided: each page links to one more
	links.Store("")
	gate := &crawltest.Site{Name: gateName, Robots: crawltest.Robots{Body: "User-agent: *\nCrawl-delay: 0.3\n"}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		to := links.Load().(string)
		if to == "" {
			n, _ := strconv.Atoi(r.URL.RawQuery) // 0 on the first page
			to = fmt.Sprintf("<a href='/?%d'>x</a>", n+1)
		}
		fmt.Fprint(w, to)
	})}
	f := fleetOf(t, server, 2, append([]*crawltest.Site{gate}, fleetSites(20)...), 1)
	if !within(patience, 50*time.Millisecond, f.members[1].over, func() bool {
		return strings.TrimSpace(server.SQL(t, "SELECT count(*) FROM (SELECT FROM curtsy_t1.slot GROUP BY owner HAVING count(*)=128) s")) == "2"
	}) {
		t.Fatalf("the slots are not divided: %s", f.members[1].errs.String())
	}
	all := ""
	for i := range fleetHosts {
		all += "<a href='" + f.web.LoopbackURL("host"+itoa(i)+".test") + "'>x</a>"
	}
	links.Store(all)
	f.complete(t, 20)
	requests, answers := int64(len(f.web.Referee().Requests())), make([]int64, 2)
	for i, dir := range f.dirs {
		counted, err := ledger.Asked(inDir(dir, crawldir.LedgerName), time.Time{})
		require.NoError(t, err)
		answers[i] = counted.Answers
	}
	if answers[0]+answers[1] != requests || 10*min(answers[0], answers[1]) <= requests { // 40 hosts fall to the slots of two members by chance
		t.Errorf("%v answers in the ledgers, of %d: each member should have those of its hosts", answers, requests)
	}
	require.NoError(t, os.RemoveAll(inDir(f.dirs[1], crawldir.LedgerName)))
	if n, err := (&auditing{}).notices(f.dirs); err != nil || len(n.Missing) > 0 {
		t.Errorf("a member whose ledger has no mark is given, not missing: %v, %v", n.Missing, err)
	}
}

// A full disk of the server costs no page: each member reports it, and continues later. Members that are stopped while the server is
// away end, at once with the second signal, and report that nothing is lost.
func TestPeers_FleetServerFails(t *testing.T) {
	t.Parallel()
	needsSignals(t)
	const pages = 12
	server := frontiertest.Start(t)
	f := newFleet(t, server, 2, pages)
	f.until(t, 100)
	for i, p := range f.members { // without hosts it has nothing to commit
		p.until(t, "it has hosts", func() bool {
			requests, err := ledger.Asked(inDir(f.dirs[i], crawldir.LedgerName), time.Time{})
			return err == nil && requests.Answers > 0
		})
	}
	f.incident(t, server)
	server.SQL(t, `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'No space left on device' USING ERRCODE='53100'; END $$;
		CREATE TRIGGER full_disk BEFORE UPDATE ON curtsy_t1.host EXECUTE FUNCTION full_disk()`)
	full, more := time.Now(), 0
	for _, p := range f.members {
		p.until(t, "it says so", func() bool {
			return strings.Contains(p.errs.String(), "is full (No space left on device): free space there")
		})
	}
	for _, r := range f.web.Referee().Requests() {
		if r.Start.After(full) && r.Target != "/robots.txt" {
			more++
		}
	}
	assert.LessOrEqual(t, more, fleetHosts, "requests while nothing can be committed: more than one to a host")
	server.SQL(t, "DROP FUNCTION full_disk CASCADE")
	f.until(t, 100)
	f.incident(t, server)
	server.Stop()
	for i, p := range f.members {
		for _, answer := range []string{"finishing requests", "aborting"}[:i+1] {
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
			p.until(t, answer, func() bool { return strings.Contains(p.errs.String(), answer) })
		}
	}
	for i, p := range f.members {
		r := p.end()
		r.want(t, cli.ExitFailed, "no reply from the server at 127.0.0.1:", "(connection refused)", "curtsy resume "+f.dirs[i])
		if n := strings.Count(r.err, "committed"); n != 1 {
			t.Errorf("it reports that %d times:\n%s", n, r.err)
		}
	}
	server.Restart(t)
	for i := range f.members {
		f.members[i] = launched(t, curtsy(t, "resume", f.dirs[i]))
	}
	f.complete(t, pages)
}

func TestPeers_FleetBadInput(t *testing.T) {
	t.Parallel()
	server := frontiertest.Start(t)
	fleet, newer := server.Locator(), server.Locator()
	ended(t, curtsy(t, "crawl", "--frontier", newer, "--one-machine", "--quiet", "--max-time", "1ns", "--dir", filepath.Join(t.TempDir(), "d"), "http://127.0.0.1:1/"))
	server.SQL(t, `UPDATE curtsy_t2.crawl SET format=99; CREATE ROLE poor LOGIN; CREATE ROLE locked LOGIN PASSWORD 'x';
		CREATE ROLE reader LOGIN SUPERUSER; ALTER ROLE reader SET default_transaction_read_only=on`)
	at := func(s *frontiertest.Server) string {
		return fmt.Sprintf("127.0.0.1:%d/postgres?sslmode=disable&crawl=", s.Port)
	}
	scripts(t, "fleet", "fleet", fleet, "newer", newer, "at", at(server), "standby", at(server.Standby(t)))
}
