package crawler

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/storage"
)

// idOf is the id that the archive of a test gave its i-th record.
func idOf(i int) string { return fmt.Sprintf("record %d", i+1) }

// recordsOf returns the ids of a URL's records, in order, and the records.
func (w *world) recordsOf(url string) (ids []string, all []storage.Record) {
	for i, r := range w.archive.records {
		if r.URL == url {
			ids, all = append(ids, idOf(i)), append(all, r.Record)
		}
	}
	return ids, all
}

// A verdict names the line, the group, the runner-up and the exchange that said what the policy is.
func TestLine_TheVerdictNamesGroupRunnerUpAndRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{
			Name: "a.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /no\nAllow: /no/yes\nDisallow: /no/never\n"},
			Pages: map[string]crawltest.Page{"/": {Links: []string{"/no/yes.html", "/no/never"}}, "/no/yes.html": {}},
		})
		w.run()
		ids, _ := w.recordsOf("http://a.test/robots.txt")
		l := w.line("http://a.test/no/never")
		if l.RobotsLine != 4 || l.RobotsRule != "Disallow: /no/never" || l.RobotsGroup != "*" || l.RunnerUp == "" || l.RobotsRecord != ids[0] || l.Standard != "rfc9309" || len(l.RobotsSHA256) != 64 {
			t.Errorf("%+v", l)
		}
		if l = w.line("http://a.test/no/yes.html"); l.RobotsRecord != ids[0] || l.RobotsRule != "Allow: /no/yes" {
			t.Errorf("%+v", l)
		}
	})
}

// A 304 is archived as the answer that a certain earlier one still holds: not the last 304, but the one with the file. The
// lines after it name the 304. Both is known after a restart.
func TestRecord_NotModifiedNamesTheRobotsTxtThatHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		site := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path != "/robots.txt":
				n++
				rw.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(rw, `<p>%d <a href="/%d">next</a>`, n, n)
			case r.Header.Get("If-None-Match") != "":
				rw.WriteHeader(http.StatusNotModified)
			default:
				rw.Header().Set("ETag", `"1"`)
				fmt.Fprint(rw, "User-agent: *\nDisallow: /no\n")
			}
		})}
		w := newWorld(t, []string{"http://a.test/"}, site)
		for range 3 {
			w.cfg.MaxTime = 5 * time.Second
			w.run()
			time.Sleep(25 * time.Hour)
			w.reopen()
		}
		ids, all := w.recordsOf("http://a.test/robots.txt")
		if len(ids) != 3 {
			t.Fatalf("%d exchanges for robots.txt", len(ids))
		}
		want := storage.Original{URL: "http://a.test/robots.txt", Date: all[0].Time.UTC().Truncate(time.Microsecond), ID: ids[0]}
		for i, r := range all {
			switch {
			case r.Repeatable:
				t.Errorf("exchange %d may be archived as a repeat", i)
			case i == 0 && (r.NotModified != nil || !r.HasPayload):
				t.Errorf("the first: %+v", r)
			case i > 0 && (r.NotModified == nil || *r.NotModified != want || r.HasPayload || r.Line.Payload != ""):
				t.Errorf("exchange %d: %+v, want %+v", i, r.NotModified, want)
			}
		}
		last := ""
		for _, l := range w.ledger.all {
			if l.Decision == storage.DecisionRobots {
				last = l.Record
			} else if l.RobotsRecord != last {
				t.Errorf("%s names %q, the policy was last said in %q", l.URL, l.RobotsRecord, last)
			}
		}
		w.wantRecords()
	})
}

// Where a robots.txt redirects to another host, the lines of the host name the exchange there, and that says for whose
// robots.txt it was made.
func TestLine_RobotsRecordThroughARedirectToAnotherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("bakery.test", 3)
		site.Robots = crawltest.Robots{Redirect: "http://mill.test/bakery.txt"}
		mill := crawltest.Tree("mill.test", 2)
		mill.Pages["/bakery.txt"] = crawltest.Page{Type: "text/plain", Body: "User-agent: *\nDisallow: /p2\n"}
		w := newWorld(t, []string{"http://bakery.test/", "http://mill.test/"}, site, mill)
		w.run()
		ids, all := w.recordsOf("http://mill.test/bakery.txt")
		if len(ids) != 1 || all[0].Line.Via != "http://bakery.test/robots.txt" || all[0].Line.Decision != storage.DecisionRobots {
			t.Fatalf("%v, %+v", ids, all)
		}
		own, _ := w.recordsOf("http://mill.test/robots.txt")
		for _, l := range w.ledger.all {
			switch {
			case l.Decision == storage.DecisionRobots:
				if l.RobotsRecord != "" {
					t.Errorf("%+v", l)
				}
			case strings.HasPrefix(l.URL, "http://bakery.test/") && l.RobotsRecord != ids[0]:
				t.Errorf("%s names %q, want %q", l.URL, l.RobotsRecord, ids[0])
			case strings.HasPrefix(l.URL, "http://mill.test/") && l.RobotsRecord != own[0]:
				t.Errorf("%s names %q, want %q", l.URL, l.RobotsRecord, own[0])
			}
		}
		hop, redirecting := w.recordsOf("http://bakery.test/robots.txt")
		if len(hop) != 1 || len(redirecting[0].Outlinks) != 1 || redirecting[0].Outlinks[0].Kind != "redirect" {
			t.Errorf("%+v", redirecting)
		}
	})
}

// The outcome of a linked robots.txt has the time of its exchange, however long its record takes.
func TestLine_LinkedRobotsHasTheTimeOfItsExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const url = "http://a.test/robots.txt"
		w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {Links: []string{"/robots.txt"}}}})
		w.cfg.Recorder = newFaulty(w.archive, url, 2, func() { time.Sleep(5 * time.Second) })
		w.run()
		var exchange storage.Line
		for _, l := range w.ledger.all {
			switch {
			case l.URL != url:
			case l.Outcome == "":
				exchange = l
			case !l.Time.Equal(exchange.Began.Add(exchange.Took)):
				t.Errorf("%v %v after the exchange", l.Outcome, l.Time.Sub(exchange.Began.Add(exchange.Took)))
			default:
				return
			}
		}
		t.Error("no outcome")
	})
}
