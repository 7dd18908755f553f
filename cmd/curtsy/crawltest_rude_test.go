package main

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// asRude in the environment makes the test binary a crawler without manners, which begins at its last argument.
const asRude = "CURTSY_TEST_AS_RUDE"

// rude asks for robots.txt, like many, and then for everything: at once, again after an error or a refusal, and as a
// browser.
func rude(seed string) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err)
	}
	client := &http.Client{Jar: jar}
	queue := []string{seed}
	seen := map[string]bool{seed: true}
	hosts := map[string]bool{}
	for asked := 0; len(queue) > 0 && asked < 400; {
		batch := queue[:min(8, len(queue))]
		queue = queue[len(batch):]
		var all sync.WaitGroup
		var mu sync.Mutex
		for _, u := range batch {
			if base, err := url.Parse(u); err == nil && !hosts[base.Host] {
				hosts[base.Host] = true
				rudely(client, "http://"+base.Host+"/robots.txt", 200*time.Millisecond)
			}
			asked++
			all.Go(func() {
				links, status := rudely(client, u, time.Minute)
				if status >= 500 || status == http.StatusTooManyRequests || status == http.StatusForbidden {
					rudely(client, u, time.Minute)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, l := range links {
					if !seen[l] {
						seen[l] = true
						queue = append(queue, l)
					}
				}
			})
		}
		all.Wait()
	}
}

var href = regexp.MustCompile(`href="([^"]*)"`)

// rudely fetches u and returns what it links to.
func rudely(client *http.Client, u string, patience time.Duration) (links []string, status int) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, 0
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64)")
	resp, err := client.Do(req)
	if err != nil {
		return nil, 0
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if strings.Contains(u, "endless") {
		io.Copy(io.Discard, resp.Body)
	}
	for _, m := range href.FindAllStringSubmatch(string(body), -1) {
		if to, err := resp.Request.URL.Parse(strings.ReplaceAll(m[1], "&amp;", "&")); err == nil && to.Scheme == "http" {
			to.Fragment = ""
			links = append(links, to.String())
		}
	}
	return links, resp.StatusCode
}
