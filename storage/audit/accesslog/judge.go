package accesslog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"curtsy/robots/naive"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/sorted"
)

// Robots is the robots.txt of a host, in a file.
type Robots struct {
	Host string // empty for all hosts that have none of their own
	Path string
}

// JudgeOptions say what is judged by logs alone.
type JudgeOptions struct {
	Logs   []Log
	Stdin  io.Reader // what Path Stdin stands for
	Robots []Robots

	Token string         // the product token of the crawler; lines that name it are its own
	From  []netip.Prefix // addresses of the crawler: lines from there are its own, too, and it is one crawler
	Floor time.Duration  // the shortest pause to require. Zero means what robots.txt asks for
	Skew  time.Duration  // by how much the clocks of servers that share a host may differ

	Limit   int    // how many findings of a code and host are kept. Zero means 100
	TempDir string // for what does not fit into Memory; empty means the system's
	Memory  int    // in octets. Zero means 16 MiB
}

// ErrNobody says that no line of the logs is the crawler's.
var ErrNobody = errors.New("no line of the access logs is the crawler's")

// maxRobots is how much of a robots.txt is read: one byte more than counts (RFC 9309 2.5), which shows whether its last line is whole.
const maxRobots = 500<<10 + 1

// Judge says by access logs and robots.txt alone how a crawler behaved that left no archive. What a log does not hold
// is no violation; it is counted as unprovable, and said.
func Judge(ctx context.Context, o JudgeOptions) (*audit.Result, error) {
	if o.Limit == 0 {
		o.Limit = 100
	}
	if o.Memory == 0 {
		o.Memory = 16 << 20
	}
	j := &judge{o: o, r: &audit.Result{Version: audit.Version, Level: audit.LogAlone},
		all:  sorted.New(o.TempDir, o.Memory),
		logs: map[string]*audit.HostLog{}, rules: map[string]*rules{}, found: map[string]int{},
		counts: map[finding.Code]*audit.Count{}, told: map[string]bool{},
		overlaps: overlaps{dir: o.TempDir}}
	r, err := j.run(ctx)
	if err = errors.Join(err, j.all.Close(), j.overlaps.close()); err != nil {
		return nil, err
	}
	return r, nil
}

// judge is one judgement by logs.
type judge struct {
	o      JudgeOptions
	r      *audit.Result
	all    *sorted.Sorter
	spans  []span
	logs   map[string]*audit.HostLog
	rules  map[string]*rules // by host
	found  map[string]int
	counts map[finding.Code]*audit.Count
	told   map[string]bool // what was said once
	by     []string        // which robots.txt decided for which host
	given  bool            // a given one did
	buf    []byte

	overlaps overlaps // of files
}

// rules are what a robots.txt asks of the crawler.
type rules struct {
	path  string
	lines *naive.Reading
	delay time.Duration
}

// span is the time of a file's lines, whoever's they are.
type span struct {
	host        string
	first, last time.Time
}

func (j *judge) run(ctx context.Context) (*audit.Result, error) {
	for _, f := range j.o.Robots {
		if err := j.robots(f); err != nil {
			return nil, err
		}
	}
	for i, l := range j.o.Logs {
		if err := j.read(ctx, i, l); err != nil {
			return nil, fmt.Errorf("audit: access log %s: %w", l.Path, err)
		}
	}
	if _, err := j.overlaps.find(ctx); err != nil {
		return nil, err
	}
	var h *visited
	for b, err := range j.all.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		host, l := parseVisit(b)
		if copied, _ := j.overlaps.copied(l.log, l.number); copied {
			told := j.logs[strings.ToLower(j.o.Logs[l.log].Host)]
			told.Ours, told.Copies = told.Ours-1, told.Copies+1
			continue
		}
		if h == nil || h.name != host {
			j.leave(h)
			h = j.enter(host)
		}
		j.visit(h, &l)
	}
	j.leave(h)
	if h == nil {
		return nil, fmt.Errorf("%w: none names %s", ErrNobody, j.o.Token)
	}
	return j.conclude(), nil
}

// robots reads a robots.txt.
func (j *judge) robots(from Robots) error {
	f, err := os.Open(from.Path)
	if err != nil {
		return fmt.Errorf("audit: robots.txt: %w", err)
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxRobots))
	if err != nil {
		return fmt.Errorf("audit: robots.txt: %w", err)
	}
	seconds, _ := naive.Delay(body, j.o.Token)
	j.rules[from.Host] = &rules{
		path:  from.Path,
		lines: naive.Read("rfc9309", body, j.o.Token),
		delay: time.Duration(min(seconds, 1e6) * float64(time.Second)),
	}
	return nil
}

// rulesOf are those of a host, or nil.
func (j *judge) rulesOf(host string) *rules {
	for _, name := range []string{host, bare(host), ""} {
		if r := j.rules[name]; r != nil {
			return r
		}
	}
	return nil
}

// read takes the lines of a log that are the crawler's.
func (j *judge) read(ctx context.Context, number int, log Log) error {
	name := strings.ToLower(log.Host)
	told := j.logs[name]
	if told == nil {
		told = &audit.HostLog{Host: name}
		j.logs[name] = told
		j.r.Logs = append(j.r.Logs, told)
	}
	told.Files = append(told.Files, log.Path)
	j.overlaps.begin(slices.Index(j.r.Logs, told))
	s, file := span{host: name}, evidence.File{Name: log.Path}
	err := each(ctx, log.Path, j.o.Stdin, func(l numbered) error {
		if err := j.overlaps.read(&l); err != nil {
			return err
		}
		told.Lines++
		file.Records++
		if s.first.IsZero() || l.time.Before(s.first) {
			s.first = l.time
		}
		if l.time.After(s.last) {
			s.last = l.time
		}
		told.Agentless = told.Agentless || !l.combined
		if name != "" && l.vhost != "" && l.vhost != name && bare(l.vhost) != name ||
			!namesProduct(l.agent, j.o.Token) && !l.from(j.o.From) {
			told.Others++
			return nil
		}
		told.Ours++
		host := name
		if host == "" {
			host = l.vhost
		}
		j.buf = appendVisit(j.buf[:0], host, number, &l)
		return j.all.Add(j.buf)
	}, func(u *unread) error {
		told.Unread++
		j.find(unreadable(log.Path, u))
		return j.overlaps.unread(u)
	})
	if told.First.IsZero() || !s.first.IsZero() && s.first.Before(told.First) {
		told.First = s.first
	}
	if s.last.After(told.Last) {
		told.Last = s.last
	}
	j.spans, j.r.Files = append(j.spans, s), append(j.r.Files, file)
	return err
}

// reaches reports whether the logs of a host hold all of a time: one file after the other, without a hole in which
// one may be missing.
func (j *judge) reaches(host string, from, to time.Time) bool {
	const hole = 10 * time.Minute
	spans := slices.Clone(j.spans)
	slices.SortFunc(spans, func(a, b span) int { return a.first.Compare(b.first) })
	var begun, ended time.Time
	for _, s := range spans {
		if s.host != "" && s.host != host && s.host != bare(host) || s.first.IsZero() {
			continue
		}
		if begun.IsZero() || s.first.After(ended.Add(hole)) {
			begun = s.first
		}
		if s.last.After(ended) {
			ended = s.last
		}
		if !begun.After(from) && !ended.Before(to) {
			return true
		}
	}
	return false
}

// shared reports whether files of a host tell of the same time, as those of servers do that share the work.
func (j *judge) shared(host string) bool {
	var mine []span
	for _, s := range j.spans {
		if s.host == "" || s.host == host || s.host == bare(host) {
			mine = append(mine, s)
		}
	}
	for i, a := range mine {
		for _, b := range mine[i+1:] {
			if a.first.Before(b.last) && b.first.Before(a.last) {
				return true
			}
		}
	}
	return false
}
