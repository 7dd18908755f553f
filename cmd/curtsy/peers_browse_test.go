//go:build peers

package main

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// asks is what a page is asked when it has been opened.
//
//go:embed testdata/browse.js
var asks string

// browsed is what a browser found in a tree of files that it opened page by page. Each list holds what is broken, as
// "page: what", in the order of the pages.
type browsed struct {
	Pages, Requests int

	Failed  []string // requests that failed, those to other hosts among them but for what is known to be absent
	OffHost []string // all requests to other hosts
	Refused []string // by the browser's rules for file:// alone: the file is there
	Fetched []string // what scripts asked for in vain: no reader of pages can know it
	Dead    []string // links and frames that lead to no file
	Left    []string // links that should lead to a page of the tree, and lead elsewhere
	Images  []string // that show nothing
	Wrong   []string // not what the page expects: another picture, page, text
	Styles  []string // that did not come, or had no effect
	Scripts []string // that did not run
	Fonts   []string // that did not come
}

// broken is all that must not be.
func (b browsed) broken() []string {
	return slices.Concat(b.Failed, b.Dead, b.Left, b.Images, b.Wrong, b.Styles, b.Scripts, b.Fonts)
}

// String counts.
func (b browsed) String() string {
	return fmt.Sprintf("%d pages, %d requests: %d failed, %d dead links, %d left elsewhere, %d missing images, %d wrong, %d styles, %d scripts, %d fonts; %d off host, %d refused, %d asked for by scripts",
		b.Pages, b.Requests, len(b.Failed), len(b.Dead), len(b.Left), len(b.Images), len(b.Wrong), len(b.Styles), len(b.Scripts), len(b.Fonts), len(b.OffHost), len(b.Refused), len(b.Fetched))
}

// seen is what a page says of itself (testdata/browse.js).
type seen struct {
	Page  string `json:"page"`
	Links []struct {
		To       string `json:"to"`
		Want     string `json:"want"`
		Embedded bool   `json:"embedded"`
	} `json:"links"`
	Images  []string `json:"images"`
	Wrong   []string `json:"wrong"`
	Styles  []string `json:"styles"`
	Scripts []string `json:"scripts"`
	Fonts   []string `json:"fonts"`
}

// shelf is where a browser finds pages.
type shelf interface {
	pages() []string                          // the URLs of all pages
	holds(u *url.URL) (name string, how have) // what a URL without a fragment leads to
	files() bool                              // over file://
}

// have says how a shelf has a URL.
type have int

const (
	outside have = iota // it is not of this shelf
	lacking             // it is, and there is nothing
	held
)

// traffic is what crosses the network while a page is open.
type traffic struct {
	mu     sync.Mutex
	sent   map[network.RequestID]*network.EventRequestWillBeSent
	open   map[network.RequestID]bool // asked for by scripts, and not answered
	quiet  chan struct{}              // there is no such request any more
	failed []failure
	n      int
}

type failure struct {
	url      string
	kind     network.ResourceType
	why      string
	canceled bool
	cors     bool
}

// note is called for each event of the tab.
func (w *traffic) note(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		w.n++
		w.sent[ev.RequestID] = ev
		if ev.Type == network.ResourceTypeXHR || ev.Type == network.ResourceTypeFetch {
			w.open[ev.RequestID] = true
		}
	case *network.EventResponseReceived:
		w.answered(ev.RequestID)
		if ev.Response.Status >= 400 {
			w.failed = append(w.failed, failure{url: ev.Response.URL, kind: ev.Type, why: fmt.Sprint(ev.Response.Status)})
		}
	case *network.EventLoadingFailed:
		w.answered(ev.RequestID)
		f := failure{kind: ev.Type, why: ev.ErrorText + " " + string(ev.BlockedReason), canceled: ev.Canceled, cors: ev.CorsErrorStatus != nil}
		if sent := w.sent[ev.RequestID]; sent != nil {
			f.url = sent.Request.URL
		}
		w.failed = append(w.failed, f)
	}
}

// answered tells who waits that a request came to its end. The caller holds mu.
func (w *traffic) answered(id network.RequestID) {
	delete(w.open, id)
	if len(w.open) == 0 {
		select {
		case w.quiet <- struct{}{}:
		default:
		}
	}
}

// settle waits until what scripts have asked for is answered: a page counts as loaded without it.
func (w *traffic) settle(ctx context.Context) {
	for {
		w.mu.Lock()
		n := len(w.open)
		w.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-w.quiet:
		case <-ctx.Done():
			return
		}
	}
}

// take returns what there is and begins anew.
func (w *traffic) take() (urls []string, failed []failure, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	set := map[string]bool{}
	for _, ev := range w.sent {
		set[ev.Request.URL] = true
	}
	urls, failed, n = slices.Sorted(maps.Keys(set)), w.failed, w.n
	w.sent, w.failed, w.n = map[network.RequestID]*network.EventRequestWillBeSent{}, nil, 0
	w.open = map[network.RequestID]bool{}
	return urls, failed, n
}

// browse opens all pages of a shelf. absent says of a URL outside of it that it cannot be there: asking for it is no
// fault of the pages.
func browse(t *testing.T, s shelf, absent func(u string) bool) browsed {
	t.Helper()
	var b browsed
	tab := browser(t, time.Duration(len(s.pages()))*5*time.Second)
	w := &traffic{quiet: make(chan struct{}, 1)}
	w.take()
	require.NoError(t, chromedp.Listen(tab, w.note))
	require.NoError(t, chromedp.Do(tab, chromedp.Navigate("about:blank")))
	ids := map[string]string{} // of pages, by the names of files
	type wanted struct{ on, name, id string }
	var links []wanted
	for _, at := range s.pages() {
		w.take()
		page, err := pageSeen(tab, at)
		answers, cancel := context.WithTimeout(tab, 10*time.Second)
		w.settle(answers)
		cancel()
		u, _ := url.Parse(at) // it is ours
		on, _ := s.holds(u)
		b.Pages++
		if err != nil {
			b.Failed = append(b.Failed, fmt.Sprintf("%s: %v", on, err))
			continue
		}
		ids[on] = page.Page
		urls, failed, n := w.take()
		b.Requests += n
		b.network(s, on, urls, failed, absent)
		b.said(on, page, absent)
		for _, l := range page.Links {
			name, how := lead(s, l.To)
			switch {
			case how == held && l.Want != "":
				links = append(links, wanted{on, name, l.Want})
			case how == lacking:
				b.Dead = append(b.Dead, on+": "+l.To)
			case how == outside && l.Want != "":
				b.Left = append(b.Left, on+": "+l.To)
			}
		}
	}
	known := map[wanted]bool{}
	for _, l := range links {
		one := wanted{name: l.name, id: l.id}                                 // however many pages link there
		if got, opened := ids[l.name]; opened && got != l.id && !known[one] { // a sample opens not all
			known[one] = true
			b.Wrong = append(b.Wrong, fmt.Sprintf("%s: the link to %s leads to page %q, want %q", l.on, l.name, ids[l.name], l.id))
		}
	}
	return b
}

// pageSeen opens a page and asks it.
func pageSeen(tab context.Context, at string) (seen, error) {
	ctx, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(at)); err != nil {
		return seen{}, fmt.Errorf("open: %w", err)
	}
	page, err := chromedp.Run(ctx, chromedp.Evaluate[seen](asks, chromedp.EvalAwaitPromise))
	if err != nil {
		return seen{}, fmt.Errorf("ask: %w", err)
	}
	return page, nil
}

// lead says where a link leads. What is no URL leads nowhere.
func lead(s shelf, to string) (name string, how have) {
	u, err := url.Parse(to)
	if err != nil {
		return "", outside
	}
	u.Fragment, u.RawFragment = "", ""
	return s.holds(u)
}

// said takes in what a page says of itself.
func (b *browsed) said(on string, page seen, absent func(string) bool) {
	for _, src := range page.Images {
		if !absent(src) {
			b.Images = append(b.Images, on+": "+src)
		}
	}
	add := func(to *[]string, list []string) {
		for _, what := range list {
			*to = append(*to, on+": "+what)
		}
	}
	add(&b.Wrong, page.Wrong)
	add(&b.Styles, page.Styles)
	add(&b.Scripts, page.Scripts)
	add(&b.Fonts, page.Fonts)
}

// network takes in what a page has asked for.
func (b *browsed) network(s shelf, on string, urls []string, failed []failure, absent func(string) bool) {
	bad := map[string]bool{}
	for _, at := range urls {
		if _, how := lead(s, at); how != outside || strings.HasPrefix(at, "data:") || strings.HasPrefix(at, "about:") || strings.HasPrefix(at, "blob:") {
			continue
		}
		b.OffHost = append(b.OffHost, on+": "+at)
		if !absent(at) {
			bad[at] = true
			b.Failed = append(b.Failed, on+": "+at+" (another host)")
		}
	}
	for _, f := range failed {
		_, how := lead(s, f.url)
		switch {
		case bad[f.url] || how == outside: // listed already, or known to be absent
		case f.kind == network.ResourceTypeOther && rootIcon(f.url):
		case how == held && f.canceled && !f.cors: // the browser has seen enough of a sound, or offers to keep a file
		case how == held && s.files() && onlyServed(f.kind):
			b.Refused = append(b.Refused, on+": "+f.url)
		case f.kind == network.ResourceTypeXHR || f.kind == network.ResourceTypeFetch:
			b.Fetched = append(b.Fetched, on+": "+f.url)
		default:
			bad[f.url] = true
			b.Failed = append(b.Failed, fmt.Sprintf("%s: %s (%s, %s)", on, f.url, f.kind, strings.TrimSpace(f.why)))
			if f.kind == network.ResourceTypeStylesheet {
				b.Styles = append(b.Styles, on+": "+f.url)
			}
		}
	}
}

// onlyServed are the kinds that no browser loads over file://: each file is an origin of its own there, and these ask
// for one origin.
func onlyServed(kind network.ResourceType) bool {
	return kind == network.ResourceTypeTextTrack || kind == network.ResourceTypeManifest || kind == network.ResourceTypeOther
}

// rootIcon reports whether a URL is one that browsers ask each server for of their own accord.
func rootIcon(at string) bool {
	u, err := url.Parse(at)
	return err == nil && u.Path == "/favicon.ico"
}
