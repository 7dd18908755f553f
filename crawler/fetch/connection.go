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

// connection is the reader of the HTTP parser: it keeps the bytes as they come, counts them against a budget, and sets a
// deadline for every read and write. It has one user at a time.
type connection struct {
	authority canon.Authority
	addr      netip.AddrPort // zero if only a proxy knows it
	proxy     *proxy         // nil for none
	conn      net.Conn       // TLS where the scheme is https
	socket    *socket        // below TLS; nil otherwise
	br        *bufio.Reader
	used      int         // exchanges begun
	timer     *time.Timer // closes an idle connection; nil until it is first idle

	// The present exchange.
	end      time.Time     // of its whole time
	patience time.Duration // with the present operation
	idle     time.Duration // patience once a response has begun
	raw      *spooled      // takes the bytes read
	left     int64         // bytes that may still be read
	first    time.Time     // when the first byte came; zero before
	err      error         // the connection's error; nil if the parser stopped first
	unwatch  func() bool
	budget   *budget         // of bytes per second, shared by all connections; nil for none
	over     <-chan struct{} // closed when the context is over
	meter    *Meter          // nil for none
	speed    leastSpeed

	mu  sync.Mutex
	cut bool // the context is over: deadlines stay in the past
}

var errBudget = errors.New("more bytes than allowed")

// socket records whether the connection below TLS ended, which crypto/tls does not report.
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

// watch bounds l by ctx and end until release.
func (l *connection) watch(ctx context.Context, end time.Time) {
	l.end, l.over = end, ctx.Done()
	l.unwatch = context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.cut = true
		_ = l.conn.SetDeadline(time.Unix(1, 0)) // an error means that it is closed already
	})
}

// release ends watch and reports whether l may still be used.
func (l *connection) release() bool {
	l.raw, l.over, l.meter, l.speed = nil, nil, nil, leastSpeed{}
	return l.unwatch() && l.conn.SetDeadline(time.Time{}) == nil
}

// wait sets the deadline of the next operation. If that fails, the connection is closed, and the operation returns why.
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

// await sets the patience with the next byte of the response. Bytes that are buffered keep their time of arrival.
func (l *connection) await(patience time.Duration) {
	if l.br.Buffered() == 0 {
		l.first, l.patience = time.Time{}, patience
		l.speed.begin(time.Time{})
	}
}

// Read implements io.Reader for br.
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
		// Spend afterwards, so that the deadline of a read bounds only the host.
		paid := l.budget.spend(n, l.over)
		l.end = l.end.Add(paid)
		l.meter.add(n, paid)
		l.speed.came(n, paid, time.Now())
	}
	l.err = err
	return n, err
}

// consumed returns how many bytes of raw the parser has taken.
func (l *connection) consumed() int64 { return l.raw.Size() - int64(l.br.Buffered()) }

// fault returns why reading or writing ended early, with the word for Exchange.Truncated. parse is the parser's error,
// early the class of a connection that ended here. The caller checks budget and spool first.
func (l *connection) fault(parse error, early Class) (truncated string, err error) {
	var timeout net.Error
	var op *net.OpError
	switch {
	case l.err == nil:
		return CutOther, &Failure{Protocol, parse}
	case errors.As(l.err, &timeout) && timeout.Timeout():
		return CutTime, &Failure{Timeout, l.late()}
	case errors.As(l.err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		// A TLS alert: with TLS 1.3 a server refuses a client only after the client's handshake is over.
		return CutDisconnect, &Failure{TLS, l.err}
	case errors.Is(l.err, io.EOF):
		return CutDisconnect, &Failure{early, io.ErrUnexpectedEOF}
	default:
		return CutDisconnect, &Failure{early, l.err}
	}
}

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

// close closes the connection, on TLS with a closure alert.
func (l *connection) close() { _ = l.conn.Close() }

// abort closes the connection without a closure alert, which could wait for seconds on one that is stuck.
func (l *connection) abort() {
	if l.socket != nil {
		_ = l.socket.Close()
		return
	}
	_ = l.conn.Close()
}

// idleLines holds idle connections: at most Request.Lines per authority, maxIdle in all, each for a life. A connection
// is either in here or owned by one exchange.
type idleLines struct {
	life time.Duration // negative keeps none

	mu    sync.Mutex
	lines map[canon.Authority][]*connection // the latest last
	count int
	over  bool
}

// take returns a usable idle connection to a, or nil. It closes those to another address than only, unless that is zero.
func (s *idleLines) take(a canon.Authority, only netip.AddrPort) *connection {
	for {
		l := s.remove(a)
		if l == nil || !l.hasPendingInput() && (!only.IsValid() || l.addr == only) {
			return l
		}
		l.close()
	}
}

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

// unlink removes l and reports whether it was in; called with mu held.
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

// put keeps l as one of at most width to its authority and reports whether there was room.
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

// expire closes l unless it has been taken. A timer that fires while l is taken and put back only ends its life early.
func (s *idleLines) expire(l *connection) {
	s.mu.Lock()
	waits := s.unlink(l)
	s.mu.Unlock()
	if waits {
		l.close()
	}
}

// shut empties s for good and returns its connections.
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

// protocols names the protocols of l as WARC tools do: https://github.com/iipc/warc-specifications/issues/42
func (l *connection) protocols() []string {
	spoken := []string{"http/1.1"}
	if secured, ok := l.conn.(*tls.Conn); ok {
		version := tls.VersionName(secured.ConnectionState().Version) // "TLS 1.3"
		spoken = append(spoken, strings.ToLower(strings.ReplaceAll(version, " ", "/")))
	}
	return spoken
}

// budget bounds the bytes per second of all connections (politeness rule 15). A reader waits after each read until its
// bytes are paid for, and meanwhile TCP slows the host down. A nil budget is endless.
type budget struct{ limiter *rate.Limiter }

// maxBurst bounds one read, and so how uneven the rate is within a second.
const maxBurst = 64 << 10

func newBudget(perSecond int64) *budget {
	if perSecond == 0 {
		return nil
	}
	return &budget{rate.NewLimiter(rate.Limit(perSecond), int(min(perSecond, maxBurst)))}
}

// most bounds a read of n bytes.
func (b *budget) most(n int) int {
	if b == nil {
		return n
	}
	return min(n, b.limiter.Burst())
}

// spend waits until n bytes, at most the result of most, are paid for, or over is closed. It returns the time taken.
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
	case <-over:
	}
	return time.Since(begin)
}

// leastSpeed measures a response against a least speed, span by span from its first byte on. The zero value accepts any.
type leastSpeed struct {
	octets int64         // required in a span; zero or less for any
	over   time.Duration // length of a span

	start time.Time // of the present span; zero before the first byte
	had   int64     // bytes received in it
}

func (s *leastSpeed) begin(now time.Time) { s.start, s.had = now, 0 }

// came counts bytes. ours is the crawler's own wait, which does not make the response slow.
func (s *leastSpeed) came(n int, ours time.Duration, now time.Time) {
	s.had += int64(n)
	s.start = s.start.Add(ours)
	if s.had >= s.octets && now.Sub(s.start) >= s.over {
		s.begin(now)
	}
}

// due returns when the span ends, unless enough came in it already.
func (s *leastSpeed) due() (time.Time, bool) {
	return s.start.Add(s.over), s.octets > 0 && !s.start.IsZero() && s.had < s.octets
}

func (s *leastSpeed) missed(now time.Time) bool {
	due, ok := s.due()
	return ok && !now.Before(due)
}
