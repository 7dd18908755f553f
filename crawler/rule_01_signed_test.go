package crawler

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/fetch/webbotauth"
)

// signing returns a signer by the newest draft, and the key directory that its key is published in.
func signing(t *testing.T) (*webbotauth.Signer, *crawltest.Directory) {
	t.Helper()
	return signingBy(t, webbotauth.DefaultDraft, webbotauth.DefaultLife)
}

func signingBy(t *testing.T, d webbotauth.Draft, life time.Duration) (*webbotauth.Signer, *crawltest.Directory) {
	t.Helper()
	key, err := webbotauth.NewKey([]byte(strings.Repeat("s", 32)))
	if err != nil {
		t.Fatal(err)
	}
	agent, err := webbotauth.ParseAgent("https://crawl.library.org")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := webbotauth.New(key, agent, d, life)
	if err != nil {
		t.Fatal(err)
	}
	published, err := webbotauth.Publish(key, agent, d, time.Now(), webbotauth.DefaultDirectoryLife)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := crawltest.ParseDirectory(published.Body)
	if err != nil {
		t.Fatal(err)
	}
	return signer, keys
}

// Every request is signed, those for robots.txt, sitemaps, redirects and retries too, to hosts with ports as well; none
// lives longer than it is told to, though answers are slow and hosts ask for long pauses. A reader with no code of ours
// verifies each, as of the instant at which it came.
func TestRule01_EveryRequestIsSigned(t *testing.T) {
	for _, draft := range webbotauth.Drafts() {
		bubble(t, draft, func(t *testing.T) {
			web := crawltest.New(
				&crawltest.Site{
					Name: "bakery.test", Robots: crawltest.Robots{Body: "User-agent: *\nCrawl-delay: 40\n"}, Latency: 15 * time.Second,
					Pages: map[string]crawltest.Page{
						"/":      {Links: []string{"/a", "/moved", "/late", "http://bakery.test:8080/"}},
						"/a":     {},
						"/late":  {FailFirst: 1},
						"/moved": {Redirect: "http://bakery.test:8080/there"},
					},
				},
				&crawltest.Site{Name: "bakery.test:8080", Pages: map[string]crawltest.Page{"/": {}, "/there": {}}},
			)
			w := newWorldOf(t, []string{"http://bakery.test/", "http://bakery.test:8080/"}, web)
			signer, keys := signingBy(t, webbotauth.Draft(draft), webbotauth.LeastLife)
			w.fetchBy(func(cfg *fetch.Config) { cfg.Signer = signer })
			w.run()
			requests := web.Referee().Requests()
			row := web.Referee().Judge(crawltest.Rules{Keys: keys, Partial: true}).Row(crawltest.Signatures)
			if row.Verdict != crawltest.Kept || row.Checked != len(requests) || len(requests) < 8 {
				t.Errorf("%s: %s, %d of %d requests", row.Verdict, row.Evidence, row.Checked, len(requests))
			}
			if row := web.Referee().Judge(crawltest.Rules{Partial: true}).Row(crawltest.Signatures); row.Verdict != crawltest.Unshown ||
				!strings.Contains(row.Evidence, "no key directory was given") {
				t.Errorf("without a directory: %s: %s", row.Verdict, row.Evidence)
			}
		})
	}
}

// Without a signer no field of a signature is sent.
func TestRule01_NothingIsSignedUnlessAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := crawltest.New(&crawltest.Site{Name: "bakery.test"})
		newWorldOf(t, []string{"http://bakery.test/"}, web).run()
		requests := web.Referee().Requests()
		for _, r := range requests {
			for name := range r.Header {
				if strings.HasPrefix(name, "Signature") {
					t.Errorf("%s has a field %s", r.Target, name)
				}
			}
		}
		if len(requests) != 2 {
			t.Errorf("%d requests", len(requests))
		}
	})
}
