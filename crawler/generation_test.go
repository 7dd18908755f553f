package crawler

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/record"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage"
)

// remembered is a Past of the records that an archive in memory had.
type remembered struct {
	t       *testing.T
	records []kept
	broken  map[string]bool // URLs whose body cannot be read
}

func (r remembered) Last(_ context.Context, u canon.URL) (*record.Earlier, error) {
	for i := len(r.records) - 1; i >= 0; i-- {
		k := r.records[i]
		if k.URL != u.String() || k.response == "" {
			continue
		}
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(k.response)), nil) //nolint:bodyclose // it is a text
		if err != nil {
			r.t.Error(err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		e := &record.Earlier{
			Record: fmt.Sprintf("record %d", i+1), Date: k.Time, Status: resp.StatusCode, Header: resp.Header,
			Payload: k.PayloadDigest, HasPayload: k.HasPayload,
			Original: storage.Original{URL: k.URL, Date: k.Time, ID: fmt.Sprintf("record %d", i+1)},
		}
		if k.NotModified != nil {
			before, err := remembered{r.t, r.records[:i], r.broken}.Last(context.Background(), u)
			if err != nil || before == nil {
				return nil, err
			}
			e.Status, e.Payload, e.HasPayload = before.Status, before.Payload, before.HasPayload
			e.Header, e.Original, e.Body = record.Freshened(before.Header, resp.Header), before.Original, before.Body
			return e, nil
		}
		if k.Truncated == "" && err == nil {
			e.Body = func() (*io.SectionReader, io.Closer, error) {
				if r.broken[k.URL] {
					return nil, nil, errors.New("the disk is bad there")
				}
				return io.NewSectionReader(strings.NewReader(string(body)), 0, int64(len(body))), io.NopCloser(nil), nil
			}
		}
		return e, nil
	}
	return nil, nil
}

// nextGeneration gives the crawl a new frontier, with the archive so far as its past.
func (w *world) nextGeneration() {
	w.t.Helper()
	w.file = filepath.Join(w.t.TempDir(), engine.FileName)
	w.open(frontier.Options{})
	for _, s := range w.seeds {
		w.add(seed(w.t, s, ""))
	}
	w.cfg.Past = remembered{w.t, slices.Clone(w.archive.records), map[string]bool{}}
	w.ledger.all = nil
}

// rule21Reply is the response of a site for a path.
type rule21Reply struct {
	status int // zero means 200, or 304 for a condition that matches
	fields string
	body   string
	deaf   bool // it ignores conditions
}

// asGenerations serves replies, by path and generation.
func asGenerations(generation *atomic.Int64, site map[string]func(generation int64) rule21Reply) *crawltest.Site {
	return &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		make := site[r.URL.RequestURI()]
		if make == nil {
			http.NotFound(w, r)
			return
		}
		p := make(generation.Load())
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for line := range strings.SplitSeq(p.fields, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				w.Header().Set(name, value)
			}
		}
		tag, date := w.Header().Get("Etag"), w.Header().Get("Last-Modified")
		switch inm, ims := r.Header.Get("If-None-Match"), r.Header.Get("If-Modified-Since"); {
		case p.status != 0:
			w.WriteHeader(p.status)
		case p.deaf:
		case inm != "" && inm == tag, inm == "" && ims != "" && ims == date:
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if p.status != http.StatusNotModified {
			io.WriteString(w, p.body)
		}
	})}
}

// always is a rule21Reply that does not change.
func always(fields, body string) func(int64) rule21Reply {
	return func(int64) rule21Reply { return rule21Reply{fields: fields, body: body} }
}

// then is one rule21Reply in the first generation, and another one later.
func then(first, later rule21Reply) func(int64) rule21Reply {
	return func(generation int64) rule21Reply {
		if generation == 1 {
			return first
		}
		return later
	}
}

const modified = "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT"

// wantChange compares the last line of a path, and the conditions of its requests in this generation.
func (w *world) wantChange(path, outcome, change string, asked ...string) {
	w.t.Helper()
	got, said := "", ""
	for _, l := range w.ledger.all {
		if l.URL == "http://a.test"+path && l.Decision == storage.DecisionAllow {
			got, said = string(l.Outcome), string(l.Change)
		}
	}
	if got != outcome || said != change {
		w.t.Errorf("%s: %s, %q; want %s, %q", path, got, said, outcome, change)
	}
	var how []string
	for _, r := range w.web.Referee().Requests() {
		if r.Target == path {
			how = append(how, strings.Trim(r.Header.Get("If-None-Match")+" "+r.Header.Get("If-Modified-Since"), " "))
		}
	}
	if how = how[w.askedBefore[path]:]; !slices.Equal(how, asked) {
		w.t.Errorf("%s was requested with %q, want %q", path, how, asked)
	}
}

// updated crawls a site twice, an hour apart, with changes in between.
func updated(t *testing.T, site map[string]func(int64) rule21Reply, between ...func(*world)) *world {
	t.Helper()
	var generation atomic.Int64
	generation.Store(1)
	w := newWorld(t, []string{"http://a.test/"}, asGenerations(&generation, site))
	w.run()
	time.Sleep(time.Hour)
	generation.Store(2)
	w.askedBefore = map[string]int{}
	for _, r := range w.web.Referee().Requests() {
		w.askedBefore[r.Target]++
	}
	w.nextGeneration()
	for _, change := range between {
		change(w)
	}
	w.run()
	return w
}

func linksTo(paths ...string) string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><title>links</title>")
	for _, p := range paths {
		fmt.Fprintf(&b, "<a href=%q>to %s</a>", p, p)
	}
	return b.String()
}

func TestRule21_PagesAreAskedForOnCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		same := "<p>the same"
		w := updated(t, map[string]func(int64) rule21Reply{
			"/":          always(`Etag: "root"`, linksTo("/weak", "/date", "/both", "/plain", "/deaf", "/changed", "/gone", "/dead", "/star", "/moved", "/stays", "/noarchive")),
			"/weak":      always(`Etag: W/"a"`, same+"1"),
			"/date":      always(modified, same+"2"),
			"/both":      always("Etag: \"b\"\n"+modified, same+"3"),
			"/plain":     always("", same+"4"),
			"/deaf":      func(int64) rule21Reply { return rule21Reply{fields: `Etag: "d"`, body: same + "5", deaf: true} },
			"/changed":   then(rule21Reply{fields: `Etag: "1"`, body: linksTo("/unlinked")}, rule21Reply{fields: `Etag: "2"`, body: linksTo("/new")}),
			"/gone":      then(rule21Reply{fields: `Etag: "g"`, body: same + "6"}, rule21Reply{status: http.StatusGone}),
			"/dead":      then(rule21Reply{status: http.StatusNotFound}, rule21Reply{status: http.StatusNotFound}),
			"/star":      always(`Etag: *`, same+"7"),
			"/moved":     then(rule21Reply{status: 302, fields: "Location: /weak"}, rule21Reply{status: 302, fields: "Location: /new"}),
			"/stays":     then(rule21Reply{status: 301, fields: "Location: /date"}, rule21Reply{status: 301, fields: "Location: /date"}),
			"/noarchive": always("Etag: \"n\"\nX-Robots-Tag: noarchive", same+"8"),
			"/unlinked":  always("", same+"9"),
			"/new":       always("", same+"10"),
		})
		date := strings.TrimPrefix(modified, "Last-Modified: ")
		w.wantChange("/", "fetched", string(storage.ChangeUnchanged), `"root"`)
		w.wantChange("/weak", "fetched", string(storage.ChangeUnchanged), `W/"a"`)
		w.wantChange("/date", "fetched", string(storage.ChangeUnchanged), date)
		w.wantChange("/both", "fetched", string(storage.ChangeUnchanged), `"b" `+date)
		w.wantChange("/plain", "fetched", string(storage.ChangeUnchanged), "")
		w.wantChange("/deaf", "fetched", string(storage.ChangeUnchanged), `"d"`)
		w.wantChange("/changed", "fetched", string(storage.ChangeChanged), `"1"`)
		w.wantChange("/gone", "gone", string(storage.ChangeGone), `"g"`)
		w.wantChange("/dead", "gone", "", "")
		w.wantChange("/star", "fetched", string(storage.ChangeUnchanged), "") // "*" is not a tag
		w.wantChange("/moved", "redirected", string(storage.ChangeChanged), "")
		w.wantChange("/stays", "redirected", string(storage.ChangeUnchanged), "")
		w.wantChange("/noarchive", "fetched", string(storage.ChangeUnchanged), "") // no archived body: no condition is sent
		w.wantChange("/new", "fetched", string(storage.ChangeNew), "")
		w.wantChange("/unlinked", "", "")
		for _, k := range w.archive.records {
			if revisit := k.NotModified != nil; revisit != strings.HasPrefix(k.response, "HTTP/1.1 304") ||
				revisit && (k.NotModified.URL != k.URL || k.NotModified.ID == "" || k.HasPayload || k.Line.Change != storage.ChangeUnchanged) {
				t.Errorf("%+v", k.Record)
			}
		}
		if _, all := w.recordsOf("http://a.test/"); len(all) != 2 || len(all[1].Outlinks) != 12 {
			t.Errorf("the page that was not modified is in %+v", all)
		}
		w.judged(crawltest.Rules{Pace: Floor, Repeats: 100})
		s, err := status.Of(t.Context(), w.front)
		require.NoError(t, err)
		if s.Pages != 10 || s.Changes[string(storage.ChangeUnchanged)] != 9 || s.Changes[string(storage.ChangeNew)] != 1 || s.Changes[string(storage.ChangeChanged)] != 2 || s.Changes[string(storage.ChangeGone)] != 1 {
			t.Errorf("%d pages, changes %v", s.Pages, s.Changes)
		}
	})
}

// The fields of a 304 replace earlier ones: the crawler obeys a new X-Robots-Tag.
func TestRule21_NotModifiedReplacesFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := updated(t, map[string]func(int64) rule21Reply{
			"/":       then(rule21Reply{fields: `Etag: "root"`, body: linksTo("/behind")}, rule21Reply{fields: "Etag: \"root\"\nX-Robots-Tag: nofollow\nContent-Type: text/plain", body: linksTo("/behind")}),
			"/behind": always("", "<p>behind"),
		})
		w.wantChange("/", "fetched", string(storage.ChangeUnchanged), `"root"`)
		w.wantChange("/behind", "", "")
	})
}

// After a 304 that confirms no response, the crawler requests the page once without conditions.
func TestRule21_EmptyNotModifiedIsRequestedOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		w := updated(t, map[string]func(int64) rule21Reply{
			"/":      always(`Etag: "root"`, linksTo("/never", "/mended", "/other", "/liar")),
			"/never": then(rule21Reply{body: "<p>1"}, rule21Reply{status: 304}),
			"/mended": func(generation int64) rule21Reply {
				if generation == 2 && first {
					first = false
					return rule21Reply{status: 304}
				}
				return rule21Reply{body: "<p>2"}
			},
			"/other": func(generation int64) rule21Reply {
				return rule21Reply{fields: fmt.Sprintf(`Etag: "%d"`, generation), body: "<p>3"}
			},
			"/liar": then(rule21Reply{fields: `Etag: "x"`, body: "<p>4"}, rule21Reply{status: 304, fields: `Etag: "y"`}),
		})
		w.wantChange("/never", "failed", "", "", "")
		w.wantOutcomes("http://a.test/never", "deferred: "+reasonUnexpected304, "failed: "+reasonUnexpected304)
		w.wantChange("/mended", "fetched", string(storage.ChangeUnchanged), "", "")
		w.wantChange("/other", "fetched", string(storage.ChangeUnchanged), `"1"`)
		w.wantChange("/liar", "failed", "", `"x"`, "")
		w.judged(crawltest.Rules{Pace: Floor, Repeats: 100})
	})
}

// The crawler requests a body again that it cannot read from the archive.
func TestRule21_DamagedArchiveIsRequestedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := updated(t, map[string]func(int64) rule21Reply{"/": always(`Etag: "root"`, "<p>x")}, func(w *world) {
			w.cfg.Past.(remembered).broken["http://a.test/"] = true
		})
		w.wantChange("/", "fetched", string(storage.ChangeNew), `"root"`, "")
	})
}

// Only requisites with an explicit lifetime are not requested while it lasts.
func TestRule21_FreshRequisitesAreNotRequested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		css := func(fields string) func(int64) rule21Reply {
			return always("Content-Type: text/css\nEtag: \"c\"\n"+fields, "p{}/*"+fields+"*/")
		}
		w := updated(t, map[string]func(int64) rule21Reply{
			"/": always("Etag: \"root\"\nCache-Control: max-age=86400",
				`<link rel=stylesheet href=/fresh.css><link rel=stylesheet href=/old.css><link rel=stylesheet href=/silent.css>`+
					`<link rel=stylesheet href=/cookie.css><iframe src=/frame></iframe><a href=/linked.css>a style</a>`),
			"/fresh.css":  css("Cache-Control: public, max-age=86400"),
			"/old.css":    css("Cache-Control: max-age=60"),
			"/silent.css": css(modified),
			"/cookie.css": css("Cache-Control: max-age=86400\nSet-Cookie: a=b"),
			"/frame":      always("Etag: \"f\"\nCache-Control: max-age=86400", "<p>a frame"),
			"/linked.css": css("Cache-Control: max-age=86401"),
		})
		w.wantChange("/", "fetched", string(storage.ChangeUnchanged), `"root"`) // a page is always requested
		w.wantChange("/fresh.css", "fetched", string(storage.ChangeFresh))
		w.wantOutcomes("http://a.test/fresh.css", "fetched: "+reasonFresh)
		w.wantChange("/old.css", "fetched", string(storage.ChangeUnchanged), `"c"`)
		w.wantChange("/silent.css", "fetched", string(storage.ChangeUnchanged), `"c" `+strings.TrimPrefix(modified, "Last-Modified: "))
		w.wantChange("/cookie.css", "fetched", string(storage.ChangeUnchanged), `"c"`)
		w.wantChange("/frame", "fetched", string(storage.ChangeUnchanged), `"f"`)
		w.wantChange("/linked.css", "fetched", string(storage.ChangeUnchanged), `"c"`)
		if len(w.archive.refused) != 1 || w.archive.refused[0].Change != storage.ChangeFresh || w.archive.refused[0].Attempt != 0 {
			t.Errorf("the archive's notes: %+v", w.archive.refused)
		}
		s, err := status.Of(t.Context(), w.front)
		require.NoError(t, err)
		assert.EqualValues(t, 1, s.Changes[string(storage.ChangeFresh)], s.Changes)
	})
}

// An update waits for hosts that back off, since they have responded before.
func TestRule21_AnUpdateWaitsForItsHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := updated(t, map[string]func(int64) rule21Reply{"/": always(`Etag: "root"`, "<p>x")}, func(w *world) {
			w.update(frontier.Result{Wait: 5 * time.Minute})
		})
		w.wantChange("/", "fetched", string(storage.ChangeUnchanged), `"root"`)
	})
}
