package forgery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/crawler"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	recorder "curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/warc"
)

var operatorKey, otherKey = keyOf("the operator's"), keyOf("another's")

func keyOf(name string) *checkpoint.Signer {
	s, err := checkpoint.NewSigner(seedOf(name))
	if err != nil {
		panic(err)
	}
	return s
}

func seedOf(name string) []byte {
	seed := sha256.Sum256([]byte(name))
	return seed[:]
}

const (
	settingsName = "crawl.toml"
	settings     = "floor = \"1s\"\nworkers = 64\n"
)

var settingsSHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte(settings)))

const contact = "https://crawl.test/bot"

var identity = fetch.Identity{Version: "1", Contact: contact}

// sites are a small web with something of everything: rules, a Crawl-delay, redirects (also of robots.txt), answers
// that require a rest, revisits, bodies that are not kept, and answers that never come.
func sites() []*crawltest.Site {
	bakery := &crawltest.Site{Name: "bakery.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /kitchen/\nAllow: /kitchen/tour\n"},
		Pages: map[string]crawltest.Page{
			"/": {Links: []string{"/bread", "/cakes", "/rolls", "/kitchen/oven", "/kitchen/tour", "/moved", "/secret", "http://far.test/", "/plums", "/gone"},
				Embeds: []string{"/style.css"}},
			"/bread": {Body: loaf}, "/rolls": {Body: loaf}, "/cakes": {Gzip: true}, "/plums": {}, "/kitchen/tour": {}, "/kitchen/oven": {},
			"/style.css": {Body: "p { color: #333 }\n"}, "/moved": {Status: 301, Redirect: "/new"}, "/new": {},
			"/secret": {Header: map[string]string{"X-Robots-Tag": "noarchive"}},
		}}
	station := &crawltest.Site{Name: "station.test", Robots: crawltest.Robots{Body: "User-agent: *\nCrawl-delay: 3\nDisallow: /signal-box/\n"},
		Pages: map[string]crawltest.Page{
			"/": {Links: []string{"/busy", "/slow", "/timetable", "/signal-box/", "/platforms"}}, "/busy": {FailFirst: 1, FailStatus: 429, RetryAfter: "20"},
			"/slow": {Delay: 2 * time.Second}, "/timetable": {}, "/platforms": {}, "/signal-box/": {},
		}}
	museum := &crawltest.Site{Name: "museum.test", Robots: crawltest.Robots{Status: 301, Redirect: "http://library.test/for-others.txt"},
		Pages: map[string]crawltest.Page{"/": {Links: []string{"/halls", "/depot"}}, "/halls": {}, "/depot": {}}}
	library := &crawltest.Site{Name: "library.test", Pages: map[string]crawltest.Page{
		"/": {Links: []string{"/shelves", "/broken", "/hours"}}, "/shelves": {}, "/hours": {Header: map[string]string{"RateLimit": `"p";r=20;t=60`}}, "/broken": {Status: 500},
		"/for-others.txt": {Body: "User-agent: *\nDisallow: /depot\n", Type: "text/plain"},
	}}
	theatre := &crawltest.Site{Name: "theatre.test", Robots: crawltest.Robots{Status: 503, Body: "closed\n"}, Pages: map[string]crawltest.Page{"/": {}}}
	harbour := &crawltest.Site{Name: "harbour.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			rw.Header().Set("Content-Type", "text/html")
			rw.Write([]byte(`<a href="/long">long</a> <a href="/pier">pier</a>`))
		case "/long":
			rw.Header().Set("Content-Type", "text/html")
			rw.Write([]byte(strings.Repeat("water ", 40_000)))
		case "/pier":
			rw.Header().Set("Content-Type", "text/html")
			for range 3 { // in chunks
				rw.Write([]byte("<p>planks"))
				rw.(http.Flusher).Flush()
			}
		default:
			http.NotFound(rw, r)
		}
	})}
	mist := &crawltest.Site{Name: "mist.test", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			panic(http.ErrAbortHandler)
		}
	})}
	return []*crawltest.Site{bakery, station, museum, library, theatre, harbour, mist}
}

const loaf = "<!DOCTYPE html><title>Bread</title><p>Rye, wheat and spelt, every morning but Monday's."

func crawl(t *testing.T) (dir string) {
	dir = t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		web := crawltest.New(sites()...)
		web.StartPipe()
		defer web.Close()
		require.NoError(t, os.WriteFile(filepath.Join(dir, settingsName), []byte(settings), 0o644))
		var book *ledger.Writer
		finished := func(folder string) func(string, int64, [32]byte) error {
			return func(name string, octets int64, sum [32]byte) error {
				return book.File(t.Context(), folder+name, octets, hex.EncodeToString(sum[:]))
			}
		}
		index, err := cdxj.Open(t.Context(), dir, cdxj.Options{Finished: finished("index/")})
		require.NoError(t, err)
		archive, err := warc.Open(warc.Options{Dir: filepath.Join(dir, "warc"), Name: "curtsy", Info: info(), Index: index, Originals: index,
			Finished: finished("warc/")})
		require.NoError(t, err)
		book, err = ledger.Open(ledger.Options{Dir: filepath.Join(dir, "ledger"), Signer: operatorKey, Software: "curtsy/1", Warcinfo: archive.InfoSHA256(),
			SettingsSHA256: settingsSHA256})
		require.NoError(t, err)
		front, err := engine.Open(filepath.Join(t.TempDir(), engine.FileName), frontier.Options{Barrier: recorder.Barrier(archive, book), Pace: crawler.Floor})
		require.NoError(t, err)
		seed(t, front, web.Seeds())
		f, err := fetch.New(fetch.Config{Identity: identity, Resolve: web.Resolve, Dial: web.Dial, AllowNet: []netip.Prefix{web.Net()}, SpoolDir: t.TempDir()})
		require.NoError(t, err)
		c, err := crawler.New(t.Context(), crawler.Config{
			Frontier: front, Fetcher: f, Recorder: archive, Ledger: book, Identity: identity, MaxBody: 100_000, MaxWait: 2 * time.Minute,
		})
		require.NoError(t, err)
		_, err = c.Run(t.Context())
		require.NoError(t, err)
		if report := web.Referee().Judge(crawltest.Rules{Token: "curtsy", Pace: crawler.Floor, Partial: true}); !report.OK() {
			t.Fatalf("the crawl was not polite: %+v", report)
		}
		for _, closes := range []func() error{f.Close, front.Close, archive.Close, index.Close, book.Close} {
			require.NoError(t, closes())
		}
	})
	return dir
}

// effort is how often a test tries: with CURTSY_LONG, as usual, or with -short.
func effort(long, usual, short int) int {
	switch {
	case os.Getenv("CURTSY_LONG") != "":
		return long
	case testing.Short():
		return short
	}
	return usual
}

func info() warc.Info {
	return warc.Info{
		Software: "curtsy/1", Operator: "The tests", Contact: contact, UserAgent: identity.UserAgent(), RobotsPolicy: "rfc9309",
		Fields: warc.Fields{{Name: "product-token", Value: "curtsy"}, {Name: "pace-floor-ms", Value: "1000"}, {Name: "ip-delay-ms", Value: "500"},
			{Name: "max-crawl-delay-ms", Value: "300000"}, {Name: "own-sites", Value: "none"},
			{Name: "exchanges-at-once", Value: "320"}, {Name: "config-sha256", Value: settingsSHA256}},
	}
}

func seed(t *testing.T, front frontier.Frontier, urls []string) {
	t.Helper()
	var cs []frontier.Candidate
	for _, s := range urls {
		u, err := canon.Parse(s)
		require.NoError(t, err)
		cs = append(cs, frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String()})
	}
	if _, err := front.Add(context.Background(), cs); err != nil {
		t.Fatal(err)
	}
}
