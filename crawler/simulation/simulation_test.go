package simulation

import (
	"flag"
	"os"
	"testing"
	"time"

	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

// Another size than that of the tests: -hosts 100000 -pages 1000000 -lasts 2h24m.
var (
	wantHosts = flag.Int("hosts", 0, "hosts of the simulation; zero means the size of the tests")
	wantPages = flag.Int("pages", 1_000_000, "with -hosts: their pages in all")
	wantLasts = flag.Duration("lasts", 24*time.Hour, "with -hosts: how long the crawl is, in virtual time")
)

// size is how large a simulation is.
type size struct {
	hosts, pages int
	lasts        time.Duration
	workers      int
}

// sizeOf is the size for this run of the tests.
func sizeOf() size {
	switch {
	case *wantHosts > 0:
		return size{*wantHosts, *wantPages, *wantLasts, 2000}
	case os.Getenv("CURTSY_LONG") != "" && !racing:
		return size{1_000_000, 10_000_000, 24 * time.Hour, 2000}
	case racing:
		return size{250, 4_000, time.Hour, 100}
	}
	return size{500, 8_000, time.Hour, 200}
}

// A day of a whole crawl: hosts of all sizes by Zipf's law, latencies, faults, hosts that ask for a longer pause.
func TestRule09_NoPaceIsViolatedAndNoHostStarvesInALongCrawl(t *testing.T) {
	s := sizeOf()
	p := &play{w: zipf(s.hosts, s.pages, s.lasts), workers: s.workers, lasts: s.lasts}
	p.run(t)
	t.Log(p.table())
	p.judge(t)
	y := p.referee.tally
	if y.HostsMet < int64(s.hosts)*95/100 || y.Fetched < int64(s.pages)*80/100 {
		t.Errorf("%d of %d hosts were asked, %d pages of %d fetched", y.HostsMet, s.hosts, y.Fetched, s.pages)
	}
	if y.MostAtOnce < s.workers && y.LongestWait > time.Second {
		t.Errorf("a host that was due waited for %v, though at most %d of %d workers had something to do", y.LongestWait, y.MostAtOnce, s.workers)
	}
	if y.Retries == 0 || y.RetryAfter == 0 || y.Faults == 0 {
		t.Errorf("there were no faults to judge by: %+v", y)
	}
	if most := uint64(64<<20 + 600*s.hosts + 32*s.pages); p.heap > most {
		t.Errorf("%d octets of live heap for %d hosts and %d pages, the world itself included; at most %d", p.heap, s.hosts, s.pages, most)
	}
}
