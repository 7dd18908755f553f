package crawler

import (
	"reflect"
	"testing"
	"testing/synctest"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/explain"
	"curtsy/frontier"
)

// A crawl and one that is stopped say the same of every URL.
func TestARunningAndAStoppedCrawlExplainAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 6)
		site.Robots = crawltest.Robots{Body: "User-agent: *\nDisallow: /p3\nCrawl-delay: 2\n"}
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.cfg.MaxPages = 3
		w.run()
		c, err := New(t.Context(), w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range []string{"http://a.test/", "http://a.test/p1.html", "http://a.test/p3.html", "http://a.test/new", "http://b.test/"} {
			q := explain.Question{URL: parse(t, raw)}
			live, err := c.Explain(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			stopped, err := ExplainStopped(t.Context(), w.cfg, q)
			if err != nil {
				t.Fatal(err)
			}
			if live.Crawl != "running" || stopped.Crawl == "running" {
				t.Errorf("%s: %s and %s", raw, live.Crawl, stopped.Crawl)
			}
			stopped.Crawl = live.Crawl
			stopped.Conclude()
			if !reflect.DeepEqual(live, stopped) {
				t.Errorf("%s: running\n%+v\nstopped\n%+v", raw, live, stopped)
			}
		}
	})
}

func TestTheControlInterfaceExplains(t *testing.T) {
	dir, _ := served(t)
	r, err := Connect(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	u := parse(t, "http://a.test/x")
	e, err := r.Explain(t.Context(), explain.Question{URL: u, Written: "http://A.test/x"})
	if err != nil || e.Answer.Word != explain.AnswerUnknown || e.URL.Written != "http://A.test/x" || !e.State.Assumed || e.Crawl != "running" {
		t.Errorf("%+v, %v", e, err)
	}
	found := frontier.Candidate{URL: u, Kind: frontier.KindEmbed, Via: "http://a.test/", Depth: 4, Embeds: 1, Seed: "http://a.test/", Tag: "t"}
	e, err = r.Explain(t.Context(), explain.Question{URL: u, Found: found})
	if s := e.State; err != nil || s.Assumed || s.Kind != "embed" || s.Via != found.Via || s.Depth != 4 || s.Embeds != 1 || s.Seed != found.Seed || s.Tag != "t" {
		t.Errorf("%+v, %v", e.State, err)
	}
	for _, path := range []string{"/explain", "/explain?url=x", "/explain?url=http://a.test/&kind=kin", "/explain?url=http://a.test/&kind=link&depth=-1"} {
		if err := r.call(t.Context(), "GET", path, nil, &e); !BadOrder(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
