package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"curtsy/crawler/check"
	"curtsy/crawler/crawltest"
)

// Score is what a checker made of the faults.
type Score struct {
	Found    int            `json:"found"`
	Missed   map[string]int `json:"missed"`   // by kind
	Invented []string       `json:"invented"` // what it found fault with and is none, below the site
}

// scored counts the faults that are found.
func scored(site *crawltest.FaultySite, found func(crawltest.Fault) bool, invented []string) Score {
	s := Score{Missed: map[string]int{}, Invented: slices.Sorted(slices.Values(invented))}
	for _, f := range site.Faults() {
		if found(f) {
			s.Found++
		} else {
			s.Missed[string(f.Kind)]++
		}
	}
	return s
}

// own scores what curtsy said in its JSON form: a fault is found if it is in the right list.
func own(site *crawltest.FaultySite, base, said string) (Score, error) {
	var r check.Result
	if err := json.Unmarshal([]byte(said), &r); err != nil {
		return Score{}, fmt.Errorf("bench: read the JSON output of curtsy linkcheck: %w: %.200q", err, said)
	}
	told := map[string]bool{}
	add := func(list, what string) { told[list+" "+strings.TrimPrefix(what, base)] = false }
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
		_, ok := told[key]
		if ok {
			told[key] = true
		}
		return ok
	}, nil)
	for what, asked := range told {
		if _, step := told["redirect "+strings.TrimSuffix(strings.TrimPrefix(what, "redirect "), "/2")]; !asked && !step {
			s.Invented = append(s.Invented, what)
		}
	}
	slices.Sort(s.Invented)
	return s, nil
}

// asWritten are links as linkchecker prints them: as they stand in the page. All on the site are relative to its root.
var asWritten = regexp.MustCompile("(?m)^URL +`([^']*)'")

// others scores what another checker printed. A fault is found if its URL stands there, for whatever reason it does. A URL
// below the site is invented if it is no fault, has none on it, and is no step of a redirect that is one.
func others(site *crawltest.FaultySite, base, said string) Score {
	named := map[string]bool{}
	for _, u := range regexp.MustCompile(regexp.QuoteMeta(base)+`[^\s"'<>|)\]]*`).FindAllString(said, -1) {
		named[strings.TrimPrefix(strings.TrimRight(u, ".,:`"), base)] = true
	}
	written := map[string]bool{}
	for _, m := range asWritten.FindAllStringSubmatch(said, -1) {
		written["/"+strings.TrimPrefix(m[1], "/")] = true
	}
	innocent := map[string]bool{"": true, "/": true, "/good.html#lost": true} // the last is where redirects of faults lead
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
			return strings.Contains(said, f.URL+"\n") || strings.Contains(said, "`"+f.URL+"'") || strings.Contains(said, f.URL+" ")
		case crawltest.TwoIDs:
			return strings.Contains(said, f.Name)
		}
		d := decoded(f.URL)
		return named[f.URL] || written[f.URL] || d != f.URL && strings.Contains(said, base+d)
	}, invented)
}

// decoded is a URL as some print it.
func decoded(u string) string {
	if d, err := url.PathUnescape(u); err == nil {
		return d
	}
	return u
}
