package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Do makes one exchange. What the world does wrong is in Exchange.Failure. An error means that there is no exchange:
// ctx was over before the response was complete, the spool failed, too many files are open, or the request or the
// identity (see Identity.CheckContact) cannot be used. The caller closes the exchange.
func (f *Fetcher) Do(ctx context.Context, r Request) (*Exchange, error) {
	head, err := f.head(r)
	if err != nil {
		return nil, err
	}
	if r.MaxBody == 0 {
		r.MaxBody = f.c.MaxBody
	}
	x := &Exchange{URL: r.URL, Start: time.Now()}
	err = f.perform(ctx, x, r, head, x.Start.Add(f.c.WholeTimeout))
	x.End = time.Now()
	var failure *Failure
	switch {
	case err == nil:
		return x, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.As(err, &failure):
		x.Failure = failure
		return x, nil
	}
	return nil, fmt.Errorf("fetch: GET %s: %w", r.URL, errors.Join(err, x.Close()))
}

// errStale is a reused connection that died before the first octet of the answer.
var errStale = errors.New("the reused connection had ended")

// perform goes over the idle connection if there is one, else, or when that proves dead, over a fresh one.
func (f *Fetcher) perform(ctx context.Context, x *Exchange, r Request, head []byte, end time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a := r.URL.Authority()
	if l := f.idle.take(a); l != nil {
		l.watch(ctx, end)
		x.Reused = true
		if err := f.converse(x, l, r, head); !errors.Is(err, errStale) {
			return err
		}
		if err := x.raw.close(); err != nil {
			return err
		}
		*x = Exchange{URL: x.URL, Start: time.Now()}
	}
	l, err := f.connect(ctx, x, a, end)
	if err != nil {
		return err
	}
	return f.converse(x, l, r, head)
}

// converse makes the exchange over l, and keeps or closes l.
func (f *Fetcher) converse(x *Exchange, l *line, r Request, head []byte) error {
	x.Addr, x.raw = l.addr, f.newSpool()
	l.begin(x.raw, headLimit+readBuffer, f.c.IdleTimeout)
	keep, err := f.exchange(x, l, r, head)
	switch fit := l.release(); {
	case !fit || err != nil:
		l.abort()
	case !keep || !f.idle.put(l):
		l.close()
	}
	return err
}

// exchange sends the request and reads the answer. keep says that l may carry another one.
func (f *Fetcher) exchange(x *Exchange, l *line, r Request, head []byte) (keep bool, err error) {
	x.Start = time.Now()
	n, err := l.send(head)
	x.Request = head[:n]
	if err != nil {
		_, err = l.fault(err, Reset)
		return false, l.stale(err)
	}
	sent := time.Now()
	l.await(f.c.FirstByteTimeout)
	resp, begin, err := f.readHead(x, l) //nolint:bodyclose // a body holds nothing, and its Close would read on to the end
	if !l.first.IsZero() {
		x.ResponseTime = max(l.first.Sub(sent), 1)
	}
	if err == nil {
		x.HeadSize = l.consumed() - begin
		keep, err = f.readRest(x, l, resp, r)
	}
	finish := l.consumed()
	if err != nil {
		finish = x.raw.size
	}
	if finish > begin {
		x.Response = io.NewSectionReader(x.raw, begin, finish-begin)
	} else {
		x.Truncated = ""
	}
	return keep && l.br.Buffered() == 0, l.stale(err)
}

// stale makes errStale of err if l was reused and the other side ended it before it answered. A server may close an
// idle connection at any time, so that such a request counts as not made (RFC 9112 9.3.1).
func (l *line) stale(err error) error {
	var failure *Failure
	if l.used > 1 && l.raw.size == 0 && errors.As(err, &failure) && failure.Class == Reset {
		return errStale
	}
	return err
}

// readHead reads the head of the final response, which begins at octet begin of what l kept. The head limit is below
// what a spool keeps in memory, so no disk can fail here.
func (f *Fetcher) readHead(x *Exchange, l *line) (resp *http.Response, begin int64, err error) {
	for {
		resp, err = http.ReadResponse(l.br, nil)
		if err == nil {
			err = plausible(resp)
		}
		switch {
		case errors.Is(l.err, errBudget) || err == nil && l.consumed() > headLimit:
			x.Truncated = CutLength
			return nil, begin, &Failure{Protocol, fmt.Errorf("response head over %d octets", headLimit)}
		case err != nil:
			x.Truncated, err = l.fault(err, Reset)
			return nil, begin, err
		case resp.StatusCode >= 200:
			x.Status, x.Header = resp.StatusCode, resp.Header
			return resp, begin, nil
		}
		begin = l.consumed()
		if x.Interim++; x.Interim > maxInterim {
			x.Truncated = CutOther
			return nil, begin, &Failure{Protocol, fmt.Errorf("more than %d interim responses", maxInterim)}
		}
		l.await(f.c.FirstByteTimeout)
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
		return errors.New("switch of protocols that was not asked for")
	}
	return nil
}
