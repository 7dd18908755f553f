package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/PuerkitoBio/goquery"
)

// loop is the state that the workers share.
type loop struct {
	client     http.Client
	hosts      map[string]bool
	mu         sync.Mutex // guards the fields below
	news       sync.Cond  // signals new work, or the end
	seen       map[string]bool
	queue      []string
	busy, left int // workers with a page; pages that may still be requested, negative for no limit
	err        error
}

// runBare fetches the seeds and all pages of their hosts that links lead to, at most most pages if that is not 0, with so many
// workers. It returns how many URLs it has seen. Any status but 200 is an error.
func runBare(ctx context.Context, seeds []string, workers, most int) (seen int, err error) {
	transport := &http.Transport{MaxIdleConnsPerHost: workers, DisableCompression: true}
	transport.MaxConnsPerHost = max(2, 4*workers/cmp.Or(len(seeds), 1))
	l := &loop{hosts: map[string]bool{}, seen: map[string]bool{}, left: cmp.Or(most, -1)}
	l.client.Transport, l.news.L = transport, &l.mu
	for _, seed := range seeds {
		if u, err := url.Parse(seed); err == nil { // else its fetch fails
			l.hosts[u.Host] = true
		}
	}
	l.add(seeds)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			body, links := new(bytes.Buffer), make([]string, 0, 256)
			for u, ok := l.next(); ok; u, ok = l.next() {
				l.done(l.page(ctx, u, body, links))
			}
		})
	}
	all.Wait()
	transport.CloseIdleConnections()
	return len(l.seen), l.err
}

// next waits for a URL. It returns false when the queue is empty and no worker has a page that could fill it.
func (l *loop) next() (u string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && l.busy > 0 && l.err == nil {
		l.news.Wait()
	}
	if len(l.queue) == 0 || l.left == 0 || l.err != nil {
		return "", false
	}
	u, l.queue = l.queue[0], l.queue[1:]
	l.busy++
	l.left--
	return u, true
}

func (l *loop) done(links []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	l.add(links)
	if l.err == nil && err != nil {
		l.err = fmt.Errorf("bare: %w", err)
	}
	l.news.Broadcast()
}

func (l *loop) add(links []string) {
	for _, u := range links {
		if !l.seen[u] {
			l.seen[u] = true
			l.queue = append(l.queue, u)
		}
	}
}

// page fetches a page and appends its links.
func (l *loop) page(ctx context.Context, u string, body *bytes.Buffer, links []string) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return links, err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return links, err
	}
	defer resp.Body.Close()
	body.Reset()
	if _, err := body.ReadFrom(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return links, errors.Join(err, fmt.Errorf("%s: %s", u, resp.Status))
	}
	doc, err := goquery.NewDocumentFromReader(body)
	if err != nil {
		return links, err
	}
	doc.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
		if to, err := req.URL.Parse(a.AttrOr("href", "")); err == nil && l.hosts[to.Host] {
			to.Fragment = ""
			links = append(links, to.String())
		}
	})
	return links, nil
}
