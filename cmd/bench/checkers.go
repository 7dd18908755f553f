package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"curtsy/cmd/curtsy/procgroup"
	"curtsy/crawler/check"
	"curtsy/crawler/check/static"
	"curtsy/crawler/crawltest"
)

// checker is a link checker and its results.
type checker struct {
	Name   string `json:"name"`
	Line   string `json:"line"` // with URL and DIR, a folder it may write to
	Absent bool   `json:"absent,omitempty"`
	score
	Site   times `json:"site"`
	Folder times `json:"folder"`
}

type times struct {
	Rounds  []float64 `json:"rounds_s"`
	Stopped bool      `json:"stopped,omitempty"` // at the limit
}

// In formats the median as a multiple of another time.
func (t times) In(format string, other float64) string {
	if t.Stopped {
		format = "> " + format
	}
	return figure(format, t.Median()/max(other, 1e-9))
}

// Median is in seconds.
func (t times) Median() float64 { return spreadOf(t.Rounds).Median }

// linkcheckerrc makes linkchecker as fast as the others, and check fragments.
//
//go:embed linkcheckerrc
var linkcheckerrc []byte

// knownCheckers follow robots.txt and print only errors if they can, use eight connections if they have an option for it, and
// check requisites and fragments if they do. curtsy takes the site for the user's own, without a delay, as the others do.
func knownCheckers() []checker {
	return []checker{
		{Name: "curtsy linkcheck", Line: "curtsy linkcheck --json --quiet --delay 0 --per-host 8 --dir DIR/crawl URL"},
		{Name: "wget --spider", Line: "wget --spider -r -l inf -nd -nv -p URL"},
		{Name: "linkchecker", Line: "linkchecker --config=DIR/linkcheckerrc --no-status URL"},
		{Name: "muffet", Line: "muffet --buffer-size=65536 --max-connections-per-host=8 --timeout=30 URL"},
		{Name: "linkinator", Line: "linkinator --recurse --check-css --check-fragments --concurrency 8 --verbosity error URL"},
	}
}

// checkers runs each link checker in rounds, on a site with known faults and then on the folder.
func (b *bench) checkers(ctx context.Context, r *result) error {
	site := crawltest.NewFaultySite()
	faults := httptest.NewServer(hurried(site))
	defer faults.Close()
	docs := ""
	if b.docs != "" {
		folder, err := static.Open(b.docs, static.Options{})
		if err != nil {
			return err
		}
		defer func() { _ = folder.Close() }() // it was only read
		served := httptest.NewServer(hurried(folder))
		defer served.Close()
		docs = served.URL
	}
	r.Faults, r.Checkers = len(site.Faults()), knownCheckers()
	for round := range b.rounds {
		for i := range r.Checkers {
			at := (round + i) % len(r.Checkers)
			c := &r.Checkers[at]
			if _, err := exec.LookPath(strings.Fields(c.Line)[0]); err != nil && at > 0 {
				c.Absent = true
				continue
			}
			output, err := b.check(ctx, c, &c.Site, faults.URL)
			if err == nil && at == 0 {
				c.score, err = own(site, faults.URL, output)
			} else if err == nil {
				if _, after, ok := strings.Cut(output, "\nFound "); ok && strings.HasPrefix(c.Name, "wget") {
					output = after // working URLs come before
				}
				c.score = others(site, faults.URL, output)
			}
			if err == nil && docs != "" && !c.Folder.Stopped {
				_, err = b.check(ctx, c, &c.Folder, docs)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			b.print("round %d of %d: %s: %d of %d faults, %s", round+1, b.rounds, c.Name, c.Found, r.Faults, c.Site.In("%.2f s", 1))
		}
	}
	return nil
}

// hurried adds the header field that linkchecker needs to request a host at full rate.
func hurried(site http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("LinkChecker", "yes")
		site.ServeHTTP(w, r)
	})
}

// check runs a checker once and returns its output. Its exit code only reports broken links.
func (b *bench) check(ctx context.Context, c *checker, t *times, url string) (string, error) {
	dir, err := os.MkdirTemp(b.tmp, "check-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "linkcheckerrc"), linkcheckerrc, 0o600); err != nil {
		return "", err
	}
	output := new(bytes.Buffer)
	p := process{words: strings.Fields(strings.NewReplacer("URL", url+"/", "DIR", dir).Replace(c.Line)), dir: dir, limit: b.peerLimit, grace: peerGrace, out: output}
	if p.words[0] == curtsy {
		p.words[0], p.env, p.limit, p.grace = b.self, b.env, patience, procgroup.Grace
	}
	e, err := p.run(ctx)
	var exit *exec.ExitError
	if err == nil && e.failed != nil && !e.stopped && !errors.As(e.failed, &exit) {
		err = e.failed
	}
	t.Rounds, t.Stopped = append(t.Rounds, e.took.Seconds()), t.Stopped || e.stopped
	return output.String(), err
}

type score struct {
	Found    int            `json:"found"`
	Missed   map[string]int `json:"missed"`   // by kind
	Invented []string       `json:"invented"` // URLs of the site that it reported although they have no fault
}

func scored(site *crawltest.FaultySite, found func(crawltest.Fault) bool, invented []string) score {
	s := score{Missed: map[string]int{}, Invented: slices.Sorted(slices.Values(invented))}
	for _, f := range site.Faults() {
		if found(f) {
			s.Found++
		} else {
			s.Missed[string(f.Kind)]++
		}
	}
	return s
}

// own scores the JSON output of curtsy: a fault must be in the right list.
func own(site *crawltest.FaultySite, base, said string) (score, error) {
	var r check.Result
	if err := json.Unmarshal([]byte(said), &r); err != nil {
		return score{}, fmt.Errorf("bench: read the JSON output of curtsy linkcheck: %w: %.200q", err, said)
	}
	found := map[string]bool{}
	add := func(list, what string) { found[list+" "+strings.TrimPrefix(what, base)] = false }
	for _, f := range r.Broken {
		add("broken", f.URL)
	}
	for _, f := range r.Redirects {
		add("redirect", f.URL)
	}
	for _, f := range r.Duplicates {
		add("id", strings.TrimPrefix(f.Reason, "id "))
	}
	s := scored(site, func(f crawltest.Fault) bool {
		key := "broken " + f.URL
		switch f.Kind {
		case crawltest.TwoIDs:
			key = "id " + f.Name
		case crawltest.Moved, crawltest.Chain:
			key = "redirect " + f.URL
		}
		_, ok := found[key]
		if ok {
			found[key] = true
		}
		return ok
	}, nil)
	for what, bad := range found {
		if _, step := found["redirect "+strings.TrimSuffix(strings.TrimPrefix(what, "redirect "), "/2")]; !bad && !step {
			s.Invented = append(s.Invented, what)
		}
	}
	slices.Sort(s.Invented)
	return s, nil
}

// asWritten matches links as linkchecker prints them, unresolved. All links of the site are relative to its root.
var asWritten = regexp.MustCompile("(?m)^URL +`([^']*)'")

// others scores another checker. A fault is found if its URL is printed, for any reason. A printed URL of the site is invented if
// it has no fault, is not the page of one, and is not a step of a broken redirect.
func others(site *crawltest.FaultySite, base, output string) score {
	named := map[string]bool{}
	for _, u := range regexp.MustCompile(regexp.QuoteMeta(base)+`[^\s"'<>|)\]]*`).FindAllString(output, -1) {
		named[strings.TrimPrefix(strings.TrimRight(u, ".,:`"), base)] = true
	}
	written := map[string]bool{}
	for _, m := range asWritten.FindAllStringSubmatch(output, -1) {
		written["/"+strings.TrimPrefix(m[1], "/")] = true
	}
	innocent := map[string]bool{"": true, "/": true, "/good.html#lost": true} // the last is the target of faulty redirects
	for _, f := range site.Faults() {
		plain, _, _ := strings.Cut(decoded(f.URL), " ")
		for _, path := range []string{f.URL, f.Page, f.URL + "/2", f.URL + "/missing.html", decoded(f.URL), plain} {
			innocent[path] = true
		}
	}
	var invented []string
	for path := range named {
		if !innocent[path] && !strings.HasSuffix(path, "/missing.html") {
			invented = append(invented, path)
		}
	}
	return scored(site, func(f crawltest.Fault) bool {
		switch f.Kind {
		case crawltest.NoURL: // not a URL, so it cannot be on the site
			return strings.Contains(output, f.URL+"\n") || strings.Contains(output, "`"+f.URL+"'") || strings.Contains(output, f.URL+" ")
		case crawltest.TwoIDs:
			return strings.Contains(output, f.Name)
		}
		d := decoded(f.URL)
		return named[f.URL] || written[f.URL] || d != f.URL && strings.Contains(output, base+d)
	}, invented)
}

// decoded is a URL as some checkers print it.
func decoded(u string) string {
	if d, err := url.PathUnescape(u); err == nil {
		return d
	}
	return u
}
