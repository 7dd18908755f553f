package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"curtsy/frontier/canon"
)

// Do makes one exchange. Exchange.Failure has what the world does wrong. An error means that there is no exchange:
// ctx was over before the response was complete, the spool failed, too many files are open, or the request or the
// identity (see Identity.CheckContact) cannot be used. The caller closes the exchange.
//
// A ctx that was cancelled with a *Failure as its cause (context.WithCancelCause) is another matter: it ends the
// exchange as quickly, and what came of it until then is an exchange that failed like that.
func (f *Fetcher) Do(ctx context.Context, r Request) (*Exchange, error) {
	head, err := f.head(r)
	if err != nil {
		return nil, err
	}
	if r.MaxBody == 0 {
		r.MaxBody = f.c.MaxBody
	}
	if r.FirstByteTimeout == 0 {
		r.FirstByteTimeout = f.c.FirstByteTimeout
	}
	if r.WholeTimeout == 0 {
		r.WholeTimeout = f.c.WholeTimeout
	}
	x := &Exchange{URL: r.URL, Start: time.Now()}
	err = f.perform(ctx, x, r, head, x.Start.Add(r.WholeTimeout))
	x.End = time.Now()
	var failure *Failure
	switch {
	case err == nil:
		return x, nil
	case errors.As(over(ctx), &failure):
		x.Failure = failure
		return x, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.As(err, &failure):
		x.Failure = failure
		return x, nil
	}
	return nil, fmt.Errorf("fetch: %s %s: %w", r.method(), r.URL, errors.Join(err, x.Close()))
}

// over is the error of ctx: its cause if that is a *Failure.
func over(ctx context.Context) error {
	var failure *Failure
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &failure) {
		return failure
	}
	return ctx.Err()
}

// Unmade returns the exchange that was not begun because its look-up failed.
func Unmade(u canon.URL, why *Failure) *Exchange {
	now := time.Now()
	return &Exchange{URL: u, Start: now, End: now, Failure: why}
}

// errStale is a reused connection that took nothing of the request.
var errStale = errors.New("the reused connection had ended")

// perform goes over the idle connection if there is one, else, or when that proves dead, over a fresh one.
func (f *Fetcher) perform(ctx context.Context, x *Exchange, r Request, head []byte, end time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a := r.URL.Authority()
	if l := f.idle.take(a, r.Addr); l != nil {
		l.watch(ctx, end)
		if err := f.refuse(l.addr.Addr()); err != nil { // none is on a list that only a proxy knows
			l.release()
			l.abort()
			return err
		}
		x.Reused = true
		if err := f.converse(ctx, x, l, r, head); !errors.Is(err, errStale) {
			return err
		}
		if err := x.raw.close(); err != nil {
			return err
		}
		*x = Exchange{URL: x.URL, Start: time.Now()}
		end = l.end
	}
	l, err := f.connect(ctx, x, a, r.Addr, end)
	if err != nil {
		return err
	}
	return f.converse(ctx, x, l, r, head)
}

// converse makes the exchange over l, and keeps or closes l.
func (f *Fetcher) converse(ctx context.Context, x *Exchange, l *connection, r Request, head []byte) error {
	if r.Begin != nil {
		before := time.Now()
		if err := r.Begin(ctx); err != nil {
			l.release()
			l.abort()
			return err
		}
		l.end = l.end.Add(time.Since(before))
		r.Meter.add(0, time.Since(before))
	}
	x.Addr, x.raw = l.addr, f.newSpooled()
	if l.proxy != nil {
		x.Proxy = l.proxy.String()
	}
	l.begin(x.raw, headLimit+readBuffer, f.c.IdleTimeout)
	l.meter, l.speed = r.Meter, leastSpeed{octets: f.leastInSpan, over: f.c.SpeedSpan}
	keep, err := f.exchange(x, l, r, head)
	switch fit := l.release(); {
	case !fit || err != nil:
		l.abort()
	case !keep || !f.idle.put(l, r.Lines):
		l.close()
	}
	return err
}

// exchange sends the request and reads the answer. keep says that l may carry another one.
func (f *Fetcher) exchange(x *Exchange, l *connection, r Request, head []byte) (keep bool, err error) {
	x.Start = time.Now()
	fields := f.credentials(&r)
	w := l.wire(f.signed(head, r.URL.Authority(), x.Start), fields)
	n, err := l.send(w.octets)
	x.Request = w.kept(n)
	if n > 0 {
		x.Protocols = l.protocols()
	}
	if r.Begun != nil {
		r.Begun()
	}
	if err != nil {
		_, err = l.fault(err, Reset)
		return false, l.stale(n, err)
	}
	sent := time.Now()
	l.await(r.FirstByteTimeout)
	// A body holds nothing, and its Close would read on to the end.
	resp, begin, err := f.readHead(x, l, &r) //nolint:bodyclose // see above
	if err != nil && l.forwarded() {
		err = l.malformedProxyResponse(err)
	}
	if !l.first.IsZero() {
		x.ResponseTime = max(l.first.Sub(sent), 1)
	}
	if err == nil && x.Status == http.StatusProxyAuthRequired && l.forwarded() {
		err = l.unwelcome()
	}
	if err == nil {
		x.HeadSize = l.consumed() - begin
		keep, err = f.readRest(x, l, resp, r)
	}
	finish := l.consumed()
	if err != nil {
		finish = x.raw.Size()
	}
	if finish > begin {
		x.Response = io.NewSectionReader(x.raw, begin, finish-begin)
	} else {
		x.Truncated = ""
	}
	if err = x.unrepeated(fields, err); err != nil {
		keep = false
	}
	return keep && l.br.Buffered() == 0, err
}

// stale makes errStale of err if l was reused and took nothing of the request, of which n octets were sent. A server
// may close an idle connection at any time, and such a request was not made (RFC 9112 9.3.1). One that went out may
// have been heard: to ask again at once would be two exchanges without a pause.
func (l *connection) stale(n int, err error) error {
	var failure *Failure
	if l.used > 1 && n == 0 && errors.As(err, &failure) && failure.Class == Reset {
		return errStale
	}
	return err
}

// readHead reads the head of the final response, which begins at octet begin of what l kept. The head limit is below
// what a spool keeps in memory, so no disk can fail here.
func (f *Fetcher) readHead(x *Exchange, l *connection, r *Request) (resp *http.Response, begin int64, err error) {
	asked := &http.Request{Method: r.method()}
	for {
		resp, err = http.ReadResponse(l.br, asked)
		if err == nil {
			err = plausible(resp)
		}
		switch {
		case errors.Is(l.err, errBudget) || err == nil && l.consumed() > headLimit:
			x.Truncated = CutOther // not CutLength: nothing is made of a head that has no end
			return nil, begin, &Failure{Protocol, fmt.Errorf("response header over %d bytes", headLimit)}
		case err != nil:
			x.Truncated, err = l.fault(err, Reset)
			return nil, begin, err
		case resp.StatusCode >= 200:
			x.Status, x.Header = resp.StatusCode, resp.Header
			if resp.ProtoMinor == 0 {
				x.Protocols[0] = "http/1.0"
			}
			return resp, begin, nil
		}
		begin = l.consumed()
		if x.Interim++; x.Interim > maxInterim {
			x.Truncated = CutOther
			return nil, begin, &Failure{Protocol, fmt.Errorf("more than %d interim responses", maxInterim)}
		}
		l.await(r.FirstByteTimeout)
	}
}

// plausible refuses what net/http lets pass: other versions, status codes that are none, and a switch of protocols
// that nobody asked for.
func plausible(resp *http.Response) error {
	switch {
	case resp.ProtoMajor != 1:
		return fmt.Errorf("answer in %q, not HTTP/1.x", resp.Proto)
	case resp.StatusCode < 100:
		return fmt.Errorf("status code %d", resp.StatusCode)
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return errors.New("switch of protocols without a request for it")
	}
	return nil
}
