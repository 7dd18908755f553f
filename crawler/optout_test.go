package crawler

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/frontier"
	"curtsy/storage"
	"curtsy/storage/optout"
)

// listedWorld is a world with an opt-out list, which notes lookups and dials.
type listedWorld struct {
	*world
	path string

	mu     sync.Mutex
	names  []string
	dialed []string
}

// newListed gives a crawl an opt-out list.
func newListed(w *world, list string) *listedWorld {
	w.t.Helper()
	l := &listedWorld{world: w, path: filepath.Join(w.t.TempDir(), "optout.txt")}
	if list != "" {
		l.write(list)
	}
	var err error
	if w.cfg.OptOut, err = optout.Open([]optout.File{{Path: l.path, MayMiss: true}}, w.cfg.Log); err != nil {
		w.t.Fatal(err)
	}
	w.fetchBy(func(c *fetch.Config) {
		resolve, dial := c.Resolve, c.Dial
		c.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			l.mu.Lock()
			l.names = append(l.names, host)
			l.mu.Unlock()
			return resolve(ctx, host)
		}
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			l.mu.Lock()
			l.dialed = append(l.dialed, address)
			l.mu.Unlock()
			return dial(ctx, network, address)
		}
		c.Refuse = func(a netip.Addr) error {
			if hit := w.cfg.OptOut.Addr(a); hit != nil {
				return hit
			}
			return nil
		}
	})
	return l
}

func (l *listedWorld) write(list string) {
	l.t.Helper()
	if err := os.WriteFile(l.path, []byte(list), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (w *world) addr(name string) netip.Addr {
	w.t.Helper()
	all, err := w.web.Resolve(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return all[0]
}

// dropped returns rule and list of the line that records the opt-out of a URL.
func (w *world) dropped(url string) (line, list string) {
	w.t.Helper()
	for _, l := range w.ledger.all {
		if l.URL == url && l.Decision == storage.DecisionOptOut {
			if l.Outcome != "dropped" || l.Reason != "opt-out" || l.Attempt != 0 || l.Record != "" || l.RobotsLine == 0 {
				w.t.Errorf("%+v", l)
			}
			return l.RobotsRule, l.List
		}
	}
	w.t.Errorf("no line has the opt-out of %s: %q", url, w.ledger.of(url))
	return "", ""
}

// A host on the list gets no lookup and no request, not even for robots.txt.
func TestRule16_AHostThatOptedOutIsAskedForNothing(t *testing.T) {
	for _, entry := range []string{"a.test", ".test\nb.test."} {
		bubble(t, entry, func(t *testing.T) {
			a, b := crawltest.Tree("a.test", 30), crawltest.Tree("b.example", 5)
			seeds := []string{"http://a.test/", "http://a.test/p1.html", "http://b.example/"}
			l := newListed(newWorld(t, seeds, a, b), "# asked by mail\n"+strings.Replace(entry, "\nb", "\tby mail\nb", 1)+"\n")
			s := l.run()
			l.wantAsked("a.test")
			for _, name := range l.names {
				assert.NotEqual(t, "a.test", name, "the name was looked up")
			}
			assert.Equal(t, 6, len(l.asked("b.example")), "requests of the other host")
			rule, list := l.dropped("http://a.test/")
			if !strings.HasPrefix(rule, strings.Split(entry, "\n")[0]) || len(s.Manners.OptOut) != 1 || list != s.Manners.OptOut[0].SHA256 {
				t.Errorf("rule %q of list %s; in force was %+v", rule, list, s.Manners.OptOut)
			}
			if s.Status.Dropped != 2 || s.Status.Reasons["dropped"]["opt-out"] != 2 || s.Manners.OptedOut != 2 || s.EndedBy != EndedDrained || s.SeedsUnanswered != 2 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// The crawler checks the address it would dial against the listed networks.
func TestRule16_ANetworkThatOptedOutIsNotDialled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := crawltest.Tree("a.test", 40), crawltest.Tree("b.test", 3)
		w := newWorld(t, []string{"http://a.test/", "http://b.test/"}, a, b)
		for i := 1; i < 40; i++ {
			u := parse(t, "http://a.test/x"+strings.Repeat("y", i))
			w.add(frontier.Candidate{URL: u, Kind: frontier.KindLink, Seed: "http://a.test/"})
		}
		literal := parse(t, "http://"+w.addr("a.test").String()+"/")
		w.add(frontier.Candidate{URL: literal, Kind: frontier.KindLink, Seed: "http://a.test/"})
		l := newListed(w, w.addr("a.test").String()+"/32\n")
		s := l.run()
		l.wantAsked("a.test")
		assert.Equal(t, 4, len(l.asked("b.test")), "requests of the other host")
		if s.Status.Reasons["dropped"]["opt-out"] != 41 || s.EndedBy != EndedDrained {
			t.Errorf("%+v", s.Status)
		}
		l.dropped("http://a.test/")
		l.dropped(literal.String())
		for _, address := range l.dialed {
			assert.Falsef(t, strings.HasPrefix(address, w.addr("a.test").String()+":"), "%s was dialled", address)
		}
	})
}

// A running crawl obeys a changed list, whatever is queued and connected.
func TestRule16_AListIsObeyedByARunningCrawl(t *testing.T) {
	for _, how := range []string{"name", "address"} {
		bubble(t, how, func(t *testing.T) {
			a, b := crawltest.Tree("a.test", 60), crawltest.Tree("b.test", 60)
			w := newWorld(t, []string{"http://a.test/", "http://b.test/"}, a, b)
			l := newListed(w, "")
			begin := time.Now()
			entry := "a.test"
			if how == "address" {
				entry = w.addr("a.test").String()
			}
			const after = 10*time.Second + 300*time.Millisecond
			time.AfterFunc(after, func() { l.write(entry) })
			time.AfterFunc(2*after, func() { l.write("no good") })
			time.AfterFunc(3*after, func() { os.Remove(l.path) })
			s := l.run()
			requests := w.requests("a.test")
			if at := requests[len(requests)-1].Start.Sub(begin); at > after+optout.Look || at < after-Floor {
				t.Errorf("the last request came after %v; the list changed after %v", at, after)
			}
			assert.Equal(t, 61, len(l.asked("b.test")), "requests of the other host")
			asked := int64(len(requests)) - 1
			if got := s.Status.Reasons["dropped"]["opt-out"]; got == 0 || got+asked+60 != s.Status.Discovered {
				t.Errorf("%d dropped, %d requested: %+v", got, asked, s.Status)
			}
			if s.EndedBy != EndedDrained || len(s.Manners.OptOut) != 1 {
				t.Errorf("%+v", s)
			}
			for _, want := range []string{"has changed", "no good", "has vanished", "in force"} {
				assert.NotZerof(t, w.logged(want), "no message %q", want)
			}
			w.judged(crawltest.Rules{Pace: Floor, Partial: true})
		})
	}
}

func TestStories_OptOuts(t *testing.T) {
	optOut := func(list string, dry bool) func(*world) {
		return func(w *world) { newListed(w, list); w.cfg.DryRun = dry }
	}
	playAll(t, []scenario{
		{
			name: "rule 16: a path",
			sites: []*crawltest.Site{{Name: "a.test", Pages: pages{
				"/":          {Links: []string{"/private/1", "/%70rivate/2", "/public"}, Embeds: []string{"/private/x.png"}},
				"/private/1": {}, "/private/2": {}, "/private/x.png": {}, "/public": {},
			}}},
			set:   optOut("http://a.test/private/", false),
			asked: map[string]string{"a.test": "/robots.txt / /public"}, figures: map[string]int64{"reasons/dropped/opt-out": 3},
		},
		{
			name: "rule 16: the target of a redirect", sites: []*crawltest.Site{{Name: "a.test", Pages: pages{"/": {Redirect: "http://b.test/"}}}, crawltest.Tree("b.test", 2)},
			set: optOut(".b.test", false), asked: map[string]string{"a.test": "/robots.txt /", "b.test": ""}, incomplete: true,
			check: func(_ *testing.T, w *world, _ Summary) { w.dropped("http://b.test/") },
		},
		{ // without a policy, nothing else is requested
			name: "rule 16: the target of a redirect of robots.txt", sites: []*crawltest.Site{{Name: "a.test", Robots: crawltest.Robots{Redirect: "http://b.test/robots.txt"}, Pages: pages{"/": {}}}, crawltest.Tree("b.test", 2)},
			set: optOut("b.test", false), asked: map[string]string{"a.test": "/robots.txt", "b.test": ""}, ended: EndedWaiting, incomplete: true,
			check: func(t *testing.T, w *world, s Summary) {
				restsWith("opt-out")(t, w, s)
				if l := w.line("http://b.test/robots.txt"); l.Reason != "opt-out" || l.RobotsLine != 1 || l.List == "" || l.Record != "" {
					t.Errorf("the ledger has no reason why the redirect was not followed: %+v", l)
				}
			},
		},
		{
			name: "rule 16: no robots.txt only for opted-out URLs", seeds: "http://a.test/p1.html http://a.test/p2.html", sites: []*crawltest.Site{crawltest.Tree("a.test", 3)},
			set: optOut("a.test/p", false), asked: map[string]string{"a.test": ""}, figures: map[string]int64{"dropped": 2}, incomplete: true,
		},
		{
			name: "rule 16: in a dry run", seeds: "http://a.test/ http://b.test/", sites: []*crawltest.Site{crawltest.Tree("a.test", 1), crawltest.Tree("b.test", 1)},
			set: optOut("a.test", true), asked: map[string]string{"a.test": "", "b.test": "/robots.txt"}, ended: EndedWaiting, incomplete: true,
		},
	})
}
