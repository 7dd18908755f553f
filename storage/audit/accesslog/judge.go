package accesslog

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"curtsy/robots/naive"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pauses"
	"curtsy/storage/plainly"
	"curtsy/storage/sorted"
)

type Robots struct {
	Host string // empty for all hosts without a separate log
	Path string
}

type JudgeOptions struct {
	Logs   []Log
	Stdin  io.Reader // the input for Path Stdin
	Robots []Robots

	Token string         // the crawler's product token; lines that name it are its own
	From  []netip.Prefix // the crawler's addresses: all lines from there are its own, as one client
	Floor time.Duration  // the shortest delay to require. Zero means that of robots.txt
	Skew  time.Duration  // by how much the clocks of servers that share a host may differ

	Limit   int    // how many findings of a code and host are kept. Zero means 100
	TempDir string // for data beyond Memory; empty means the system's
	Memory  int    // in octets. Zero means 16 MiB
}

var ErrNobody = errors.New("no line of the access logs is the crawler's")

// maxRobots is how much of a robots.txt is read: one byte more than counts (RFC 9309 2.5), which shows whether its last line is whole.
const maxRobots = 500<<10 + 1

// Judge judges a crawler by only access logs and robots.txt. Checks that a log cannot decide count as unprovable.
func Judge(ctx context.Context, o JudgeOptions) (*audit.Result, error) {
	if o.Memory == 0 {
		o.Memory = 16 << 20
	}
	j := &judge{Tally: audit.NewTally(audit.LogAlone, o.Limit), o: o, all: sorted.New(o.TempDir, o.Memory),
		logs: map[string]*audit.HostLog{}, rules: map[string]*rules{}, notes: map[string]bool{}}
	r, err := j.run(ctx)
	if err = errors.Join(err, j.all.Close()); err != nil {
		return nil, err
	}
	return r, nil
}

type judge struct {
	*audit.Tally

	o     JudgeOptions
	all   *sorted.Sorter
	spans []*audit.HostLog // the lines of each file, of all clients
	logs  map[string]*audit.HostLog
	rules map[string]*rules // by host
	notes map[string]bool   // messages already added
	by    []string          // which robots.txt decided for which host
	given bool              // a given one did
	buf   []byte
}

type rules struct {
	path  string
	lines *naive.Reading
	delay time.Duration
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
	var h *visited
	for b, err := range j.all.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		host, l := parseVisit(b)
		if h == nil || h.name != host {
			j.leave(h)
			h = j.enter(host)
		}
		if len(h.copies.take([16]byte{}, l.time.Unix(), l.sum, uint16(l.log))) > 0 {
			told := j.logs[strings.ToLower(j.o.Logs[l.log].Host)]
			told.Ours, told.Copies = told.Ours-1, told.Copies+1
			continue
		}
		j.visit(h, &l)
	}
	j.leave(h)
	if h == nil {
		return nil, fmt.Errorf("%w: none names %s", ErrNobody, j.o.Token)
	}
	return j.conclude(), nil
}

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

func (j *judge) read(ctx context.Context, number int, log Log) error {
	name := strings.ToLower(log.Host)
	total := j.logs[name]
	if total == nil {
		total = &audit.HostLog{Host: name}
		j.logs[name] = total
		j.Logs = append(j.Logs, total)
	}
	total.Files = append(total.Files, log.Path)
	s := &audit.HostLog{Host: name}
	err := each(ctx, log.Path, j.o.Stdin, func(l numbered) error {
		s.Line(l.time, l.combined)
		total.Line(l.time, l.combined)
		if name != "" && l.vhost != "" && l.vhost != name && bare(l.vhost) != name ||
			!namesProduct(l.agent, j.o.Token) && !l.from(j.o.From) {
			total.Others++
			return nil
		}
		total.Ours++
		host := name
		if host == "" {
			host = l.vhost
		}
		j.buf = appendVisit(j.buf[:0], host, number, &l)
		return j.all.Add(j.buf)
	}, func(u *unread) {
		total.Unread++
		j.Find(unreadable(log.Path, u), nil)
	})
	j.spans, j.Files = append(j.spans, s), append(j.Files, evidence.File{Name: log.Path, Records: s.Lines})
	return err
}

// reaches reports whether the logs of a host hold all of a time, without a gap between files.
func (j *judge) reaches(host string, from, to time.Time) bool {
	const hole = 10 * time.Minute
	spans := slices.Clone(j.spans)
	slices.SortFunc(spans, func(a, b *audit.HostLog) int { return a.First.Compare(b.First) })
	var start, ended time.Time
	for _, s := range spans {
		if s.Host != "" && s.Host != host && s.Host != bare(host) || s.Lines == 0 {
			continue
		}
		if start.IsZero() || s.First.After(ended.Add(hole)) {
			start = s.First
		}
		if s.Last.After(ended) {
			ended = s.Last
		}
		if !start.After(from) && !ended.Before(to) {
			return true
		}
	}
	return false
}

// shared reports whether files of a host cover the same time, as those of servers that share the work do.
func (j *judge) shared(host string) bool {
	var mine []*audit.HostLog
	for _, s := range j.spans {
		if s.Host == "" || s.Host == host || s.Host == bare(host) {
			mine = append(mine, s)
		}
	}
	for i, a := range mine {
		for _, b := range mine[i+1:] {
			if a.First.Before(b.Last) && b.First.Before(a.Last) {
				return true
			}
		}
	}
	return false
}

// maxDecided bounds the hosts whose deciding robots.txt the result names.
const maxDecided = 100

func (j *judge) unprove(h *visited, what finding.Code, why string, gap time.Duration) {
	if gap > 0 || what == finding.Gap {
		gap += h.fuzzy
	}
	j.Doubt(finding.Doubt{What: what, Why: why, Most: gap}, h.shown)
}

func (j *judge) find(h *visited, v *visit, code finding.Code, required, observed string) {
	j.Find(finding.Finding{
		Code: code, Authority: h.shown.Authority, URL: v.target, Time: v.time,
		Place:    finding.Place{File: j.o.Logs[v.log].Path},
		Required: required, Observed: fmt.Sprintf("line %d: %s", v.number, observed),
	}, h.shown)
}

func (j *judge) note(s string) {
	if !j.notes[s] && len(j.notes) < 100 {
		j.notes[s] = true
		j.CannotShow = append(j.CannotShow, s)
	}
}

func (j *judge) conclude() *audit.Result {
	r := j.Counted()
	said := struct {
		*audit.Result
		JudgeOptions
		Decided     []string
		More        int
		Paced, Used bool // a pause was required; a given robots.txt decided
	}{Result: r, JudgeOptions: j.o, Decided: j.by[:min(len(j.by), maxDecided)], More: max(len(j.by)-maxDecided, 0), Used: j.given}
	said.Paced = j.o.Floor > 0 || slices.ContainsFunc(slices.Collect(maps.Values(j.rules)), func(r *rules) bool { return r.delay > 0 })
	r.Measures = measures(said)
	for _, s := range cannotShow(said) {
		j.note(s)
	}
	return r
}

var (
	measures = plainly.Sentences(`robots.txt requested before pages, and again after 24 h, where the log reaches back far enough (RFC 9309 2.2, 2.4)
nothing that robots.txt forbids {{.Token}} (RFC 9309 2.2), and nothing while it is unavailable by the log (2.3.1.4)
GET and HEAD only, with a User-Agent that names the crawler
{{range .Decided}}{{.}}
{{end}}{{if .More}}robots.txt of {{.More}} more hosts
{{end}}{{if .Paced}}delays as Crawl-delay or --floor requires: too short if no instants within the seconds of the log fit them{{end}}`)
	cannotShow = plainly.Sentences(`{{if .Used}}that the given robots.txt is the one that the site served then
{{end}}how long requests took, and thus that a delay was long enough: the delay shown is the longest that is possible
Retry-After, RateLimit and other contents of responses; where robots.txt redirected to; cookies and other fields of requests
requests under a name that does not contain {{.Token}}{{if .JudgeOptions.From}}, from other addresses than those given{{else}}: give the crawler's addresses (--from){{end}}
requests before the log begins, after it ends, or to other hosts; and responses of a cache in front of the server
{{range .Result.Logs}}{{if .Agentless}}lines without a user agent: only --from shows whose they are
{{end}}{{if .Unread}}{{.Unread}} lines that cannot be read
{{end}}{{end}}`)
)

// visit is a line of the crawler. It is cut if the server did not read the request line as a whole.
type visit struct {
	numbered

	log int // which file
}

// appendVisit writes a line so that lines sort by host, time and place.
func appendVisit(b []byte, host string, log int, l *numbered) []byte {
	b = append(b, strings.ReplaceAll(host, "\x00", "")...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(l.time.Unix())^1<<63)
	b = binary.BigEndian.AppendUint16(b, uint16(log))
	b = binary.BigEndian.AppendUint64(b, uint64(l.number))
	b = binary.BigEndian.AppendUint64(b, l.sum)
	b = binary.BigEndian.AppendUint16(b, uint16(l.status))
	b = append(b, flags(l.combined, l.cut && isUnread(l.status)))
	for _, s := range []string{l.remote, l.agent, l.method} {
		b = append(b, strings.ReplaceAll(s[:min(len(s), 1000)], "\x00", "")...)
		b = append(b, 0)
	}
	return append(b, l.target...)
}

func parseVisit(b []byte) (host string, v visit) {
	host, rest, _ := strings.Cut(string(b), "\x00")
	r := []byte(rest)
	v.time = time.Unix(int64(binary.BigEndian.Uint64(r)^1<<63), 0).UTC()
	v.log = int(binary.BigEndian.Uint16(r[8:]))
	v.number = int64(binary.BigEndian.Uint64(r[10:]))
	v.sum = binary.BigEndian.Uint64(r[18:])
	v.status = int(binary.BigEndian.Uint16(r[26:]))
	v.combined, v.cut = r[28]&1 != 0, r[28]&2 != 0
	p := strings.SplitN(rest[29:], "\x00", 4)
	v.remote, v.agent, v.method, v.target = p[0], p[1], p[2], p[3]
	return host, v
}

// visited is a host while its lines are judged, in the order of their seconds.
type visited struct {
	name  string
	shown *audit.Host
	rules *rules
	pace  time.Duration
	fuzzy time.Duration // the resolution of its seconds

	policy    string    // by the last answer for robots.txt: "", "rules", "none", "unreachable", "unknown"
	requested time.Time // when robots.txt was last requested
	absent    int       // the status of the last answer without one
	free      int       // that of the last such answer that allowed a request
	used      bool      // the given robots.txt decided
	busy      time.Time // the last 429 or 503

	copies  copies
	clients map[string]*client
	gaps    pauses.Sample // upper bounds: whole seconds between two lines, plus one
}

// client is an address of the crawler, or the crawler, if its addresses are known.
type client struct {
	row  pauses.Row
	last time.Time
}

const (
	maxClients = 10_000 // that are kept of a host
	day        = 24 * time.Hour
	grace      = time.Minute // between a verdict and the request
	restful    = time.Minute // after a 429 or a 503, a request may be one too early
)

func (j *judge) enter(name string) *visited {
	h := &visited{name: name, shown: &audit.Host{Authority: name, StartToStart: true, Policy: "not requested"},
		rules: cmp.Or(j.rules[name], j.rules[bare(name)], j.rules[""]), fuzzy: time.Second, clients: map[string]*client{}}
	if name == "" {
		h.shown.Authority = "the host of the log"
	}
	if j.shared(name) {
		h.fuzzy += j.o.Skew
	}
	if h.rules != nil && h.rules.delay > 0 {
		h.pace, h.shown.RequiredBy = h.rules.delay, "Crawl-delay"
	}
	if j.o.Floor > h.pace {
		h.pace, h.shown.RequiredBy = j.o.Floor, "--floor"
	}
	h.shown.Required, h.shown.Lowest = h.pace.Seconds(), h.pace.Seconds()
	return h
}

func (j *judge) visit(h *visited, v *visit) {
	t := &j.Totals
	t.Records++
	t.Exchanges++
	if j.From.IsZero() || v.time.Before(j.From) {
		j.From = v.time
	}
	if v.time.After(j.To) {
		j.To = v.time
	}
	if v.cut {
		j.unprove(h, finding.Disallowed, "the server did not read the whole request line, so the requested URL is "+
			"unknown", 0)
		return
	}
	j.identity(h, v)
	j.paced(h, v)
	if !h.busy.IsZero() && v.time.Sub(h.busy) < restful && v.time.After(h.busy) {
		j.unprove(h, finding.RetryAfter, "requested within a minute after a 429 or a 503, and the log does not have "+
			"Retry-After", v.time.Sub(h.busy))
	}
	if v.status == 429 || v.status == 503 {
		h.busy = v.time
	}
	if path, _, _ := strings.Cut(v.target, "?"); path == "/robots.txt" {
		t.Robots++
		h.shown.Robots++
		h.learn(v)
		return
	}
	t.Pages++
	h.shown.Pages++
	j.page(h, v)
}

// learn takes a response for robots.txt (RFC 9309 2.3.1).
func (h *visited) learn(v *visit) {
	h.requested = v.time
	switch s := v.status; {
	case s >= 200 && s < 400 && h.rules != nil: // 304 renews it, and the target of a redirect was given
		h.policy = "rules"
	case s >= 200 && s < 400:
		h.policy = "unknown"
	case s >= 400 && s < 500 && s != 499:
		h.policy, h.absent = "none", s
	case h.policy != "rules": // 2.4: the stored copy may be used for longer while robots.txt is unavailable
		h.policy = "unreachable"
	}
	h.shown.Policy = h.policy
}

func (j *judge) identity(h *visited, v *visit) {
	if v.method != "" && v.method != "GET" && v.method != "HEAD" {
		j.find(h, v, finding.Method, "GET or HEAD (draft-illyes-webbotauth-cbcp)", v.method)
	}
	if v.combined && !namesProduct(v.agent, j.o.Token) && (v.agent != "" || !isUnread(v.status)) { // it came from an address of the crawler
		j.find(h, v, finding.UserAgent,
			"a User-Agent that names the crawler by its product token (RFC 9309 2.2.1): "+j.o.Token,
			"User-Agent: "+v.agent)
	}
}

// paced checks a client's delays. A line has the second in which a request began or ended: either way two are at least
// the required delay apart. A server may log a request late that the crawler cut off, so a row is too short only if it
// remains so without any one of its lines.
func (j *judge) paced(h *visited, v *visit) {
	who := v.remote
	if len(j.o.From) > 0 {
		who = ""
	}
	c := h.clients[who]
	if c == nil {
		if len(h.clients) >= maxClients {
			j.unprove(h, finding.Gap, "requested from too many addresses to track all", 0)
			return
		}
		c = &client{}
		h.clients[who] = c
	}
	if !c.last.IsZero() {
		gap := v.time.Sub(c.last)
		j.Totals.Gaps++
		h.gaps.Add(gap + time.Second)
		if h.pace > 0 {
			j.unprove(h, finding.Gap, "the log does not have the duration of requests, so no delay is known to be "+
				"long enough", gap)
		}
	}
	c.last = v.time
	if h.pace == 0 || v.status == 499 { // nginx: the client had gone, some time before
		return
	}
	due := h.pace - max(time.Millisecond, h.pace/1000)
	if s, short := c.row.Add(pauses.Exchange{Began: v.time, Resolution: h.fuzzy + h.pace, Pace: due}); short {
		j.find(h, v, finding.Gap, fmt.Sprintf("delays of %v: %s", h.pace, h.shown.RequiredBy),
			fmt.Sprintf("%d delays since %s took %v at most, and %v were due", s.Pauses, s.Since.Format(time.TimeOnly),
				s.Most.Round(time.Millisecond), s.Due.Round(time.Millisecond)))
	}
}

func (j *judge) page(h *visited, v *visit) {
	switch h.policy {
	case "unreachable":
		j.find(h, v, finding.RobotsUnreachable,
			"nothing while robots.txt is unavailable (RFC 9309 2.3.1.4: complete disallow)",
			"requested, after a failure at "+h.requested.Format(time.DateTime))
		return
	case "none":
		h.free = h.absent
		j.Totals.Judged++
	}
	const need = "robots.txt before anything else, and not older than 24 h (RFC 9309 2.2, 2.4)"
	if h.policy == "" || v.time.Sub(h.requested) > day+grace+h.fuzzy {
		code := finding.RobotsExpired
		if h.policy == "" {
			code = finding.RobotsMissing
		}
		if j.reaches(h.name, v.time.Add(-day-grace-h.fuzzy), v.time) {
			j.find(h, v, code, need, "the log has no request for it in the preceding 24 h")
		} else {
			j.unprove(h, code, "the log may not reach 24 h back, so robots.txt may have been requested before", 0)
		}
	}
	switch {
	case h.policy == "none":
		return
	case h.rules == nil:
		j.unprove(h, finding.Disallowed, "no robots.txt was given for the host", 0)
		return
	}
	j.Totals.Judged++
	h.used, j.given = true, true
	if ok, line := h.rules.lines.Allowed(v.target); !ok {
		j.find(h, v, finding.Disallowed,
			fmt.Sprintf("no request by %s: line %d of robots.txt (RFC 9309 2.2.2)", j.o.Token, line),
			"requested")
	}
}

func (j *judge) leave(h *visited) {
	if h == nil {
		return
	}
	slices.SortFunc(h.shown.Why, func(a, b audit.Unproved) int { return cmp.Compare(string(a.What)+a.Why, string(b.What)+b.Why) })
	h.shown.Gaps, h.shown.MinGap, h.shown.MedianGap = h.gaps.N(), h.gaps.Least().Seconds(), h.gaps.Median().Seconds()
	if len(j.o.From) == 0 && len(h.clients) > 1 {
		j.note(fmt.Sprintf("%s: %d addresses named %s, and each was judged by itself: whether they are one crawler is not known "+
			"(--from)", h.shown.Authority, len(h.clients), j.o.Token))
	}
	j.Hosts = append(j.Hosts, h.shown)
	if s := h.decided(); s != "" {
		j.by = append(j.by, "robots.txt of "+h.shown.Authority+": "+s)
	}
}

// decided returns the robots.txt that decided about the requests of a host; "" if no decision was necessary.
func (h *visited) decided() string {
	absent := fmt.Sprintf("a logged %d, which allows everything (RFC 9309 2.3.1.3)", h.free)
	switch {
	case h.free != 0 && h.used:
		return fmt.Sprintf("the given %s, and for some requests %s", finding.Short(h.rules.path), absent)
	case h.free != 0 && h.rules != nil:
		return fmt.Sprintf("%s; the given %s was not used", absent, finding.Short(h.rules.path))
	case h.free != 0:
		return absent
	case h.used:
		return "the given " + finding.Short(h.rules.path)
	case h.rules == nil:
		return "none was given, so what it forbids was not judged"
	}
	return ""
}
