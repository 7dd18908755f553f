package fetch

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// names looks host names up, at most maxLookups at a time, each once for all who want it now, and remembers answers for
// a while: a host's robots.txt and its first pages should not cost a look-up each, and what the crawler reserves a slot
// for must be what it dials. Failures are shared, but not remembered.
//
// A look-up that takes long is waiting for somebody's name server, and does not keep others from theirs: its place is
// free again after slowLookUp. Waiting for a place is nobody's failure, and no part of the patience with a look-up.
type names struct {
	resolve  func(ctx context.Context, host string) ([]netip.Addr, error)
	patience time.Duration // with one look-up
	places   chan struct{} // one for each look-up under way that is not slow

	mu    sync.Mutex
	under map[string]*lookUp // under way
	known map[string]answer
}

// lookUp is one question to the resolver. The fields behind done are set when that is closed.
type lookUp struct {
	done    chan struct{}
	addrs   []netip.Addr
	err     error
	settled bool // the resolver answered; otherwise it was given up
}

// answer is what a name led to.
type answer struct {
	addrs []netip.Addr
	until time.Time
}

const (
	nameLife   = time.Minute
	slowLookUp = time.Second

	maxNames = 1 << 14 // remembered at once; a crawl of more hosts looks some of them up more often
	maxFound = 32      // addresses of one name: an answer of the DNS may hold thousands
)

func newNames(resolve func(context.Context, string) ([]netip.Addr, error), patience time.Duration) *names {
	return &names{
		resolve: resolve, patience: patience, places: make(chan struct{}, maxLookups),
		under: map[string]*lookUp{}, known: map[string]answer{},
	}
}

// of returns the addresses of a host name. The first to ask makes the look-up; the others wait for it, and one of them
// makes its own when that was given up.
func (n *names) of(ctx context.Context, host string) ([]netip.Addr, error) {
	for {
		n.mu.Lock()
		if a, ok := n.known[host]; ok && time.Now().Before(a.until) {
			n.mu.Unlock()
			return slices.Clone(a.addrs), nil
		}
		l := n.under[host]
		if l == nil {
			l = &lookUp{done: make(chan struct{})}
			n.under[host] = l
			n.mu.Unlock()
			n.make(ctx, host, l)
			return l.addrs, l.err
		}
		n.mu.Unlock()
		select {
		case <-l.done:
			if l.settled {
				return slices.Clone(l.addrs), l.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// make asks the resolver and tells those who wait what it answered.
func (n *names) make(ctx context.Context, host string, l *lookUp) {
	defer func() { // also when the resolver panics
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.under, host)
		close(l.done)
		if l.settled && l.err == nil && len(l.addrs) > 0 {
			n.remember(host, l.addrs)
		}
	}()
	select {
	case n.places <- struct{}{}:
		leave := time.AfterFunc(slowLookUp, func() { <-n.places })
		defer func() {
			if leave.Stop() {
				<-n.places
			}
		}()
	case <-ctx.Done():
		l.err = ctx.Err()
		return
	}
	patient, cancel := context.WithTimeout(ctx, n.patience)
	defer cancel()
	l.addrs, l.err = n.resolve(patient, host)
	l.addrs = l.addrs[:min(len(l.addrs), maxFound)]
	l.settled = l.err == nil || ctx.Err() == nil
}

// remember keeps an answer. The caller holds mu.
func (n *names) remember(host string, addrs []netip.Addr) {
	now := time.Now()
	if len(n.known) >= maxNames {
		for name, a := range n.known {
			if !now.Before(a.until) {
				delete(n.known, name)
			}
		}
		for name := range n.known { // all of them are young: some have to go
			if len(n.known) < maxNames/2 {
				break
			}
			delete(n.known, name)
		}
	}
	n.known[host] = answer{addrs: slices.Clone(addrs), until: now.Add(nameLife)}
}

// forget drops what is known of a name: none of its addresses could be reached.
func (n *names) forget(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, host)
}
