package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"curtsy/crawler/status"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// table is one page of the table of hosts.
type table struct {
	status.Page
	Query   status.Query
	States  []string
	Columns []column
	From    int // number of the first row, from 1
	To      int
	Before  string // links to the neighbouring pages; empty at the ends
	After   string
}

// column is a column head with the link that sorts by it.
type column struct {
	Name, Key, Link, Sorted string // Sorted is the value of aria-sort
	Number                  bool
}

const (
	tableRows = 50
	maxSearch = 200  // bytes
	mostGaps  = 5000 // in a histogram
)

func (s *Server) hosts(r *http.Request, w *watcher, v *view) (string, error) {
	v.Title, v.Page = "Hosts", "hosts"
	q := queryOf(r.URL.Query())
	page, err := w.source.Hosts(r.Context(), q)
	if err != nil {
		return "", err
	}
	v.Table = newTable(page, q)
	v.Answers = w.answers(page.Rows)
	return "hosts.html", nil
}

func queryOf(p url.Values) status.Query {
	q := status.Query{Search: strings.TrimSpace(p.Get("q")), State: p.Get("state"), Sort: p.Get("sort"), Up: p.Get("up") == "1", Limit: tableRows}
	q.Search = q.Search[:min(len(q.Search), maxSearch)]
	if !status.Sortable(q.Sort) {
		q.Sort = "pending"
	}
	if n, err := strconv.Atoi(p.Get("from")); err == nil && n > 0 {
		q.Offset = n
	}
	return q
}

func newTable(page status.Page, q status.Query) table {
	t := table{Page: page, Query: q, States: status.States()}
	if len(page.Rows) > 0 {
		t.From, t.To = q.Offset+1, q.Offset+len(page.Rows)
	}
	if q.Offset > 0 {
		before := q
		before.Offset = max(q.Offset-tableRows, 0)
		t.Before = linkOf(before)
	}
	if t.To > 0 && t.To < page.Matching {
		after := q
		after.Offset = q.Offset + tableRows
		t.After = linkOf(after)
	}
	for _, c := range []column{
		{Name: "Host", Key: "host"}, {Name: "State", Key: "state"}, {Name: "To go", Key: "pending", Number: true},
		{Name: "Fetched", Key: "fetched", Number: true}, {Name: "Failed", Key: "failed", Number: true},
		{Name: "Disallowed", Key: "disallowed", Number: true}, {Name: "Delay", Key: "pace", Number: true},
		{Name: "Next request", Key: "wait", Number: true}, {Name: "Last request", Key: "last", Number: true},
	} {
		by := q
		by.Sort, by.Offset, by.Up = c.Key, 0, !c.Number
		if q.Sort == c.Key {
			by.Up = !q.Up
			c.Sorted = "descending"
			if q.Up {
				c.Sorted = "ascending"
			}
		}
		c.Link = linkOf(by)
		t.Columns = append(t.Columns, c)
	}
	return t
}

func linkOf(q status.Query) string {
	p := url.Values{}
	for key, value := range map[string]string{"q": q.Search, "state": q.State, "sort": q.Sort} {
		if value != "" {
			p.Set(key, value)
		}
	}
	if q.Up {
		p.Set("up", "1")
	}
	if q.Offset > 0 {
		p.Set("from", strconv.Itoa(q.Offset))
	}
	return "hosts?" + p.Encode()
}

// robotsLine is one line of a robots.txt.
type robotsLine struct {
	N          int
	Text       string
	Decides    bool
	RunnerUp   bool
	Candidate  bool // its rule matches without deciding
	Annotation string
}

func (s *Server) host(r *http.Request, w *watcher, v *view) (string, error) {
	v.Title, v.Page = "Host", "host"
	a, err := canon.ParseAuthority(strings.TrimSuffix(r.URL.Query().Get("name"), "/"))
	if err != nil {
		return "", fmt.Errorf("not a host: %w", err)
	}
	if v.One, err = w.source.Host(r.Context(), a); err != nil {
		return "", err
	}
	v.Lines = w.newest(20, newFilter(url.Values{"host": {a.Origin()}}).match)
	gaps, err := w.source.Gaps(r.Context(), a, mostGaps)
	if err != nil {
		return "", err
	}
	v.Gaps = histogramOf(gaps)
	return "host.html", s.judge(r.Context(), w, v, a, r.URL.Query().Get("url"))
}

// judge explains a URL of the host: the requested one, or one decided recently.
func (s *Server) judge(ctx context.Context, w *watcher, v *view, a canon.Authority, asked string) error {
	if v.Asked = asked; asked == "" && len(v.Lines) > 0 {
		byRobots := slices.IndexFunc(v.Lines, func(l storage.Line) bool { return l.RobotsLine > 0 })
		v.Asked = v.Lines[max(byRobots, 0)].URL
	}
	if v.Asked == "" {
		v.Asked = a.Origin() + "/"
	}
	if u, err := canon.Parse(v.Asked); err == nil {
		e, err := w.source.Explain(ctx, u)
		if err != nil {
			return err
		}
		v.Judged = &e
	}
	v.Robots = robotsLines(v)
	return nil
}

// robotsLines returns the lines of the robots.txt, marked with their effect on the explained URL.
func robotsLines(v *view) (lines []robotsLine) {
	if v.One.Robots == "" {
		return nil
	}
	marks := map[int]robotsLine{}
	if v.Judged != nil && v.Judged.URL.Origin == v.One.Host {
		for _, p := range v.Judged.Robots.Policies {
			for i, c := range p.Candidates {
				l := marks[c.Line]
				switch {
				case i == 0:
					l.Decides, l.Annotation = true, p.Why
				case i == 1 && !l.Decides:
					l.RunnerUp = true
				default:
					l.Candidate = !l.Decides
				}
				marks[c.Line] = l
			}
		}
	}
	// Lines end with CR, LF or both (RFC 9309 2.2).
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(v.One.Robots)
	for i, t := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		l := marks[i+1]
		l.N, l.Text = i+1, strings.ToValidUTF8(t, "\uFFFD")
		lines = append(lines, l)
	}
	return lines
}
