package crawler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/storage"
)

// fullDisk is an archive that takes no record of a host.
type fullDisk struct {
	storage.Recorder
	of string
}

func (a fullDisk) Record(ctx context.Context, r storage.Record) (storage.Receipt, error) {
	if strings.HasPrefix(r.URL, a.of) {
		return storage.Receipt{}, errors.New("the disk is full")
	}
	return a.Recorder.Record(ctx, r)
}

// A failure elsewhere ends the exchanges of a wide turn: each has its line, since its host was asked.
func TestRule18_AFailureElsewhereLeavesALineOfEachExchangeOfAWideTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("localhost", 3)
		site.Pages["/"] = crawltest.Page{Delay: time.Minute}
		site.Pages["/x.html"] = crawltest.Page{Delay: time.Minute}
		w := newWorld(t, []string{"http://localhost/", "http://localhost/x.html", "http://a.test/"}, site, crawltest.Tree("a.test", 3))
		w.cfg.Delay, w.cfg.PerHost = -1, 8
		w.cfg.Recorder = fullDisk{w.archive, "http://a.test/"}
		w.web.Change("a.test", func(s *crawltest.Site) { s.Latency = time.Second })
		c := w.crawl()
		if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "disk is full") {
			t.Fatal(err)
		}
		w.wantOutcomes("http://localhost/", "deferred: aborted")
		w.wantOutcomes("http://localhost/x.html", "deferred: aborted")
	})
}

// slowBlobs is a frontier that takes its time for the first body.
type slowBlobs struct {
	frontier.Frontier
	first *time.Duration
}

func (f slowBlobs) Blob(ctx context.Context, sum [32]byte) ([]byte, error) {
	body, err := f.Frontier.Blob(ctx, sum)
	time.Sleep(*f.first)
	*f.first = 0
	return body, err
}

// A wide turn whose time is over before its first exchange makes none, and no attempt of anything.
func TestRule18_AWideTurnThatBeginsTooLateMakesNoExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("localhost", 10)
		site.Robots = crawltest.Robots{Body: "User-agent: *\nAllow: /\n"}
		site.Latency = 100 * time.Millisecond
		w := newWorld(t, []string{"http://localhost/"}, site)
		w.cfg.Delay, w.cfg.PerHost = -1, 8
		w.cfg.MaxTime = 250 * time.Millisecond
		w.run()
		w.reopen()
		w.cfg.MaxTime = 0
		takes := 30 * time.Minute
		w.cfg.Frontier = slowBlobs{w.front, &takes}
		w.run()
		for _, l := range w.ledger.all {
			if l.Reason == reasonLease {
				t.Errorf("%+v", l)
			}
		}
		w.judged(crawltest.Rules{Width: 8})
	})
}

// A defect that shows while a page is read beside others does not take the page from under its reader: the race detector
// would say so.
func TestAPanicInAWideTurnWaitsForTheReaderOfItsPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {Redirect: "http://localhost/"}}}
		w := newWorld(t, []string{"http://a.test/"}, from, crawltest.Tree("localhost", 3))
		w.cfg.Delay, w.cfg.PerHost = -1, 8
		say := w.cfg.Log
		w.cfg.Log = func(format string, args ...any) {
			if strings.HasPrefix(format, "seed %s redirects") {
				panic("a defect")
			}
			say(format, args...)
		}
		w.run()
		w.wantOutcomes("http://localhost/", "deferred: panic", "deferred: panic", "failed: panic")
	})
}
