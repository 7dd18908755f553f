package audit

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"curtsy/storage"
)

// AccessLog is a server's own account of who asked it for what.
type AccessLog struct {
	Host string // HOST or HOST:PORT whose log it is; empty when the archive has one host
	Path string
}

// LogOptions say how an archive is compared with access logs.
type LogOptions struct {
	Logs []AccessLog

	// Skew is by how much the clocks of server and crawler may differ. Zero means 2 s.
	Skew time.Duration

	// Tokens are the product tokens whose lines are the crawler's. Without any, lines are its own that name its user
	// agent to the letter.
	Tokens []string

	// From are addresses of the crawler: lines from there are its own, whatever user agent they name.
	From []netip.Prefix

	// Crashed reports whether a request of that time may be missing from the archive because the crawl was killed. Nil
	// means never.
	Crashed func(time.Time) bool

	TempDir string // for what does not fit into Memory; empty means the system's
	Memory  int    // in octets. Zero means 16 MiB
}

// HostLog is how the logs of one host and the archive agree.
type HostLog struct {
	Host       string    `json:"host"`
	Files      []string  `json:"files"`
	Lines      int64     `json:"lines"`                // read
	Unread     int64     `json:"unread,omitempty"`     // in neither format
	Others     int64     `json:"others"`               // lines of other clients
	Ours       int64     `json:"ours"`                 // lines of the crawler, within the time of the archive
	Outside    int64     `json:"outside,omitempty"`    // lines of the crawler before or after the archive
	Exchanges  int64     `json:"exchanges"`            // archived, with this host
	Agree      int64     `json:"agree"`                // in both
	Missing    int64     `json:"missing,omitempty"`    // archived and not logged, or with another status
	Extra      int64     `json:"extra,omitempty"`      // logged and not archived
	Crash      int64     `json:"crash,omitempty"`      // logged, and lost in flight when the crawl was killed
	Uncovered  int64     `json:"uncovered,omitempty"`  // archived before the first or after the last line of the log
	Unanswered int64     `json:"unanswered,omitempty"` // archived without a whole answer and not logged
	Agentless  bool      `json:"agentless,omitempty"`  // there are lines that do not tell the user agent
	Confirmed  bool      `json:"confirmed"`            // both say the same
	First      time.Time `json:"first,omitzero"`       // line
	Last       time.Time `json:"last,omitzero"`

	began, ended time.Time // of the archive's exchanges with the host
	names        []string  // hosts that fall to a log without a HOST: at most two
}

// AccessLogs compares an archive with the access logs of some of its hosts: every archived exchange with such a host must
// stand in its log, and every line of the crawler in the archive. Both are sorted into one, by what was asked for and
// then by time (sorter), so neither has to be in order, and memory is bounded. It is a Witness.
type AccessLogs struct {
	o      LogOptions
	hosts  map[string]*HostLog // by HOST
	exact  *sorter             // by request, status and time
	loose  *sorter             // by request and time: what did not agree, and what has no status to agree in
	agents map[string]bool     // of the archive's requests, at most maxAgents
	others int64               // exchanges with hosts without a log
	buf    []byte
}

var _ Witness = (*AccessLogs)(nil)

const (
	maxAgents   = 256
	unknownTook = time.Minute // how long an exchange may have taken whose archive does not say

	logRequired = "every archived exchange stands in the site's access log, with its status"
	logDenied   = "every request of the crawler in the site's access log stands in the archive"
)

// NewAccessLogs returns a Witness of access logs.
func NewAccessLogs(o LogOptions) *AccessLogs {
	if o.Skew == 0 {
		o.Skew = 2 * time.Second
	}
	if o.Memory == 0 {
		o.Memory = 16 << 20
	}
	if o.Crashed == nil {
		o.Crashed = func(time.Time) bool { return false }
	}
	a := &AccessLogs{
		o: o, hosts: map[string]*HostLog{}, agents: map[string]bool{},
		exact: newSorter(o.TempDir, o.Memory/2), loose: newSorter(o.TempDir, o.Memory/2),
	}
	for i := range o.Logs {
		l := &a.o.Logs[i]
		l.Host = strings.ToLower(l.Host)
		if a.hosts[l.Host] == nil {
			a.hosts[l.Host] = &HostLog{Host: l.Host}
		}
		a.hosts[l.Host].Files = append(a.hosts[l.Host].Files, l.Path)
	}
	return a
}

// Info implements Witness.
func (a *AccessLogs) Info(context.Context, *Info, Report) error { return nil }

// Refused implements Witness.
func (a *AccessLogs) Refused(context.Context, *storage.Line, Place, Report) error { return nil }

// Exchange implements Witness.
func (a *AccessLogs) Exchange(_ context.Context, e *Exchange, _ Report) error {
	if len(a.agents) < maxAgents && e.Agent != "" {
		a.agents[e.Agent] = true
	}
	h := a.logOf(e.Authority)
	if h == nil {
		a.others++
		return nil
	}
	h.Exchanges++
	took := e.Took
	if !e.Ended {
		took = unknownTook
	}
	end := e.Began.Add(took + e.Resolution)
	if h.began.IsZero() || e.Began.Before(h.began) {
		h.began = e.Began
	}
	if end.After(h.ended) {
		h.ended = end
	}
	method := e.Method
	if method == "" {
		method = "GET"
	}
	entry := logEntry{
		key: logKey(h.Host, method, e.Target), status: uint16(e.Status), known: uint16(e.Status), cut: e.Cut != "",
		// A server stamps an instant of the exchange, and writes the second that it lies in.
		from: e.Began.Add(-a.o.Skew - time.Second + time.Microsecond).UnixMicro(), until: end.Add(a.o.Skew).UnixMicro(),
		text: exchangeText(h.Host, e),
	}
	if e.Answered && e.Status != 0 && e.Cut == "" {
		return a.add(a.exact, &entry)
	}
	entry.status = 0 // the server may see the end of it otherwise
	return a.add(a.loose, &entry)
}

// logOf returns the log that the exchanges of an authority stand in, or nil.
func (a *AccessLogs) logOf(authority string) *HostLog {
	host, port := hostPort(authority)
	if h := a.hosts[host+":"+port]; h != nil {
		return h
	}
	if h := a.hosts[host]; h != nil {
		return h
	}
	h := a.hosts[""]
	if h != nil && len(h.names) < 2 && !slices.Contains(h.names, host) {
		h.names = append(h.names, host)
	}
	return h
}

func (a *AccessLogs) add(to *sorter, e *logEntry) error {
	a.buf = e.append(a.buf[:0])
	return to.add(a.buf)
}

// ErrManyHosts says that a log was given without a HOST and that the archive has several.
var ErrManyHosts = errors.New("the archive has several hosts: say whose log it is")

// Close implements Witness: it reads the logs and compares.
func (a *AccessLogs) Close(ctx context.Context, r *Result, found Report) (err error) {
	defer func() { err = errors.Join(err, a.exact.close(), a.loose.close()) }()
	for _, l := range a.o.Logs {
		if err := a.read(ctx, l, found); err != nil {
			return fmt.Errorf("audit: access log %s: %w", l.Path, err)
		}
	}
	if err := a.compare(ctx, a.exact, a.again, found); err != nil {
		return err
	}
	if err := a.compare(ctx, a.loose, a.conclude, found); err != nil {
		return err
	}
	a.tell(r)
	return nil
}

// read takes a log.
func (a *AccessLogs) read(ctx context.Context, log AccessLog, found Report) error {
	h := a.hosts[log.Host]
	if len(h.names) > 1 {
		return fmt.Errorf("%w (%s, %s, …)", ErrManyHosts, h.names[0], h.names[1])
	}
	f, err := os.Open(log.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	read, first := 0, error(nil)
	for l, err := range readLog(f) {
		var u *unread
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &u):
			if h.Unread++; first == nil {
				first = u
			}
			found(Finding{
				Code: LogLine, Note: true, Place: Place{File: log.Path}, Required: "lines in the Common or the Combined Log Format",
				Observed: u.Error(),
			})
			continue
		case err != nil:
			return err
		}
		read++
		if err := a.line(h, log.Path, l); err != nil {
			return err
		}
	}
	if read == 0 && first != nil {
		return fmt.Errorf("no line is in the Common or the Combined Log Format: %w", first)
	}
	return nil
}
