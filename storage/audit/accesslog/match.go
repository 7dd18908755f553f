package accesslog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/plainly"
	"curtsy/storage/sorted"
)

// entry is an exchange or a line, in the form in which both are sorted into one: by request, then by time.
type entry struct {
	key    [16]byte // of log, method and target
	from   int64    // Unix microseconds: the first second under which the log may have it; for a line, its own second
	logged bool     // a line of the log, not an exchange of the archive
	until  int64    // the last such second

	began, ended int64 // of an exchange, by the crawler's clock

	// Of an entry without a partner: the first and the last instant, or second, of all that could be without one instead.
	earliest, latest int64

	status uint16 // 0 without an answer
	of     int    // number of the log
	number int64  // of a line
	log    uint16 // of a line: which of the files
	sum    uint64 // of a line: a hash of its bytes

	loose bool // an exchange that may have ended otherwise for the server: its status is not compared
	vague bool // a line without a user agent: its client is unknown
	alike bool // a line that names the crawler's product, and not as the archive has it
	alien bool // a line that names another host than those of its log
	cut   bool // a line without a whole request line
	copy  bool // a line that another file has as well. It is vague: it counts if it fits an exchange

	host    string // of an exchange, with its port, or that a line names. It is read from the text
	unnamed bool   // an exchange with a host that no line names. It is not kept
	other   uint16 // of an exchange that is left: the status with which a line that is left has it, that line's number
	otherAt int64  // and second
	otherNo int64

	text string // an exchange's authority, target, place and URL; a line's host, client, method and target
}

// maxText bounds the text that names an entry. Comparisons use the key.
const maxText = 1000

func (e *entry) append(b []byte) []byte {
	b = append(b, e.key[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.from)^1<<63) // so that times before 1970 sort first
	b = append(b, flags(e.logged))                             // at one time, exchanges before the lines they may match
	b = append(b, flags(e.loose, e.vague, e.alike, e.alien, e.cut, e.copy))
	for _, n := range []int64{e.until, e.began, e.ended, e.earliest, e.latest, int64(e.status), int64(e.of), e.number,
		int64(e.log), int64(e.sum), int64(e.other), e.otherAt, e.otherNo} {
		b = binary.BigEndian.AppendUint64(b, uint64(n)) // so that equal lines keep the order of their numbers
	}
	return append(b, e.text[:min(len(e.text), maxText)]...)
}

func flags(of ...bool) (b byte) {
	for i, f := range of {
		if f {
			b |= 1 << i
		}
	}
	return b
}

func parseEntry(b []byte) (e entry) {
	b = b[copy(e.key[:], b):]
	e.from, e.logged = int64(binary.BigEndian.Uint64(b)^1<<63), b[8] == 1
	e.loose, e.vague, e.alike, e.alien, e.cut = b[9]&1 != 0, b[9]&2 != 0, b[9]&4 != 0, b[9]&8 != 0, b[9]&16 != 0
	e.copy = b[9]&32 != 0
	b = b[10:]
	next := func() int64 {
		v := binary.BigEndian.Uint64(b)
		b = b[8:]
		return int64(v)
	}
	e.until, e.began, e.ended, e.earliest, e.latest = next(), next(), next(), next(), next()
	e.status, e.of, e.number, e.log, e.sum = uint16(next()), int(next()), next(), uint16(next()), uint64(next())
	e.other, e.otherAt, e.otherNo = uint16(next()), next(), next()
	e.text = string(b)
	if e.host = e.part(0); !e.logged {
		host, port := evidence.HostPort(e.host)
		e.host = host + ":" + port
	}
	return e
}

// keyOf returns the key that exchanges and lines of one request share: log, method and target.
func keyOf(log int, method, target string) (k [16]byte) {
	sum := sha256.Sum256([]byte(strconv.Itoa(log) + "\x00" + method + "\x00" + target))
	copy(k[:], sum[:])
	return k
}

// exchangeText returns the text that names an exchange; the URL comes last, since it may be cut.
func exchangeText(e *evidence.Exchange) string {
	target := strings.ReplaceAll(e.Target[:min(len(e.Target), maxTarget)], "\x00", "")
	return strings.Join([]string{e.Authority, target, e.File, strconv.FormatInt(e.Offset, 10), e.Record, e.URL}, "\x00")
}

// maxTarget bounds the part of a target that is compared with a cut line.
const maxTarget = 200

// begins reports whether the target of an exchange begins like that of a cut line.
func (e *entry) begins(l *entry) bool {
	target := l.part(3)
	return strings.HasPrefix(e.part(1), target[:min(len(target), maxTarget)])
}

// part returns the part of an entry's text with that number, from 0.
func (e *entry) part(i int) string {
	if p := strings.SplitN(e.text, "\x00", 6); i < len(p) {
		return p[i]
	}
	return ""
}

func (e *entry) finding(observed string) finding.Finding {
	f := finding.Finding{Code: finding.LogMissing, Required: required, Observed: observed, Authority: e.part(0),
		URL: e.part(5), Time: micro(e.began)}
	f.File, f.Record = e.part(2), e.part(4)
	f.Offset, _ = strconv.ParseInt(e.part(3), 10, 64)
	return f
}

func micro(µs int64) time.Time { return time.UnixMicro(µs).UTC() }

// cluster are exchanges and lines of one request (log, method and target) whose times reach into each other.
type cluster struct {
	exchanges, lines []entry
	until            int64 // the last time that one of the exchanges reaches to
}

// maxCluster bounds a cluster. A longer one is a URL that is requested all the time; it is settled in parts.
const maxCluster = 512

// fits reports whether a line may be that of an exchange, except for the status. A server may log one name for all aliases
// (Apache's %v); then no line names the requested host.
func fits(x, l *entry) bool {
	return x.from <= l.from && l.from <= x.until && (l.host == "" || x.unnamed || bare(x.host) == bare(l.host)) &&
		(!l.cut || x.begins(l))
}

func agrees(x, l *entry) bool { return fits(x, l) && (x.loose || x.status == l.status) }

// match pairs as many lines as possible with exchanges that they agree with: known lines of the crawler before vague ones,
// and among all such pairings one in which most exchanges that need a line have one. It uses augmenting paths (H. W. Kuhn,
// The Hungarian method for the assignment problem, 1955): a line without a free exchange takes one whose line can take
// another. A failed search leaves the entries that it visited out of later ones.
func (c *cluster) match() *pairing {
	slices.SortStableFunc(c.exchanges, func(a, b entry) int { return cmp.Compare(a.until, b.until) })
	m := &pairing{c: c, lineOf: slices.Repeat([]int{-1}, len(c.exchanges)),
		been: make([]bool, max(len(c.exchanges), len(c.lines)))}
	for _, vague := range []bool{false, true} {
		for l := range c.lines {
			if c.lines[l].vague == vague {
				m.try(m.place, l)
			}
		}
	}
	clear(m.been)
	for x := range c.exchanges {
		if m.lineOf[x] < 0 && !c.exchanges[x].loose {
			m.try(m.claim, x)
		}
	}
	return m
}

type pairing struct {
	c       *cluster
	lineOf  []int  // by exchange; -1 for none
	been    []bool // exchanges, later lines, that are not looked at again
	visited []int
}

// try searches, and unmarks the visited entries on success.
func (m *pairing) try(search func(int) bool, from int) {
	if m.visited = m.visited[:0]; search(from) {
		for _, i := range m.visited {
			m.been[i] = false
		}
	}
}

func (m *pairing) place(l int) bool {
	line := &m.c.lines[l]
	for x := range m.lineOf { // a free one: the first to end
		if m.lineOf[x] < 0 && agrees(&m.c.exchanges[x], line) {
			m.lineOf[x] = l
			return true
		}
	}
	for x, other := range m.lineOf {
		if m.been[x] || !agrees(&m.c.exchanges[x], line) {
			continue
		}
		m.been[x], m.visited = true, append(m.visited, x)
		if m.place(other) {
			m.lineOf[x] = l
			return true
		}
	}
	return false
}

// claim finds a line for an exchange that needs one: a free one, or that of an exchange that needs none or can change.
func (m *pairing) claim(x int) bool {
	for l := range m.c.lines {
		if m.been[l] || !agrees(&m.c.exchanges[x], &m.c.lines[l]) {
			continue
		}
		m.been[l], m.visited = true, append(m.visited, l)
		of := slices.Index(m.lineOf, l)
		if of >= 0 && !m.c.exchanges[of].loose && !m.claim(of) {
			continue
		}
		if of >= 0 && m.lineOf[of] == l {
			m.lineOf[of] = -1
		}
		m.lineOf[x] = l
		return true
	}
	return false
}

// insteadOf widens an entry without a partner to all that could be without one instead: it returns the first begin and the
// last end of the exchanges, or the first and the last second of the lines, along the pairs that could be broken up.
func (m *pairing) insteadOf(left int, line bool) (first, last int64) {
	xs, ls := m.c.exchanges, m.c.lines
	of := xs
	if line {
		of = ls
	}
	all := bounds{of[left].earliest, of[left].latest, true}
	seen := make([]bool, len(m.lineOf))
	for todo := []int{left}; len(todo) > 0; todo = todo[1:] {
		for x, l := range m.lineOf {
			switch from := todo[0]; {
			case l < 0 || seen[x]:
			case line && agrees(&xs[x], &ls[from]):
				all.take(ls[l].from, ls[l].from)
				seen[x], todo = true, append(todo, l)
			case !line && agrees(&xs[from], &ls[l]):
				all.take(xs[x].began, xs[x].ended)
				seen[x], todo = true, append(todo, x)
			}
		}
	}
	return all.first, all.last
}

// bounds are the first and the last of some times; zero without any.
type bounds struct {
	first, last int64
	some        bool
}

func (b *bounds) take(first, last int64) {
	if !b.some {
		*b = bounds{first, last, true}
	}
	b.first, b.last = min(b.first, first), max(b.last, last)
}

// leave takes an entry without a partner.
type leave func(*entry) error

// setAside keeps entries without a partner; separately those whose request line the server may not have read in full.
func (c *Comparison) setAside(e *entry) error {
	if isUnread(int(e.status)) && (e.cut || !e.logged && e.otherNo == 0) {
		e.key = keyOf(e.of, "", strconv.Itoa(int(e.status)))
		return c.add(c.unread, e)
	}
	return c.add(c.left, e)
}

func (c *Comparison) compare(ctx context.Context, from *sorted.Sorter, left leave) error {
	var now cluster
	var key [16]byte
	for b, err := range from.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		e := parseEntry(b)
		if e.logged && from == c.all && c.copied(&e) {
			e.copy, e.vague = true, true
		}
		switch {
		case e.key != key || e.from > now.until:
			err = c.settle(&now, nil, left)
		case len(now.exchanges)+len(now.lines) >= maxCluster:
			err = c.settle(&now, &e.from, left)
		}
		if err != nil {
			return err
		}
		key = e.key
		if e.logged {
			now.lines = append(now.lines, e)
			continue
		}
		if s := c.siteOf(e.part(0)); s != nil {
			e.unnamed = !s.named
		}
		if len(now.exchanges) == 0 || e.until > now.until {
			now.until = e.until
		}
		now.exchanges = append(now.exchanges, e)
	}
	return c.settle(&now, nil, left)
}

// settle pairs a cluster and empties it. With at, exchanges without a line that reach beyond that time stay.
func (c *Comparison) settle(now *cluster, at *int64, left leave) error {
	if len(now.exchanges)+len(now.lines) == 0 {
		return nil
	}
	m := now.match()
	taken := make([]bool, len(now.lines))
	for i, l := range m.lineOf {
		if l >= 0 {
			taken[l] = true
			c.agree(now, &now.exchanges[i], &now.lines[l])
		}
	}
	var stay []entry
	for i, l := range m.lineOf {
		x := &now.exchanges[i]
		if l >= 0 {
			continue
		}
		if at != nil && x.until >= *at {
			stay = append(stay, *x)
			continue
		}
		x.earliest, x.latest = m.insteadOf(i, false)
		for l := range now.lines { // the same request with another status
			if o := &now.lines[l]; !taken[l] && !o.vague && fits(x, o) {
				taken[l] = true
				x.other, x.otherAt, x.otherNo, x.log = o.status, o.from, o.number, o.log
				break
			}
		}
		if err := left(x); err != nil {
			return err
		}
	}
	for i := range now.lines {
		if !taken[i] {
			now.lines[i].earliest, now.lines[i].latest = m.insteadOf(i, true)
			if err := left(&now.lines[i]); err != nil {
				return err
			}
		}
	}
	*now = cluster{exchanges: append(now.exchanges[:0], stay...), lines: now.lines[:0]}
	for i := range now.exchanges {
		now.until = max(now.until, now.exchanges[i].until)
	}
	return nil
}

func (c *Comparison) agree(in *cluster, x, l *entry) {
	h := c.logs[x.of]
	h.Agree++
	h.agreed[x.part(0)] = true
	if client := l.part(1); !l.alike && !l.vague && len(h.clients) < maxAgents {
		h.clients[client] = true
	}
	if x.loose { // the server may have written it at any time
		return
	}
	var times, stamps bounds // of all exchanges that l may be of, and all lines that may be of x
	for i := range in.exchanges {
		if o := &in.exchanges[i]; agrees(o, l) {
			times.take(o.began, o.ended)
		}
	}
	for i := range in.lines {
		if o := &in.lines[i]; agrees(x, o) {
			stamps.take(o.from, o.from)
		}
	}
	c.files[l.log].agreed.take(times.last, times.first)
	s := c.siteOf(x.part(0))
	if s == nil { // never
		return
	}
	s.sure.take(stamps.last, stamps.first)
}

func (c *Comparison) lonely(h *hostLog, e *entry, found finding.Report) {
	if e.logged {
		c.extra(h, e, found)
		return
	}
	switch {
	case e.loose:
		h.Unanswered++ // a server need not log a request that it did not answer
	case !held(h.files, e.earliest, e.latest):
		h.Uncovered++
		if e.otherNo > 0 {
			h.Ours, h.Outside = h.Ours-1, h.Outside+1
		}
	case e.otherNo > 0:
		h.Missing++
		found(e.finding(fmt.Sprintf("%s line %d has it with status %d, the archive with %d", c.o.Logs[e.log].Path,
			e.otherNo, e.other, e.status)))
	default:
		h.Missing++
		found(e.finding(fmt.Sprintf("no line for it from %s to %s", micro(e.from).Format(time.TimeOnly),
			micro(e.until).Format(time.TimeOnly))))
	}
}

func (c *Comparison) extra(h *hostLog, e *entry, found finding.Report) {
	method, target := e.part(2), e.part(3)
	path := c.o.Logs[e.log].Path
	f := finding.Finding{
		Code: finding.LogExtra, Authority: h.Host, URL: target, Place: finding.Place{File: path}, Time: micro(e.from),
		Required: denied,
		Observed: fmt.Sprintf("line %d: %s %.300s, status %d", e.number, method, target, e.status),
	}
	if method == "" {
		f.Observed = fmt.Sprintf("line %d: a request that is not one of HTTP, status %d", e.number, e.status)
	}
	if of := h.candidates(e.host); len(of) == 1 {
		f.Authority = cmp.Or(of[0].only, of[0].host, f.Authority)
	}
	within := h.within(e, c.o.Skew, c.o.Whole)
	near := !within && h.near(e, c.o.Skew)
	switch {
	case e.copy:
		h.Ours, h.Copies = h.Ours-1, h.Copies+1
		return
	case e.vague: // it was taken as the crawler's in case it fits
		h.Ours, h.Others = h.Ours-1, h.Others+1
		h.Agentless = h.Agentless || method != "" && !e.alien
		return
	case e.cut && isUnread(int(e.status)):
		h.Ours, h.Others = h.Ours-1, h.Others+1
		f.Note, f.Observed = true, f.Observed+": the server did not read all of it, so no page was requested"
	case !near && !within:
		h.Ours, h.Outside = h.Ours-1, h.Outside+1
		return
	case c.o.Crashed(sent(e, c.o.Skew)):
		h.Crash++
		f.Code, f.Note, f.Observed = finding.CrashInFlight, true, f.Observed+": in flight at a crash"
	case c.o.TakenDown(sent(e, c.o.Skew)):
		h.Ours, h.Outside = h.Ours-1, h.Outside+1
		f.Code, f.Note, f.Observed = finding.TakenDown, true, f.Observed+
			": requests of that time were redacted, according to a mark in the ledger"
	case e.alike && !h.clients[e.part(1)]:
		h.Ours, h.Others = h.Ours-1, h.Others+1
		f.Note, f.Observed = true, f.Observed+": the crawler's product under another name, from "+e.part(1)+
			", an address of no archived request"
	case near && (!c.o.Whole || target == "/robots.txt"):
		h.Ours, h.Outside = h.Ours-1, h.Outside+1
		f.Note, f.Observed = true, f.Observed+
			": so close to the first or last archived request that it may belong to another crawl"
	default:
		h.Extra++
		if e.host == "" && (c.without > 0 || len(h.sites) < len(c.sites)) {
			f.Observed += "; it may belong to another host with the same log (then name the file for each of them, " +
				"HOST=FILE) or to another crawl of this operator"
		} else {
			f.Observed += "; it may belong to another crawl of this operator"
		}
	}
	found(f)
}

// sent returns the instants between which a line's request may have been sent: its second is that of the begin or the end.
func sent(e *entry, skew time.Duration) (from, to time.Time) {
	at := micro(e.from)
	return at.Add(-unknownTook - skew), at.Add(time.Second + skew)
}

func (c *Comparison) report(r *audit.Result) {
	all := true
	var share audit.Share
	for _, h := range c.logs {
		if len(h.sites) == 0 {
			continue
		}
		r.Logs = append(r.Logs, &h.HostLog)
		h.Confirmed = h.Agree > 0 && h.Missing+h.Extra == 0
		all = all && h.Confirmed
		if h.Missing > 0 {
			r.Refute(audit.ConfirmedByLog, fmt.Sprintf("the log of %s lacks %s of the archive", h.title(), plainly.Count(h.Missing, "request")))
		}
		if h.Extra > 0 {
			r.Refute(audit.ConfirmedByLog, fmt.Sprintf("the log of %s has %s that the archive lacks", h.title(), plainly.Count(h.Extra, "request")))
		}
		if h.Confirmed {
			share.Hosts, share.Exchanges = share.Hosts+int64(len(h.agreed)), share.Exchanges+h.Agree
		}
		for _, s := range unshown(&h.HostLog) {
			r.CannotShow = append(r.CannotShow, "access log of "+h.title()+": "+s)
		}
	}
	if c.without > 0 {
		r.CannotShow = append(r.CannotShow, fmt.Sprintf("access logs: none was given for the hosts of %d requests",
			c.without))
	}
	if all && len(r.Logs) > 0 {
		r.Reach(audit.ConfirmedByLog, "")
		r.Confirmed = &share
	}
}

func (h *hostLog) title() string {
	if s := h.sites[0]; h.Host == "" && len(s.names) == 1 {
		return s.names[0]
	}
	return h.Host
}

var unshown = plainly.Sentences(`{{with .Silent}}it confirms nothing: {{.}}
{{end}}{{if .Uncovered}}{{.Uncovered}} requests are not in it, and it may not cover their time, because it starts or ends within the crawl
{{end}}{{if .Unanswered}}{{.Unanswered}} requests without a complete response are not in it; a server need not log them
{{end}}{{if .Outside}}{{count .Outside "line"}} of the crawler {{if .Exchanges}}before or after the archived requests to the host{{else}}are not of this crawl, or their requests are not in the archive{{end}}
{{end}}{{if .Unread}}{{.Unread}} lines could not be read
{{end}}{{if .Agentless}}lines without a user agent: whether there are more of the crawler than the archive has is not known without its addresses{{end}}`)
