package crawltest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Web is many authorities, each a Site with its own name, address and behaviour. Make one with New or Demo, and start
// it once. After that its methods may be called concurrently.
type Web struct {
	order   []*host
	hosts   map[string]*host // by name
	addrs   map[string]netip.Addr
	referee *Referee

	local *strings.Replacer // names to loopback ports; nil over pipes

	mu        sync.Mutex
	listeners map[string]listener // by authority; nil while the web is not serving
	servers   []*http.Server
	stop      context.CancelFunc
	serving   sync.WaitGroup // the goroutines that accept
	conns     sync.WaitGroup // the connections
	errs      []error        // of accepting
}

// listener is a net.Listener that can also be dialled.
type listener interface {
	net.Listener
	dial(ctx context.Context) (net.Conn, error)
}

// The addresses that the web's names have: RFC 2544 sets them aside for tests of network devices.
var prefix = netip.MustParsePrefix("198.18.0.0/15")

// New makes a web of sites. Later changes in a Site have no effect: see Web.Change. It panics on a site that
// cannot be served: without a name, with one in upper case, or with that of another one.
func New(sites ...*Site) *Web {
	w := &Web{hosts: map[string]*host{}, addrs: map[string]netip.Addr{}}
	w.referee = &Referee{web: w, hops: map[place]bool{}}
	addr := prefix.Addr()
	for _, s := range sites {
		h := &host{web: w, name: authorityOf(s.Name), asked: map[string]int{}}
		machine, port := h.name, "80"
		if strings.Contains(machine, ":") {
			var err error
			if machine, port, err = net.SplitHostPort(machine); err != nil {
				panic(fmt.Sprintf("crawltest: site %q: %v", s.Name, err))
			}
		}
		if machine == "" || s.Name != strings.ToLower(s.Name) || w.hosts[h.name] != nil {
			panic(fmt.Sprintf("crawltest: site %q: the name is empty, not in lower case, or used twice", s.Name))
		}
		if literal, err := netip.ParseAddr(machine); err == nil {
			w.addrs[machine] = literal
		}
		if !w.addrs[machine].IsValid() {
			addr = addr.Next()
			w.addrs[machine] = addr
		}
		h.addr = net.JoinHostPort(w.addrs[machine].String(), port)
		h.set(*s)
		w.order = append(w.order, h)
		w.hosts[h.name] = h
	}
	return w
}

// Start serves each site on a port of 127.0.0.1.
func (w *Web) Start() error {
	names := make([]string, 0, 2*len(w.order))
	listeners := make(map[string]listener, len(w.order))
	for _, h := range w.order {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", "127.0.0.1:0")
		if err != nil {
			for _, open := range listeners {
				err = errors.Join(err, open.Close())
			}
			return fmt.Errorf("crawltest: listen for %s: %w", h.name, err)
		}
		listeners[h.name] = socketListener{l}
		_, h.port, _ = net.SplitHostPort(l.Addr().String())
		for _, end := range []string{"/", `"`} {
			names = append(names, "//"+h.name+end, "//127.0.0.1:"+h.port+end)
		}
	}
	w.local = strings.NewReplacer(names...)
	w.serve(listeners)
	return nil
}

// StartPipe serves over net.Pipe, for testing/synctest bubbles: call it inside the bubble, and Close too. There are no
// ports on 127.0.0.1 then. A web is started once; a second start panics.
func (w *Web) StartPipe() {
	listeners := make(map[string]listener, len(w.order))
	for _, h := range w.order {
		listeners[h.name] = newPipeListener(h.addr)
	}
	w.serve(listeners)
}

func (w *Web) serve(listeners map[string]listener) {
	ctx, stop := context.WithCancel(context.Background())
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		panic("crawltest: a web is started once")
	}
	w.stop, w.listeners = stop, listeners
	for _, h := range w.order {
		s := &http.Server{
			Handler:     h,
			BaseContext: func(net.Listener) context.Context { return ctx },
			ConnContext: withWire,
			ConnState:   w.count,
			ErrorLog:    quiet,
			// As usual with servers in the wild.
			ReadHeaderTimeout: time.Minute,
			IdleTimeout:       75 * time.Second,
		}
		w.servers = append(w.servers, s)
		w.serving.Go(func() {
			if err := s.Serve(timed{listeners[h.name], w.referee}); !errors.Is(err, http.ErrServerClosed) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.errs = append(w.errs, fmt.Errorf("crawltest: serve %s: %w", h.name, err))
			}
		})
	}
}

// count follows the life of a connection. StateNew comes from the goroutine that accepts, so that Close cannot miss it.
func (w *Web) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		w.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		w.conns.Done()
	}
}

// Close breaks off what is going on, stops serving and waits until all has ended. The log stays.
func (w *Web) Close() error {
	w.mu.Lock()
	stop, servers := w.stop, w.servers
	w.listeners, w.servers = nil, nil
	w.mu.Unlock()
	if stop == nil {
		return nil
	}
	stop()
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Close())
	}
	w.serving.Wait()
	for _, s := range servers {
		errs = append(errs, s.Close()) // connections that were accepted while the first Close went on
	}
	w.conns.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(append(errs, w.errs...)...)
}

// Change lets f change a site while the web is served: the next request is answered by what it then is. It panics if
// there is no site of that name.
func (w *Web) Change(name string, f func(*Site)) {
	h := w.hosts[authorityOf(name)]
	if h == nil {
		panic(fmt.Sprintf("crawltest: no site %q", name))
	}
	s := h.now().Site
	f(&s)
	h.set(s)
}

// Hosts returns the names of the sites, in their order.
func (w *Web) Hosts() []string {
	names := make([]string, len(w.order))
	for i, h := range w.order {
		names[i] = h.name
	}
	return names
}

// Seeds returns the URL of each site's root, in the order of the sites.
func (w *Web) Seeds() []string {
	seeds := make([]string, len(w.order))
	for i, h := range w.order {
		seeds[i] = "http://" + h.name + "/"
	}
	return seeds
}

// Referee returns the one who logs and judges. It is the same at every call.
func (w *Web) Referee() *Referee { return w.referee }
