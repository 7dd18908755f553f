package accesslog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/sorted"
)

// Log is an access log.
type Log struct {
	Host string // HOST or HOST:PORT whose log it is; empty when there is one host, or when the lines name it
	Path string // Stdin for the standard input
}

type Options struct {
	Logs   []Log
	Stdin  io.Reader      // read for Path Stdin
	Skew   time.Duration  // by which the clocks of server and crawler may differ. Zero means 2 s
	Tokens []string       // product tokens whose lines are the crawler's. Empty means those in the archive
	From   []netip.Prefix // the crawler's addresses: lines from there are its own, with any user agent

	// Whole marks an archive that holds the whole crawl, as one beside its ledger does. Another crawl may still have
	// requested robots.txt right before or after it.
	Whole bool

	// Crashed and TakenDown report whether a request sent between from and to may be missing from the archive because
	// the crawl was killed, or because its record was taken down. Nil means never.
	Crashed, TakenDown func(from, to time.Time) bool

	TempDir string // for data beyond Memory; empty means the system's
	Memory  int    // in bytes. Zero means 16 MiB
}

// Comparison is an audit.Witness that compares an archive with access logs of its hosts in both directions, as far as
// one covers the other. It sorts both by request and time, so neither must be in order and memory is bounded.
type Comparison struct {
	audit.Silent

	o       Options          // with each file once
	sites   map[string]*site // by HOST
	logs    []*hostLog       // one without sites became part of another
	files   []*reach         // of o.Logs, one each
	all     *sorted.Sorter   // entries
	unread  *sorted.Sorter   // those without a partner that may be of requests which the server did not read as a whole
	left    *sorted.Sorter   // the others without one
	agents  map[string]bool  // of the archive's requests, at most maxAgents
	tokens  map[string]bool  // that the archive names, in lower case, at most maxAgents
	without int64            // exchanges with hosts without a log
	buf     []byte

	copies copies            // of lines
	common map[[2]int]common // of two of files
}

var _ audit.Witness = (*Comparison)(nil)

const (
	maxAgents   = 256
	unknownTook = time.Minute // how long an exchange without a known end may have taken

	required = "every archived request is in the site's access log, with its status"
	denied   = "every request of the crawler in the site's access log is in the archive"
)

func Compare(o Options) *Comparison {
	if o.Skew == 0 {
		o.Skew = 2 * time.Second
	}
	if o.Memory == 0 {
		o.Memory = 16 << 20
	}
	if o.Crashed == nil {
		o.Crashed = func(_, _ time.Time) bool { return false }
	}
	if o.TakenDown == nil {
		o.TakenDown = func(_, _ time.Time) bool { return false }
	}
	c := &Comparison{
		o: o, sites: map[string]*site{}, agents: map[string]bool{}, tokens: map[string]bool{},
		all: sorted.New(o.TempDir, o.Memory/2), left: sorted.New(o.TempDir, o.Memory/4),
		unread: sorted.New(o.TempDir, o.Memory/4),
		common: map[[2]int]common{},
	}
	c.o.Logs = nil
	c.share(o.Logs)
	for _, t := range o.Tokens {
		c.token(t)
	}
	return c
}

func (c *Comparison) token(t string) {
	if t != "" && len(c.tokens) < maxAgents {
		c.tokens[strings.ToLower(t)] = true
	}
}

func (c *Comparison) Info(_ context.Context, in *evidence.Info, _ finding.Report) error {
	if len(c.o.Tokens) == 0 {
		c.token(in.Token)
	}
	return nil
}

func (c *Comparison) Exchange(_ context.Context, e *evidence.Exchange, _ finding.Report) error {
	if len(c.agents) < maxAgents && e.Agent != "" && !c.agents[e.Agent] {
		c.agents[e.Agent] = true
		if len(c.o.Tokens) == 0 {
			c.token(evidence.TokenOf(e.Agent))
		}
	}
	s := c.siteOf(e.Authority)
	if s == nil {
		c.without++
		return nil
	}
	if name := nameOf(e.Authority); s.host == "" && len(s.names) < 2 && !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
	if s.mixed = s.mixed || s.only != "" && s.only != e.Authority; s.mixed {
		s.only = ""
	} else {
		s.only = e.Authority
	}
	took := e.Took
	if !e.Ended {
		took = unknownTook
	}
	end, h := e.Began.Add(took+e.Resolution), c.logs[s.log]
	h.Exchanges++
	h.exchange(e, end)
	s.exchange(e, end)
	method := e.Method
	if method == "" {
		method = "GET"
	}
	x := entry{
		key: keyOf(s.log, method, e.Target), of: s.log, status: uint16(e.Status), text: exchangeText(e),
		loose: !e.Answered || e.Status == 0 || e.Cut != "" && !leftOut(e), began: e.Began.UnixMicro(), ended: end.UnixMicro(),
		// A server stamps an instant of the exchange, and writes the second that it lies in.
		from: e.Began.Add(-c.o.Skew - time.Second + time.Microsecond).UnixMicro(), until: end.Add(c.o.Skew).UnixMicro(),
	}
	x.earliest, x.latest = x.began, x.ended
	if x.loose { // a server may notice the client's disconnect late
		x.until += unknownTook.Microseconds()
	}
	return c.add(c.all, &x)
}

// leftOut reports whether the crawler left a received body out of the archive (noarchive); the metadata has its digest.
func leftOut(e *evidence.Exchange) bool {
	l := e.Line
	return l != nil && e.Cut == evidence.CutUnread && l.Payload != "" && l.Reason != storage.ReasonAborted &&
		l.Outcome != storage.OutcomeFailed && l.Outcome != storage.OutcomeDeferred
}

func (c *Comparison) add(to *sorted.Sorter, e *entry) error {
	c.buf = e.append(c.buf[:0])
	return to.Add(c.buf)
}

// ErrManyHosts reports a log without a HOST of an archive with several hosts.
var ErrManyHosts = errors.New("the archive has several hosts or ports: name the one of the log")

func (c *Comparison) Close(ctx context.Context, r *audit.Result, found finding.Report) (err error) {
	defer func() { err = errors.Join(err, c.all.Close(), c.unread.Close(), c.left.Close()) }()
	for i, l := range c.o.Logs {
		if err := c.read(ctx, i, l, found); err != nil {
			return fmt.Errorf("audit: access log %s: %w", l.Path, err)
		}
	}
	if err := c.compare(ctx, c.all, c.setAside); err != nil {
		return err
	}
	if err := c.compare(ctx, c.unread, func(e *entry) error { return c.add(c.left, e) }); err != nil {
		return err
	}
	for _, f := range c.files {
		f.close(c.o.Skew.Microseconds())
	}
	c.joinCopies()
	for b, err := range c.left.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		e := parseEntry(b)
		c.lonely(c.logs[e.of], &e, found)
	}
	c.report(r)
	return nil
}

func (c *Comparison) read(ctx context.Context, number int, log Log, found finding.Report) error {
	s := c.sites[log.Host]
	if len(s.names) > 1 {
		return fmt.Errorf("%w (%s, %s, …)", ErrManyHosts, s.names[0], s.names[1])
	}
	h := c.logs[s.log]
	c.files[number].of = s.log
	return each(ctx, log.Path, c.o.Stdin, func(l numbered) error { return c.line(s.log, number, l) }, func(u *unread) {
		h.Unread++
		found(unreadable(log.Path, u))
	})
}

const formats = "lines in the Common or the Combined Log Format, or objects of JSON"

func unreadable(path string, u *unread) finding.Finding {
	return finding.Finding{Code: finding.LogLine, Note: true, Place: finding.Place{File: path}, Required: formats,
		Observed: u.Error()}
}

func (c *Comparison) line(log, file int, l numbered) error {
	h := c.logs[log]
	h.Line(l.time, l.combined)
	at := l.time.UnixMicro()
	c.files[file].line(at)
	if l.agent == "" && isUnread(l.status) { // nor has the server read the host
		l.vhost = ""
	}
	known := l.vhost == "" || h.name(l.vhost)
	mine, alike := c.mine(&l.line)
	if !mine {
		h.Others++
		return nil
	}
	if h.Exchanges == 0 || l.time.Before(h.began.Add(-c.o.Skew-time.Second)) ||
		l.time.After(h.ended.Add(c.o.Skew+unknownTook)) {
		if known {
			h.Outside++
		} else {
			h.Others++
		}
		return nil
	}
	h.Ours++
	return c.add(c.all, &entry{
		key: keyOf(log, l.method, l.target), of: log, status: uint16(l.status), from: at, until: at, number: l.number,
		log: uint16(file), sum: l.sum,
		earliest: at, latest: at, logged: true, cut: l.cut, vague: c.vague(&l.line) || !known, alien: !known,
		alike: alike, text: strings.Join([]string{l.vhost, l.remote, l.method, l.target}, "\x00"),
	})
}

// mine reports whether a line is, or may be, the crawler's; alike, whether only its product name matches.
func (c *Comparison) mine(l *line) (mine, alike bool) {
	if l.from(c.o.From) || c.vague(l) || l.combined && c.agents[l.agent] && len(c.o.Tokens) == 0 {
		return true, false
	}
	for token := range c.tokens {
		if namesProduct(l.agent, token) {
			return true, len(c.o.Tokens) == 0
		}
	}
	return false, false
}

// vague reports whether a line has no user agent, as in a log without agents, or when nginx refuses a request (a stray %)
// before it reads the header fields. Such a line counts as the crawler's if it fits an exchange.
func (c *Comparison) vague(l *line) bool { return l.agent == "" && len(c.o.From) == 0 }

// isUnread reports whether a server may respond with this status before it reads the header fields (494 is nginx's).
func isUnread(status int) bool { return slices.Contains([]int{400, 408, 414, 431, 494}, status) }

// namesProduct reports whether a User-Agent names a product (RFC 9110 10.1.5), in any case of letters.
func namesProduct(agent, token string) bool {
	agent, token = strings.ToLower(agent), strings.ToLower(token)
	part := func(c byte) bool { return 'a' <= c && c <= 'z' || c == '-' || c == '_' }
	for at := 0; token != ""; at++ {
		i := strings.Index(agent[at:], token)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(token)
		if (at == 0 || !part(agent[at-1])) && (end == len(agent) || !part(agent[end])) {
			return true
		}
	}
	return false
}

// hostLog is the log of a HOST, or of several that share a file, as in nginx's packaged configuration.
type hostLog struct {
	audit.HostLog
	stay
	sites   []*site
	files   []*reach
	agreed  map[string]bool // authorities with an exchange in the logs
	clients map[string]bool // sources of lines that are surely the crawler's, at most maxAgents
}

type site struct {
	host  string
	log   int      // of Comparison.logs
	names []string // of hosts that fall to a log without a HOST (nameOf): at most two
	named bool     // by a line of the log
	only  string   // the authority of all its exchanges; empty without one, or if there are several
	mixed bool     // there are several
	stay

	sure bounds // the seconds between which lines surely lie within the archive
}

// stay is when the crawler visited, according to the archive.
type stay struct {
	began, ended time.Time
	latest       time.Time // begin of an exchange
	robots       bool      // the first of them requested robots.txt
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

// share assigns each HOST its log. HOSTs with a common file share all their files. Each file is read once.
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
	return cmp.Or(c.sites[host+":"+port], c.sites[host], c.sites[""])
}

// nameOf names the host of an authority, with its port unless that is a default: another port may have another log.
func nameOf(authority string) string {
	host, port := evidence.HostPort(authority)
	if port == "80" || port == "443" {
		return host
	}
	return host + ":" + port
}

// name marks the sites that a line names. It reports whether there is one, or no HOST is known.
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

func bare(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i]
	}
	return host
}

// candidates returns the requested sites that a line may belong to: those it names, or all.
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

// within reports whether a line surely lies within the archived time of all its candidates, or, if the archive is whole,
// of one. An archive may be part of a crawl, and another crawl may come right before or after it.
func (h *hostLog) within(e *entry, skew time.Duration, whole bool) bool {
	some, all := false, true
	for _, s := range h.candidates(e.part(0)) {
		in := s.within(e, skew)
		some, all = some || in, all && in
	}
	return some && (all || whole)
}

// within allows for a late line of an earlier, cut request where the archive does not begin with robots.txt.
func (s *site) within(e *entry, skew time.Duration) bool {
	µs, late := skew.Microseconds(), int64(0)
	if !s.robots {
		late = unknownTook.Microseconds()
	}
	inside := func(at int64) bool {
		return s.sure.some && s.sure.first+late < at && at < s.sure.last ||
			at > s.began.UnixMicro()+µs+late && at+second < s.latest.UnixMicro()-µs
	}
	return inside(e.earliest) && inside(e.latest)
}

// near reports whether a line may be within the archived time of its host, as far as clocks are known.
func (h *hostLog) near(e *entry, skew time.Duration) bool {
	µs := skew.Microseconds()
	return slices.ContainsFunc(h.candidates(e.part(0)), func(s *site) bool {
		return e.from >= s.began.UnixMicro()-µs-second && e.from <= s.ended.UnixMicro()+µs
	})
}

// reach is the time that one file of a log surely holds. A server writes its lines one after the other, so requests that
// ended before the first or began after the last are not missing. The seconds of all lines bound it by the server's clock:
// Apache stamps the beginning, so the latest of the first few counts, of which not all will be slow. The crawler's lines
// bound it by the crawler's clock: a request that began after another ended is logged after it.
type reach struct {
	of               int     // log
	first, last      []int64 // seconds of the first and the last few lines, in Unix microseconds
	earliest, latest int64   // second so far
	disorder         int64   // by how much a line's second lies before one that was written earlier, at most

	agreed bounds // the earliest end and the latest begin of exchanges in it, by the crawler's clock

	from, to int64 // an exchange that began after from and ended before to is surely in it
}

const (
	fewLines = 16
	second   = int64(time.Second / time.Microsecond)

	// nearby is how far server and crawler may disagree on an end, and lines of a second be out of order. Servers that
	// buffer their log write further out of order; mostDisorder bounds that.
	nearby       = 2 * second
	mostDisorder = 60 * second
)

func (r *reach) line(at int64) {
	if len(r.first) < fewLines {
		r.first = append(r.first, at)
	}
	if len(r.last) == fewLines {
		r.last = append(r.last[:0], r.last[1:]...)
	}
	r.last = append(r.last, at)
	if len(r.first) == 1 {
		r.earliest, r.latest = at, at
	}
	r.earliest = min(r.earliest, at)
	r.disorder = max(r.disorder, r.latest-at)
	r.latest = max(r.latest, at)
}

func (r *reach) close(skew int64) {
	if len(r.first) == 0 {
		return
	}
	margin := nearby + min(r.disorder, mostDisorder)
	r.from, r.to = slices.Max(r.first)+second+skew+margin, slices.Min(r.last)-skew-margin
	if r.agreed.some {
		r.from, r.to = min(r.from, r.agreed.first+margin), max(r.to, r.agreed.last-margin)
	}
}

// join merges two files that overlap. It reports whether they differed.
func (r *reach) join(o *reach) bool {
	if r.from == o.from && r.to == o.to {
		return false
	}
	from, to := min(r.from, o.from), max(r.to, o.to)
	r.from, r.to, o.from, o.to = from, to, from, to
	return true
}

func (r *reach) holds(began, ended int64) bool {
	return len(r.first) > 0 && began > r.from && ended < r.to
}

// held reports whether an exchange would surely be in one of the files. Files that cover the same time are of servers that
// share the work, so all of those must cover it.
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
