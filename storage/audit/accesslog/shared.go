package accesslog

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
)

// hostLog is one log: that of a HOST, or of several that share a file, as nginx's packaged configuration writes one
// for all servers.
type hostLog struct {
	audit.HostLog
	stay
	sites   []*site
	files   []*reach
	agreed  map[string]bool // authorities with an exchange that stands in the logs
	clients map[string]bool // whence lines came that are the crawler's for sure, at most maxAgents
}

// site is a HOST whose log was given.
type site struct {
	host  string
	log   int      // of Comparison.logs
	names []string // of hosts that fall to a log without a HOST (nameOf): at most two
	named bool     // by a line of the log
	only  string   // the authority of all its exchanges; empty without one, or if there are several
	mixed bool     // there are several
	stay

	paired      bool
	first, last int64 // the seconds between which lines surely lie within the archive
}

// stay is when the crawler was there, as the archive tells it.
type stay struct {
	began, ended time.Time
	latest       time.Time // begin of an exchange
	robots       bool      // the first of them asked for robots.txt
}

func (s *stay) exchange(e *evidence.Exchange, end time.Time) {
	if s.began.IsZero() || e.Began.Before(s.began) {
		s.began, s.robots = e.Began, e.Robots
	}
	if e.Began.After(s.latest) {
		s.latest = e.Began
	}
	if end.After(s.ended) {
		s.ended = end
	}
}

// share gives every HOST its log. Those for which one file is named share all their files. A file is read once.
func (c *Comparison) share(logs []Log) {
	of := map[string]int{} // by file
	for _, l := range logs {
		host, file := strings.ToLower(l.Host), sameFile(l.Path)
		s, at := c.sites[host], len(c.logs)
		shared, known := of[file]
		switch {
		case s == nil && known:
			at = shared
		case s == nil:
			c.logs = append(c.logs, &hostLog{agreed: map[string]bool{}, clients: map[string]bool{}})
		default:
			at = s.log
		}
		if s == nil {
			s = &site{host: host, log: at}
			c.sites[host], c.logs[at].sites = s, append(c.logs[at].sites, s)
		}
		if known && shared != at {
			c.join(of, shared, at)
		}
		if of[file] = at; !known {
			c.o.Logs, c.files = append(c.o.Logs, Log{Host: host, Path: l.Path}), append(c.files, new(reach))
		}
	}
	for i, l := range c.o.Logs {
		h := c.logs[c.sites[l.Host].log]
		h.files, h.Files = append(h.files, c.files[i]), append(h.Files, l.Path)
	}
	for _, h := range c.logs {
		var names []string
		for _, s := range h.sites {
			if s.host != "" {
				names = append(names, s.host)
			}
		}
		h.Host = strings.Join(names, ", ")
	}
}

// join puts what is of one log to another.
func (c *Comparison) join(of map[string]int, from, to int) {
	for file, at := range of {
		if at == from {
			of[file] = to
		}
	}
	for _, s := range c.logs[from].sites {
		s.log = to
	}
	c.logs[to].sites = append(c.logs[to].sites, c.logs[from].sites...)
	c.logs[from].sites = nil
}

// sameFile returns one name for all paths of a file.
func sameFile(path string) string {
	if path == Stdin {
		return path
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// siteOf returns the HOST to which an authority falls, or nil.
func (c *Comparison) siteOf(authority string) *site {
	host, port := evidence.HostPort(authority)
	if host == "" {
		return nil
	}
	if s := c.sites[host+":"+port]; s != nil {
		return s
	}
	if s := c.sites[host]; s != nil {
		return s
	}
	return c.sites[""]
}

// nameOf names the host of an authority for a log without a HOST. A port that is not the default of its scheme is part of
// the name, for its server may well write another log.
func nameOf(authority string) string {
	host, port := evidence.HostPort(authority)
	if port == "80" || port == "443" {
		return host
	}
	return host + ":" + port
}

// name marks the sites that a line names. It reports whether there is one, or nobody says whose log it is.
func (h *hostLog) name(vhost string) bool {
	known, open := false, false
	for _, s := range h.sites {
		if s.isNamed(vhost) {
			s.named, known = true, true
		}
		open = open || s.host == "" && len(s.names) == 0
	}
	return known || open
}

func (s *site) isNamed(vhost string) bool {
	if s.host != "" {
		return names(vhost, s.host)
	}
	return slices.ContainsFunc(s.names, func(n string) bool { return names(vhost, bare(n)) })
}

// names reports whether a line that names vhost names host. Either may be without a port.
func names(vhost, host string) bool {
	return vhost == host || bare(vhost) == host || vhost == bare(host)
}

// bare is a host without its port.
func bare(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i]
	}
	return host
}

// candidates are the sites of which a line may be, among those that the crawler asked: those that it names, or all.
func (h *hostLog) candidates(vhost string) (all []*site) {
	var named []*site
	for _, s := range h.sites {
		if s.began.IsZero() {
			continue
		}
		all = append(all, s)
		if vhost != "" && s.isNamed(vhost) {
			named = append(named, s)
		}
	}
	if len(named) > 0 {
		return named
	}
	return all
}

// within reports whether a line surely lies within what the archive tells of its host: of each that it may be of, or,
// of an archive that is the whole, of one. An archive may be a part of a crawl, or another crawl may have come right
// before or after it.
func (h *hostLog) within(e *entry, skew time.Duration, whole bool) bool {
	some, all := false, true
	for _, s := range h.candidates(e.part(0)) {
		in := s.within(e, skew)
		some, all = some || in, all && in
	}
	return some && (all || whole)
}

// within is that of one site. If what is told of it does not begin with robots.txt, as crawls do, a server may have
// written late what was cut off before.
func (s *site) within(e *entry, skew time.Duration) bool {
	µs, late := skew.Microseconds(), int64(0)
	if !s.robots {
		late = unknownTook.Microseconds()
	}
	inside := func(at int64) bool {
		return s.paired && s.first+late < at && at < s.last ||
			at > s.began.UnixMicro()+µs+late && at+second < s.latest.UnixMicro()-µs
	}
	return inside(e.earliest) && inside(e.latest)
}

// near reports whether a line that is not surely within what the archive tells of its host may be within it, as the
// clocks are known.
func (h *hostLog) near(e *entry, skew time.Duration) bool {
	µs := skew.Microseconds()
	return slices.ContainsFunc(h.candidates(e.part(0)), func(s *site) bool {
		return e.from >= s.began.UnixMicro()-µs-second && e.from <= s.ended.UnixMicro()+µs
	})
}

// reach is what one file of a log surely holds. A file is taken for lines that a server wrote one after the other,
// between two instants that are not in it. What ended before the first or began after the second is not missing.
//
// Two things bound these instants. The seconds of the lines, whoever's they are: a line was written at its second or
// later, so what ended before the second of the last, by the server's clock, was written before the file ends. When
// the first was written is less certain, for Apache stamps the beginning: the latest second of the first few is
// taken, of which not all will be slow. And the lines of the crawler, by its own clock: what began after another
// exchange ended was logged after it.
type reach struct {
	first, last []int64 // seconds of the first and the last few lines, in Unix microseconds
	latest      int64   // second so far
	disorder    int64   // by how much a line's second lies before one that was written earlier, at most

	agree bool  // an exchange stands in it
	ended int64 // the earliest end of those that do, by the crawler's clock
	began int64 // the latest begin

	from, to int64 // what began after from and ended before to is surely in it
}

const (
	fewLines = 16
	second   = int64(time.Second / time.Microsecond)

	// nearby is by how much server and crawler may see an end at different instants, and lines of a second be out of
	// order. Servers that write through buffers put lines further out of order; up to mostDisorder of that is allowed
	// for.
	nearby       = 2 * second
	mostDisorder = 60 * second
)

// line takes the second of the file's next line.
func (r *reach) line(at int64) {
	if len(r.first) < fewLines {
		r.first = append(r.first, at)
	}
	if len(r.last) == fewLines {
		r.last = append(r.last[:0], r.last[1:]...)
	}
	r.last = append(r.last, at)
	if len(r.first) == 1 {
		r.latest = at
	}
	r.disorder = max(r.disorder, r.latest-at)
	r.latest = max(r.latest, at)
}

// agrees takes an exchange that stands in the file, or several of which one does.
func (r *reach) agrees(began, ended int64) {
	if !r.agree || ended < r.ended {
		r.ended = ended
	}
	if !r.agree || began > r.began {
		r.began = began
	}
	r.agree = true
}

// close computes what the file surely holds. skew is by how much the clocks may differ.
func (r *reach) close(skew int64) {
	if len(r.first) == 0 {
		return
	}
	margin := nearby + min(r.disorder, mostDisorder)
	r.from, r.to = slices.Max(r.first)+second+skew+margin, slices.Min(r.last)-skew-margin
	if r.agree {
		r.from, r.to = min(r.from, r.ended+margin), max(r.to, r.began-margin)
	}
}

// join makes one of two files that overlap.
func (r *reach) join(o *reach) {
	from, to := min(r.from, o.from), max(r.to, o.to)
	r.from, r.to, o.from, o.to = from, to, from, to
}

func (r *reach) holds(began, ended int64) bool {
	return len(r.first) > 0 && began > r.from && ended < r.to
}

// held reports whether an exchange would surely stand in one of the files. Files that reach over the same time are
// those of servers that share the work: it may stand in any, so all must reach over it.
func held(files []*reach, began, ended int64) bool {
	for _, f := range files {
		if !f.holds(began, ended) {
			continue
		}
		beside := func(g *reach) bool { return max(f.from, g.from) < min(f.to, g.to) && !g.holds(began, ended) }
		if !slices.ContainsFunc(files, beside) {
			return true
		}
	}
	return false
}
