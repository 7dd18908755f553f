package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/sorted"
	"curtsy/storage/tables"
)

const robotsFile = "/robots.txt"

// sight is one response for a robots.txt.
type sight struct {
	Began    time.Time
	URL      string
	Status   int
	Redirect string
	SHA256   string // of the body; empty without one
	Body     []byte
	File     string
	Offset   int64
	Problem  string

	key []string // host, authority and crawl
}

// version identifies the content: consecutive responses with the same one are a version.
func (s *sight) version() string {
	if s.SHA256 != "" {
		return s.SHA256
	}
	return fmt.Sprintf("%d %s", s.Status, s.Redirect)
}

// maxRobots is one more than the crawler reads, so that digests equal those of the ledger.
const maxRobots = robots.MaxBody + 1

// robotsVersions sorts the captures of robots.txt by host and time, and makes a row for each version.
func robotsVersions(ctx context.Context, in *Inputs, out *Out) (err error) {
	odd, err := in.oddRobots(ctx, out)
	if err != nil {
		return err
	}
	all := sorted.NewRows[*sight](in.temp, sortMemory)
	defer func() { err = errors.Join(err, all.Close()) }()
	err = visit(ctx, in, out, visitor[*sight]{
		size:  batchSize,
		wants: func(l cdxj.Line) bool { return isRobots(l.URL) || odd[l.URL] },
		work:  sightOf,
		take: func(s *sight) error {
			return all.Add(keyOf(append(s.key, fmt.Sprintf("%020d", max(s.Began.UnixMicro(), 0)))...), s)
		},
	})
	if err != nil {
		return err
	}
	return versions(ctx, all, out)
}

func isRobots(url string) bool {
	u, err := canon.Parse(url)
	return err == nil && u.RequestURI() == robotsFile
}

// mostOdd bounds the redirect targets of robots.txt with other paths.
const mostOdd = 1 << 14

// manyOdd counts the redirect targets beyond mostOdd.
const manyOdd = "robots-redirect-not-looked-at"

// oddRobots returns the URLs with other paths that redirects of robots.txt led to.
func (in *Inputs) oddRobots(ctx context.Context, out *Out) (map[string]bool, error) {
	odd := map[string]bool{}
	quiet := NewOut(&tables.Robots, nil) // other tables count the lines
	for _, c := range in.Crawls {
		err := c.decided(ctx, quiet, func(e *entry) error {
			switch l := &e.Line; {
			case l.Decision != storage.DecisionRobots || l.Record == "" || isRobots(l.URL) || odd[l.URL]:
			case len(odd) >= mostOdd:
				out.Left(manyOdd, 1)
			default:
				odd[l.URL] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return odd, nil
}

func sightOf(_ context.Context, c *Capture) ([]*sight, error) {
	u := c.URL()
	key, authority := hostOf(c.Index.URL)
	s := &sight{
		Began: c.Index.Time, URL: c.Index.URL, Status: c.Index.Status, File: c.File, Offset: c.Index.Offset,
		key: []string{key, authority, c.Crawl.Name},
	}
	if a := c.Answer; a != nil {
		s.Began, s.Status, s.Redirect = a.Date, a.Status, locationOf(a.Status, a.Header, u)
		if a.Status >= 200 && a.Status <= 299 {
			if err := s.read(c); err != nil {
				return nil, err
			}
		}
	}
	l, ok := c.Decision()
	if ok && l.Decision != storage.DecisionRobots {
		return nil, nil // requested as a link
	}
	s.Problem = c.Problem
	return []*sight{s}, nil
}

func (s *sight) read(c *Capture) error {
	body, err := c.Body(maxRobots)
	if body == nil {
		return err
	}
	b, err := io.ReadAll(io.LimitReader(body, maxRobots))
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	sum := sha256.Sum256(b)
	s.Body, s.SHA256 = b, hex.EncodeToString(sum[:])
	return nil
}

// version is a version in progress.
type version struct {
	sight
	key       []string
	last      time.Time
	exchanges int64
}

func versions(ctx context.Context, all *sorted.Rows[*sight], out *Out) error {
	f := newFiller(&tables.Robots)
	var v *version
	end := func(to time.Time) error {
		if v == nil {
			return nil
		}
		return out.Row(v.row(f, to))
	}
	for row, err := range all.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		s, key := row.Value, strings.Split(row.Key, keySep)
		key = key[:len(key)-1]
		same := v != nil && slices.Equal(key, v.key)
		if same && (s.Status == 304 || s.version() == v.version()) {
			v.last = s.Began
			v.exchanges++
			continue
		}
		to := time.Time{}
		if same {
			to = s.Began
		}
		if err := end(to); err != nil {
			return err
		}
		v = &version{sight: *s, key: key, last: s.Began, exchanges: 1}
	}
	return end(time.Time{})
}

// row makes the row of a version that another replaced at an instant; zero for none.
func (v *version) row(f *filler, to time.Time) tables.Row {
	r := f.row()
	r.host(v.key)
	r.set("crawl", tables.Text(v.key[2]))
	r.set("valid_from", tables.Instant(v.Began))
	r.set("valid_to", tables.Instant(to))
	r.set("last_seen", tables.Instant(v.last))
	r.set("exchanges", tables.Long(v.exchanges))
	r.set("url", tables.Text(v.URL))
	status := v.Status
	if status <= 0 || status > 999 {
		status = -1
	}
	r.set("status", tables.Short(int16(status))) //nolint:gosec // bounded
	r.set("redirect", tables.Some(v.Redirect))
	r.set("warc_filename", tables.Text(v.File))
	r.set("warc_record_offset", tables.Long(v.Offset))
	r.set("problem", tables.Some(v.Problem))
	if v.SHA256 != "" {
		r.set("sha256", tables.Text(v.SHA256))
		r.set("octets", tables.Long(int64(len(v.Body))))
		r.set("content", tables.Text(string(v.Body[:min(len(v.Body), robots.MaxBody)])))
		r.file(robots.ParseAll(v.Body))
	}
	return r.r
}

// file sets the columns of the content. Lists are bounded: each of 20,000 rules for 20,000 agents names all agents.
func (r row) file(f *robots.File) {
	var agents, rules, delays, prefs, maps listing
	known := map[string]bool{}
	for _, g := range f.Groups {
		var names []string
		for _, a := range g.Agents {
			name := strings.ToLower(a.Value)
			names = append(names, name)
			if !known[name] {
				known[name] = true
				agents.add(name)
			}
		}
		who := strings.Join(names, ",")
		for _, rule := range g.Rules {
			verb := " disallow: "
			if rule.Allow {
				verb = " allow: "
			}
			rules.add(who, verb, rule.Path)
		}
		delays.records(who, g.CrawlDelays, g.RequestRates)
		prefs.records(who, g.ContentSignals, g.ContentUsages)
	}
	prefs.records("*", f.Licenses)
	for _, m := range f.Sitemaps {
		maps.add(m.Value)
	}
	r.set("groups", whole32(int64(len(f.Groups))))
	for column, l := range map[string]*listing{"agents": &agents, "rules": &rules, "delays": &delays, "sitemaps": &maps, "preferences": &prefs} {
		r.set(column, tables.Texts(l.list))
		if l.over && r.r[r.at["problem"]].IsNull() {
			r.set("problem", tables.Text(ProblemCut))
		}
	}
	r.set("warnings", whole32(int64(len(f.Warnings))))
}

// listing is a list of bounded size.
type listing struct {
	list []string
	size int
	over bool // incomplete
}

func (l *listing) add(parts ...string) {
	size := perString
	for _, p := range parts {
		size += len(p)
	}
	if l.over = l.over || l.size+size > maxValue; l.over {
		return
	}
	l.size += size
	l.list = append(l.list, strings.Join(parts, ""))
}

func (l *listing) records(who string, all ...[]robots.Record) {
	for _, rec := range slices.Concat(all...) {
		l.add(who, " ", strings.ToLower(rec.Key), ": ", rec.Value)
	}
}
