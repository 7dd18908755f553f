package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/frontier/frontiertest"
)

// Figures of a fleet: against one process with a frontier of its own on the same processors, and how much of what delays
// permit is achieved.
func TestFleet_Figures(t *testing.T) {
	if !full() {
		t.Skip("figures are measured by .ci/long fleet")
	}
	crawl := func(server *frontiertest.Server, members, hosts, pages int, robots string) (rate float64) {
		sites := make([]*crawltest.Site, hosts)
		for i := range sites {
			sites[i] = crawltest.Tree("host"+itoa(i)+".test", pages)
			sites[i].Robots.Body = "User-agent: *\n" + robots
		}
		f := fleetOf(t, server, members, sites, hosts)
		var last time.Time
		for _, p := range f.members {
			p.end().want(t, cli.ExitDone)
		}
		all := f.web.Referee().Requests()
		for _, r := range all {
			if r.End.After(last) {
				last = r.End
			}
		}
		return float64(hosts*pages) / last.Sub(all[0].Start).Seconds()
	}
	server := frontiertest.Start(t)
	one, four := crawl(nil, 1, 40, 150, ""), crawl(server, 4, 40, 150, "")
	t.Logf("40 hosts x 150 pages without a delay: one process %.0f pages/s, four %.0f: %.2f of it; server CPU %v per page",
		one, four, four/one, server.CPU()/(40*150))
	one, four = crawl(nil, 1, 400, 20, "Crawl-delay: 1\n"), crawl(frontiertest.Start(t), 4, 400, 20, "Crawl-delay: 1\n")
	t.Logf("400 hosts x 20 pages, delay 1 s: one process %.3f of what is permitted, four %.3f", one/400, four/400)
}

// cable is a member's way to the server, which can be cut.
type cable struct {
	port  int
	mu    sync.Mutex
	armed bool             // cut it at the next turn that comes while a page is under way
	last  time.Time        // when a turn came
	cut   chan struct{}    // closed when it is cut
	whole [3]chan struct{} // closed while claims, results and heartbeats pass
}

// newCable begins a cable.
func newCable(t *testing.T, server *frontiertest.Server) *cable {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{port: l.Addr().(*net.TCPAddr).Port}
	for i := range c.whole {
		c.whole[i] = make(chan struct{})
		close(c.whole[i])
	}
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	t.Cleanup(func() { l.Close() })
	all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := new(net.Dialer).DialContext(t.Context(), "tcp", fmt.Sprint("127.0.0.1:", server.Port))
			if err != nil {
				near.Close()
				continue
			}
			var kind atomic.Int32
			all.Go(func() { c.carry(far, near, &kind) })
			all.Go(func() { c.carry(near, far, &kind) })
		}
	})
	return c
}

// carry brings one side what the other says.
func (c *cable) carry(to, from net.Conn, kind *atomic.Int32) {
	defer to.Close()
	defer from.Close()
	for b := make([]byte, 1<<20); ; {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		for i, text := range []string{"FOR SHARE", "SET beat=beat+1"} {
			if bytes.Contains(b[:n], []byte(text)) {
				kind.Store(int32(i) + 1)
			}
		}
		c.mu.Lock()
		if now := time.Now(); bytes.Contains(b[:n], []byte("http://127.0.0.1:")) { // a turn
			if c.armed && now.Sub(c.last) < 30*time.Millisecond {
				c.armed, c.whole = false, [3]chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
				close(c.cut)
			}
			c.last = now
		}
		whole := c.whole[kind.Load()]
		c.mu.Unlock()
		<-whole
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// cutAtTurn cuts the cable of a member when a turn comes while a page is under way.
func (c *cable) cutAtTurn(t *testing.T, p *process) {
	t.Helper()
	cut := make(chan struct{})
	c.mu.Lock()
	c.armed, c.cut = true, cut
	c.mu.Unlock()
	p.until(t, "a turn comes while a page is under way", func() bool {
		select {
		case <-cut:
			return true
		default:
			return false
		}
	})
}

// reconnect lets everything pass again: the turn at once, the result after half a second, and heartbeats last, because a
// heartbeat tells the member that it has expired.
func (c *cable) reconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, whole := range c.whole {
		time.AfterFunc(time.Duration(i)*500*time.Millisecond, func() { close(whole) })
	}
}

// Members that are killed or stopped for longer than the time after which others expire them, connections that break, and a
// server that is killed cost no page and no delay. The audit of all members finds nothing, that of all but one names it, and one
// exchange that is moved is found.
//
// Three mutants fail: MayAsk always nil, no member row in F0, no gate in B3.
func TestFleet_Killed(t *testing.T) {
	t.Parallel()
	const ttl, members = 3 * time.Second, 4
	kills, pages := 1, 30
	if full() {
		kills, pages = 6, 200
	}
	server := frontiertest.Start(t)
	f := newFleet(t, server, members-1, pages, fleetTTL+"="+ttl.String())
	wire, last := newCable(t, server), members-1
	f.join(t, fmt.Sprintf("postgres://curtsy@127.0.0.1:%d/postgres?crawl=t1&sslmode=disable", wire.port))
	var incidents []time.Time
	for i := range 2 * kills {
		f.until(t, 60)
		if full() {
			time.Sleep(3700 * time.Millisecond)
		}
		n := i % last
		f.resumeLost(t, n, false)
		f.resumeLost(t, last, false)
		incidents = append(incidents, time.Now())
		if p := f.members[n]; i%2 == 0 {
			p.kill()
			f.resume(t, n)
		} else {
			_ = p.cmd.Process.Signal(syscall.SIGSTOP) // it may be over
			time.Sleep(ttl * 3 / 2)
			_ = p.cmd.Process.Signal(syscall.SIGCONT)
		}
		if i%4 == 0 {
			wire.cutAtTurn(t, f.members[last])
			incidents = append(incidents, time.Now())
			f.members[0].until(t, "others have its hosts", func() bool {
				return strings.TrimSpace(server.SQL(t, `SELECT state=2 AND NOT EXISTS(SELECT FROM curtsy_t1.slot s JOIN curtsy_t1.member m ON m.id=s.owner WHERE m.state=2)
					FROM curtsy_t1.member WHERE name LIKE '%w4' ORDER BY id DESC LIMIT 1`)) == "t"
			})
			f.until(t, 20)
			wire.reconnect()
		}
		if i%4 == 1 {
			f.until(t, 20)
			incidents = append(incidents, time.Now())
			server.SQL(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name='curtsy'")
			f.until(t, 20)
			incidents = append(incidents, time.Now())
			server.Stop()
			server.Restart(t)
		}
	}
	f.complete(t, pages, incidents...)
	if f.stale == 0 && full() { // one cut may come between two results
		t.Error("no result was stale")
	}
	t.Logf("%d incidents, %d stale results", len(incidents), f.stale)
	r := ended(t, curtsy(t, append([]string{"audit"}, f.dirs[:members-1]...)...))
	if lost := fmt.Sprintf("that of w%d (", members); r.code != cli.ExitFound || strings.Count(r.out, "member-missing") == 0 || !r.says(lost) {
		t.Errorf("without one: exit code %d: %s%s", r.code, r.out, r.err)
	}

	segment := inDir(f.dirs[1], filepath.Join(crawldir.LedgerName, "000000.jsonl"))
	text := fileOf(t, segment)
	i := bytes.LastIndex(text, []byte(`"began":"`)) + len(`"began":"`)
	began, rest, _ := strings.Cut(string(text[i:]), `"`)
	at, err := time.Parse(time.RFC3339, began)
	if err != nil {
		t.Fatal(err)
	}
	moved := string(text[:i]) + at.Add(-200*time.Millisecond).Format("2006-01-02T15:04:05.000000Z") + `"` + rest
	if err := os.WriteFile(segment, []byte(moved), 0o666); err != nil {
		t.Fatal(err)
	}
	if r := ended(t, curtsy(t, append([]string{"audit"}, f.dirs...)...)); r.code != cli.ExitFound {
		t.Errorf("one exchange is 200 ms earlier: exit code %d: %s%s", r.code, r.out, r.err)
	}
}
