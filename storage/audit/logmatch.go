package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// line takes a line of h's log.
func (a *AccessLogs) line(h *HostLog, file string, l numbered) error {
	h.Lines++
	if h.First.IsZero() || l.time.Before(h.First) {
		h.First = l.time
	}
	if l.time.After(h.Last) {
		h.Last = l.time
	}
	if !l.combined {
		h.Agentless = true
	}
	if !h.isNamed(l.vhost) || !a.ours(&l.logLine) {
		h.Others++
		return nil
	}
	if h.Exchanges == 0 || l.time.Before(h.began.Add(-a.o.Skew-time.Second)) || l.time.After(h.ended.Add(a.o.Skew)) {
		h.Outside++
		return nil
	}
	h.Ours++
	at := l.time.UnixMicro()
	return a.add(a.exact, &logEntry{
		key: logKey(h.Host, l.method, l.target), status: uint16(l.status), known: uint16(l.status), from: at, until: at,
		number: l.line, logged: true, cut: a.vague(&l.logLine), text: lineText(h.Host, file, &l),
	})
}

// isNamed reports whether a line that names its host is of h.
func (h *HostLog) isNamed(vhost string) bool {
	host := h.Host
	if host == "" && len(h.names) == 1 {
		host = h.names[0]
	}
	bare := vhost
	if i := strings.LastIndexByte(vhost, ':'); i > strings.LastIndexByte(vhost, ']') {
		bare = vhost[:i]
	}
	return vhost == "" || host == "" || host == vhost || host == bare
}

// ours reports whether a line is, or may be, the crawler's.
func (a *AccessLogs) ours(l *logLine) bool {
	if l.from(a.o.From) || a.vague(l) {
		return true
	}
	if len(a.o.Tokens) == 0 {
		return l.combined && a.agents[l.agent]
	}
	return slices.ContainsFunc(a.o.Tokens, func(token string) bool { return namesProduct(l.agent, token) })
}

// vague reports whether nothing tells whose line it is. It then counts as the crawler's if it fits an exchange.
func (a *AccessLogs) vague(l *logLine) bool { return !l.combined && len(a.o.From) == 0 }

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

// maxAwaiting bounds how many exchanges of one request wait for their line. There are as many as were made of one URL
// within seconds.
const maxAwaiting = 4096

// compare matches exchanges and lines of the same request. Lines come in the order of their time and exchanges in that
// of the first second they may be logged under; a line goes to the open exchange whose last such second is nearest.
// That finds as many pairs as there can be. What is left goes to rest; a pair, to agreed.
func (a *AccessLogs) compare(ctx context.Context, s *sorter, rest func(e *logEntry, other *logEntry, found Report) error, found Report) error {
	var open []logEntry
	close := func(n int) error {
		for i := range n {
			if err := rest(&open[i], nil, found); err != nil {
				return err
			}
		}
		open = slices.Delete(open, 0, n)
		return nil
	}
	for b, err := range s.sorted() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		e := parseLogEntry(b)
		over := 0 // open ones that no line can match any more
		for over < len(open) && (!open[over].sameRequest(&e) || open[over].until < e.from || len(open)-over >= maxAwaiting) {
			over++
		}
		if err := close(over); err != nil {
			return err
		}
		switch {
		case !e.logged:
			i := len(open)
			for i > 0 && open[i-1].until > e.until {
				i--
			}
			open = slices.Insert(open, i, e)
		case len(open) == 0:
			if err := rest(&e, nil, found); err != nil {
				return err
			}
		default:
			x := open[0]
			open = slices.Delete(open, 0, 1)
			if err := rest(&x, &e, found); err != nil {
				return err
			}
		}
	}
	return close(len(open))
}

// again gives what did not agree to the letter a second chance without its status.
func (a *AccessLogs) again(e, line *logEntry, _ Report) error {
	if line != nil {
		a.hosts[e.host()].Agree++
		return nil
	}
	e.status = 0
	return a.add(a.loose, e)
}

// conclude says what is left.
func (a *AccessLogs) conclude(e, line *logEntry, found Report) error {
	h := a.hosts[e.host()]
	switch {
	case line != nil && (e.known == 0 || e.cut || e.known == line.known):
		h.Agree++
	case line != nil:
		h.Missing++
		file, _, _ := line.line()
		f := e.exchange(LogMissing, logRequired, fmt.Sprintf("%s line %d has it with status %d, the archive with %d", file, line.number, line.known, e.known))
		f.Time = fromMicro(line.from)
		found(f)
	case e.logged:
		a.extra(h, e, found)
	default:
		a.missing(h, e, found)
	}
	return nil
}

// extra is about a line without an exchange.
func (a *AccessLogs) extra(h *HostLog, e *logEntry, found Report) {
	if e.cut { // it was taken for the crawler's on the chance that it fits
		h.Ours--
		h.Others++
		return
	}
	file, method, target := e.line()
	f := Finding{
		Code: LogExtra, Authority: h.Host, URL: target, Place: Place{File: file}, Time: fromMicro(e.from), Required: logDenied,
		Observed: fmt.Sprintf("line %d: %s %.300s, status %d", e.number, method, target, e.known),
	}
	if method == "" {
		f.Observed = fmt.Sprintf("line %d: a request that is not one of HTTP, status %d", e.number, e.known)
	}
	if a.o.Crashed(f.Time) {
		h.Crash++
		f.Code, f.Note, f.Observed = CrashInFlight, true, f.Observed+": in flight at a crash"
		found(f)
		return
	}
	h.Extra++
	found(f)
}

// missing is about an exchange without a line.
func (a *AccessLogs) missing(h *HostLog, e *logEntry, found Report) {
	switch second := time.Second.Microseconds(); {
	case e.known == 0 || e.cut:
		h.Unanswered++ // a server need not log what it did not answer
	case h.Lines == 0, e.until < h.First.UnixMicro(), e.from > h.Last.UnixMicro()+second:
		h.Uncovered++
	default:
		h.Missing++
		f := e.exchange(LogMissing, logRequired, fmt.Sprintf("no line for it from %s to %s", fromMicro(e.from).Format(time.TimeOnly), fromMicro(e.until).Format(time.TimeOnly)))
		f.Time = fromMicro(e.from).Add(a.o.Skew + time.Second - time.Microsecond)
		found(f)
	}
}

// tell says what the logs prove.
func (a *AccessLogs) tell(r *Result) {
	say := func(h *HostLog, format string, args ...any) {
		name := h.Host
		if name == "" && len(h.names) == 1 {
			name = h.names[0]
		}
		r.CannotShow = append(r.CannotShow, "access log of "+name+": "+fmt.Sprintf(format, args...))
	}
	all := true
	for _, l := range a.o.Logs {
		h := a.hosts[l.Host]
		if slices.Contains(r.Logs, h) {
			continue
		}
		r.Logs = append(r.Logs, h)
		h.Confirmed = h.Agree > 0 && h.Missing+h.Extra == 0
		all = all && h.Confirmed
		if h.Agree == 0 {
			say(h, "it confirms nothing: no exchange of the archive stands in it")
		}
		if h.Uncovered > 0 {
			say(h, "%d exchanges lie before its first or after its last line", h.Uncovered)
		}
		if h.Unanswered > 0 {
			say(h, "%d exchanges without a whole answer do not stand in it; a server need not log them", h.Unanswered)
		}
		if h.Outside > 0 {
			say(h, "%d lines of the crawler are older or newer than the archive's exchanges with the host", h.Outside)
		}
		if h.Unread > 0 {
			say(h, "%d lines could not be read", h.Unread)
		}
		if h.Agentless {
			say(h, "lines without a user agent: whether there are more of the crawler than the archive has is not known without its addresses")
		}
	}
	if a.others > 0 {
		r.CannotShow = append(r.CannotShow, fmt.Sprintf("access logs: none was given for the hosts of %d exchanges", a.others))
	}
	if all && len(r.Logs) > 0 {
		r.Level = ConfirmedByLog
	}
}
