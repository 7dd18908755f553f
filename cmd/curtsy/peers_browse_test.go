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

// asks is the script for each opened page.
//
//go:embed testdata/browse.js
var asks string

// browsed has the findings of a browser in a tree of files. Each list has what is broken, as "page: what", in page order.
type browsed struct {
	Pages, Requests int

	Failed  []string // failed requests, and those to other hosts that are not known to be absent
	OffHost []string // all requests to other hosts
	Refused []string // only by the browser's rules for file://: the file exists
	Fetched []string // failed requests of scripts, which no reader of pages can know
	Dead    []string // links and frames that lead to no file
	Left    []string // links that should lead to a page of the tree, and lead elsewhere
	Images  []string // that show nothing
	Wrong   []string // not what the page expects: another picture, page, text
	Styles  []string // not loaded, or without effect
	Scripts []string // that did not run
	Fonts   []string // not loaded
}

func (b browsed) String() string {
	return fmt.Sprintf("%d pages, %d requests: %d failed, %d dead links, %d left elsewhere, %d missing images, %d wrong, %d styles, %d scripts, %d fonts; %d off host, %d refused, %d asked for by scripts",
		b.Pages, b.Requests, len(b.Failed), len(b.Dead), len(b.Left), len(b.Images), len(b.Wrong), len(b.Styles), len(b.Scripts), len(b.Fonts), len(b.OffHost), len(b.Refused), len(b.Fetched))
}

// seen is the result of testdata/browse.js.
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

// shelf is a source of pages.
type shelf interface {
	pages() []string                          // the URLs of all pages
	holds(u *url.URL) (name string, how have) // the target of a URL without a fragment
	files() bool                              // over file://
}

type have int

const (
	outside have = iota // not of this shelf
	lacking             // of this shelf, and missing
	held
)

// traffic is the network traffic of an open page.
type traffic struct {
	mu     sync.Mutex
	sent   map[network.RequestID]*network.EventRequestWillBeSent
	open   map[network.RequestID]bool // pending requests of scripts
	quiet  chan struct{}              // signals that none is pending
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

// answered notes the end of a request. The caller holds mu.
func (w *traffic) answered(id network.RequestID) {
	delete(w.open, id)
	if len(w.open) == 0 {
		select {
		case w.quiet <- struct{}{}:
		default:
		}
	}
}

// settle waits for the requests of scripts: a page counts as loaded without them.
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

// browse opens all pages of a shelf. absent reports whether a URL outside of it cannot be there.
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
		u, _ := url.Parse(at)
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
		one := wanted{name: l.name, id: l.id}                                 // report it once
		if got, opened := ids[l.name]; opened && got != l.id && !known[one] { // a sample does not open all
			known[one] = true
			b.Wrong = append(b.Wrong, fmt.Sprintf("%s: the link to %s leads to page %q, want %q", l.on, l.name, ids[l.name], l.id))
		}
	}
	return b
}

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

// lead returns the target of a link.
func lead(s shelf, to string) (name string, how have) {
	u, err := url.Parse(to)
	if err != nil {
		return "", outside
	}
	u.Fragment, u.RawFragment = "", ""
	return s.holds(u)
}

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
		at, err := url.Parse(f.url)
		switch {
		case bad[f.url] || how == outside: // listed already, or known to be absent
		case f.kind == network.ResourceTypeOther && err == nil && at.Path == "/favicon.ico": // browsers request it by themselves
		case how == held && f.canceled && !f.cors: // the browser has enough of a sound, or offers a download
		// Over file:// each file has its own origin, and these kinds need one origin.
		case how == held && s.files() && slices.Contains([]network.ResourceType{network.ResourceTypeTextTrack, network.ResourceTypeManifest, network.ResourceTypeOther}, f.kind):
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
