package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"curtsy/frontier/canon"
)

// connection is one to a host, and the reader that the HTTP parser pulls from: it keeps the octets as they come, counts
// them against a budget, and gives every read and write its deadline. It has one user at a time.
type connection struct {
	authority canon.Authority
	addr      netip.AddrPort // zero when a proxy alone knows it
	proxy     *proxy         // that leads there; nil for none
	conn      net.Conn       // TLS where the scheme is https
	socket    *socket        // below TLS; nil otherwise
	br        *bufio.Reader
	used      int         // exchanges begun
	timer     *time.Timer // closes it when it has been idle too long; nil until it first is

	// The exchange that is going on.
	end      time.Time     // of its whole time
	patience time.Duration // with the operation that is going on
	idle     time.Duration // patience once an answer has begun
	raw      *spooled      // takes what is read
	left     int64         // octets that may still be read
	first    time.Time     // when the first octet came; zero before
	err      error         // what ended reading, as the connection said; nil when the parser stopped first
	unwatch  func() bool
	budget   *budget         // of octets per second, shared by all lines; nil for none
	over     <-chan struct{} // closed when the context is over
	meter    *Meter          // nil for none
	speed    leastSpeed

	mu  sync.Mutex
	cut bool // the context is over: deadlines stay in the past
}

// errBudget ends reading when connection.left is used up.
var errBudget = errors.New("more bytes than allowed")

// socket notes how the connection below TLS ended, which crypto/tls does not tell.
type socket struct {
	net.Conn
	eof bool
}

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if n == 0 && errors.Is(err, io.EOF) {
		s.eof = true
	}
	return n, err
}

func newLine(a canon.Authority, addr netip.AddrPort, conn net.Conn) *connection {
	l := &connection{authority: a, addr: addr, conn: conn}
	l.br = bufio.NewReaderSize(l, readBuffer)
	return l
}

// watch puts l under ctx and the end of the whole time, until release.
func (l *connection) watch(ctx context.Context, end time.Time) {
	l.end, l.over = end, ctx.Done()
	l.unwatch = context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.cut = true
		_ = l.conn.SetDeadline(time.Unix(1, 0)) // an error would mean that it is closed already
	})
}

// release ends watch. It reports whether l is still fit for use: not when the context was over meanwhile.
func (l *connection) release() bool {
	l.raw, l.over, l.meter, l.speed = nil, nil, nil, leastSpeed{}
	return l.unwatch() && l.conn.SetDeadline(time.Time{}) == nil
}

// wait sets the deadline of the next operation. Where that fails the connection is closed, at either end, and the
// operation itself says how that came.
func (l *connection) wait(d time.Duration) {
	t := time.Now().Add(d)
	if l.end.Before(t) {
		t = l.end
	}
	if due, ok := l.speed.due(); ok && due.Before(t) {
		t = due
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.cut {
		_ = l.conn.SetDeadline(t)
	}
}

// begin prepares for an exchange. The answer goes to raw, at most budget octets of it.
func (l *connection) begin(raw *spooled, budget int64, idle time.Duration) {
	l.used++
	l.raw, l.left, l.idle = raw, budget, idle
	l.first, l.err = time.Time{}, nil
}

// send writes the request and returns how much of it went out.
func (l *connection) send(head []byte) (n int, err error) {
	l.patience = l.idle
	l.wait(l.patience)
	n, l.err = l.conn.Write(head)
	return n, l.err
}

// await gives the next octet of the answer a patience of its own, and notes when it comes. Octets that are here
// already keep the time at which they came.
func (l *connection) await(patience time.Duration) {
	if l.br.Buffered() == 0 {
		l.first, l.patience = time.Time{}, patience
		l.speed.begin(time.Time{})
	}
}

// Read is called by the parser through br.
func (l *connection) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.left <= 0 {
		l.err = errBudget
		return 0, l.err
	}
	l.wait(l.patience)
	n, err := l.conn.Read(p[:l.budget.most(int(min(int64(len(p)), l.left)))])
	if n > 0 {
		if l.first.IsZero() {
			l.first, l.patience = time.Now(), l.idle
			l.speed.begin(l.first)
		}
		l.left -= int64(n)
		if _, werr := l.raw.Write(p[:n]); werr != nil {
			err = werr
		}
		// Paid for afterwards, so that the deadline of a read is the other side's alone.
		paid := l.budget.spend(n, l.over)
		l.end = l.end.Add(paid)
		l.meter.add(n, paid)
		l.speed.came(n, paid, time.Now())
	}
	l.err = err
	return n, err
}

// consumed returns how many octets of raw the parser has taken.
func (l *connection) consumed() int64 { return l.raw.Size() - int64(l.br.Buffered()) }

// unclosed reports whether a TLS connection ended without a closure alert: an end that anybody on the path could have
// made (RFC 9112 9.8).
func (l *connection) unclosed() bool { return l.socket != nil && l.socket.eof }

// fault explains why reading or writing ended early: the word for Exchange.Truncated, and the error. parse is what the
// parser said, early the class of a connection that ended here. An end of our own making (budget, spool) is the
// caller's to see first.
func (l *connection) fault(parse error, early Class) (truncated string, err error) {
	var timeout net.Error
	switch {
	case l.err == nil:
		return CutOther, &Failure{Protocol, parse}
	case errors.As(l.err, &timeout) && timeout.Timeout():
		return CutTime, &Failure{Timeout, l.late()}
	case alert(l.err):
		return CutDisconnect, &Failure{TLS, l.err}
	case errors.Is(l.err, io.EOF):
		return CutDisconnect, &Failure{early, io.ErrUnexpectedEOF}
	default:
		return CutDisconnect, &Failure{early, l.err}
	}
}

// late says which time-out it was.
func (l *connection) late() error {
	switch {
	case !time.Now().Before(l.end):
		return ErrWhole
	case l.speed.missed(time.Now()):
		return fmt.Errorf("%w: %d bytes in %v", ErrSlow, l.speed.had, l.speed.over)
	case l.first.IsZero():
		return fmt.Errorf("no answer within %v", l.patience)
	default:
		return fmt.Errorf("no byte for %v", l.patience)
	}
}

// alert reports whether err is a TLS alert, ours or theirs: with TLS 1.3 a server refuses a client only after the
// handshake is over for it.
func alert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// close closes the connection, on TLS with a closure alert. That it fails is news of no use: nothing more is wanted.
func (l *connection) close() { _ = l.conn.Close() }

// abort closes the connection without ceremony: the alert could wait for seconds on one that is stuck.
func (l *connection) abort() {
	if l.socket != nil {
		_ = l.socket.Close()
		return
	}
	_ = l.conn.Close()
}

// idleLines are the connections that wait for their host's next turn: at most one per authority, or as many as a
// request allows for (Request.Lines), maxIdle in all, each for a life. A connection is either in here or in the hands
// of one exchange.
type idleLines struct {
	life time.Duration // negative keeps none

	mu    sync.Mutex
	lines map[canon.Authority][]*connection // the one put last is last
	count int                               // of all
	over  bool
}

// take returns an idle connection to a that can be used, or nil. One to another address than only, unless that is zero,
// is closed: the exchange goes elsewhere now.
func (s *idleLines) take(a canon.Authority, only netip.AddrPort) *connection {
	for {
		l := s.remove(a)
		if l == nil || !l.hasPendingInput() && (!only.IsValid() || l.addr == only) {
			return l
		}
		l.close()
	}
}

// remove takes the connection to a out that was put last.
func (s *idleLines) remove(a canon.Authority) *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.lines[a])
	if n == 0 {
		return nil
	}
	l := s.lines[a][n-1]
	s.unlink(l)
	l.timer.Stop()
	return l
}

// unlink takes l out and reports whether it was in; called with mu held.
func (s *idleLines) unlink(l *connection) bool {
	all := s.lines[l.authority]
	at := slices.Index(all, l)
	if at < 0 {
		return false
	}
	if s.lines[l.authority] = slices.Delete(all, at, at+1); len(all) == 1 {
		delete(s.lines, l.authority)
	}
	s.count--
	return true
}

// put keeps l as one of at most width to its authority, or reports that there is no room for it.
func (s *idleLines) put(l *connection, width int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.lines[l.authority]
	if s.over || s.life < 0 || s.count >= maxIdle || len(all) >= max(width, 1) {
		return false
	}
	s.lines[l.authority] = append(all, l)
	s.count++
	if l.timer == nil {
		l.timer = time.AfterFunc(s.life, func() { s.expire(l) })
	} else {
		l.timer.Reset(s.life)
	}
	return true
}

// expire closes l unless it has been taken. A timer that fired while l was taken and put back only ends its life early.
func (s *idleLines) expire(l *connection) {
	s.mu.Lock()
	waits := s.unlink(l)
	s.mu.Unlock()
	if waits {
		l.close()
	}
}

// shut returns all lines and lets in no more.
func (s *idleLines) shut() (all []*connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, lines := range s.lines {
		all = append(all, lines...)
	}
	for _, l := range all {
		l.timer.Stop()
	}
	clear(s.lines)
	s.count = 0
	return all
}

// protocols names what is spoken over l, in the words that tools for WARC share.
// https://github.com/iipc/warc-specifications/issues/42
func (l *connection) protocols() []string {
	spoken := []string{"http/1.1"}
	if secured, ok := l.conn.(*tls.Conn); ok {
		version := tls.VersionName(secured.ConnectionState().Version) // "TLS 1.3"
		spoken = append(spoken, strings.ToLower(strings.ReplaceAll(version, " ", "/")))
	}
	return spoken
}

// budget bounds the octets per second that all connections together bring (politeness rule 15). Octets are paid for
// after they were read: whoever has read may not read on before its share of the past is due, and meanwhile TCP slows
// the other side down. A nil budget is endless.
type budget struct{ limiter *rate.Limiter }

// maxBurst bounds what may be read at once, and so how uneven the rate is within a second.
const maxBurst = 64 << 10

// newBudget returns the budget of so many octets per second; nil for zero.
func newBudget(perSecond int64) *budget {
	if perSecond == 0 {
		return nil
	}
	return &budget{rate.NewLimiter(rate.Limit(perSecond), int(min(perSecond, maxBurst)))}
}

// most returns how many of n octets may be read in one go.
func (b *budget) most(n int) int {
	if b == nil {
		return n
	}
	return min(n, b.limiter.Burst())
}

// spend waits until n octets, at most what most allows, are paid for, or until over is closed. It returns how long that
// took.
func (b *budget) spend(n int, over <-chan struct{}) time.Duration {
	if b == nil {
		return 0
	}
	begin := time.Now()
	due := b.limiter.ReserveN(begin, n).DelayFrom(begin)
	if due <= 0 {
		return 0
	}
	wait := time.NewTimer(due)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-over: // what was read was read: it stays paid for
	}
	return time.Since(begin)
}

// leastSpeed holds an answer to a least speed: in each span of time from its first octet on, so many octets must come.
// The zero value asks for nothing.
type leastSpeed struct {
	octets int64         // that must come in a span; zero or less for any
	over   time.Duration // how long a span is

	start time.Time // of the span that is going on; zero before the first octet
	had   int64     // octets that came in it
}

// begin begins the first span.
func (s *leastSpeed) begin(now time.Time) { s.start, s.had = now, 0 }

// came notes octets, and a wait of our own, which is nobody's slowness.
func (s *leastSpeed) came(n int, ours time.Duration, now time.Time) {
	s.had += int64(n)
	s.start = s.start.Add(ours)
	if s.had >= s.octets && now.Sub(s.start) >= s.over {
		s.begin(now)
	}
}

// due is when the span ends, unless enough came in it already.
func (s *leastSpeed) due() (time.Time, bool) {
	return s.start.Add(s.over), s.octets > 0 && !s.start.IsZero() && s.had < s.octets
}

// missed reports whether the span has ended without enough.
func (s *leastSpeed) missed(now time.Time) bool {
	due, ok := s.due()
	return ok && !now.Before(due)
}
