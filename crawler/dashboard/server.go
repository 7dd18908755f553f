package dashboard

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync"
	"time"
)

//go:embed assets
var assets embed.FS

// Options are what a dashboard shows, and to whom.
type Options struct {
	Sources []Source
	// Token is what opens the page. Empty means a new one. One that is given stays secret: Address is without it.
	Token string
	// Names are host names by which the page may be asked for, beside addresses and localhost.
	Names []string
	// Metrics makes what answers /metrics, of what is known of the crawls whenever it is asked. Nil means that there is nothing.
	Metrics func(now func() []Glance) http.Handler
	// Profile serves /debug/pprof of this process.
	Profile bool
}

// Server shows crawls.
type Server struct {
	options  Options
	given    bool // the token was
	guard    *guard
	watchers []*watcher
	streams  chan struct{} // a place for each browser that listens

	mu    sync.Mutex
	pages map[string]*made // by what they show
	said  lately[string]
	tried lately[preview]
}

// Bounds of what browsers may ask for.
const (
	mostStreams = 64
	mostPages   = 64 // that are kept
	mostForm    = 64 << 10
	writeTime   = 20 * time.Second
)

// New returns a server of what o says. It does nothing before Serve.
func New(o Options) *Server {
	given := o.Token != ""
	if o.Token == "" {
		b := make([]byte, 16)
		rand.Read(b)
		o.Token = hex.EncodeToString(b)
	}
	s := &Server{options: o, given: given, streams: make(chan struct{}, mostStreams), pages: map[string]*made{}}
	for _, source := range o.Sources {
		s.watchers = append(s.watchers, newWatcher(source))
	}
	s.guard = &guard{token: o.Token, names: o.Names, next: s.routes()}
	return s
}

// Address is what a browser opens, where the dashboard is reached at host, an address with its port. It has the token, if
// that is new: one that was given lasts longer than what is printed should.
func (s *Server) Address(host string) string {
	if s.given {
		return "http://" + host + "/"
	}
	return "http://" + host + "/?" + paramToken + "=" + s.options.Token
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.front)
	mux.HandleFunc("GET /crawl/{n}/{$}", s.page(s.overview))
	mux.HandleFunc("GET /crawl/{n}/hosts", s.page(s.hosts))
	mux.HandleFunc("GET /crawl/{n}/host", s.page(s.host))
	mux.HandleFunc("GET /crawl/{n}/decisions", s.page(s.decisions))
	mux.HandleFunc("GET /crawl/{n}/explain", s.page(s.explain))
	mux.HandleFunc("GET /crawl/{n}/steer", s.page(s.steer))
	mux.HandleFunc("POST /crawl/{n}/act", s.act)
	mux.HandleFunc("GET /api/status", s.api)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /assets/{name}", asset)
	if s.options.Metrics != nil {
		mux.Handle("GET /metrics", s.options.Metrics(s.Glances))
	}
	if s.options.Profile {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", unhurried(pprof.Profile))
		mux.HandleFunc("GET /debug/pprof/trace", unhurried(pprof.Trace))
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	}
	return mux
}

// unhurried lets an answer take as long as it was asked to.
func unhurried(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})) == nil {
			next(w, r)
		}
	}
}

// Serve answers on l, and follows the sources, until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	for _, w := range s.watchers {
		following.Go(func() { w.follow(ctx) })
	}
	server := &http.Server{
		Handler: s.guard, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: writeTime,
		IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// watcher is the one that a request names, with its number.
func (s *Server) watcher(r *http.Request) (w *watcher, n int) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 0 || n >= len(s.watchers) {
		return nil, 0
	}
	return s.watchers[n], n
}

// status is what /api/status says of a crawl.
type crawlStatus struct {
	Crawl   string  `json:"crawl"`
	Running bool    `json:"running"`
	Error   string  `json:"error,omitempty"`
	Look    Look    `json:"now"`
	Pages   float64 `json:"pages_per_s"`
	Bytes   float64 `json:"bytes_per_s"`
	Rate    float64 `json:"exchanges_per_s"`
}

func (s *Server) api(w http.ResponseWriter, _ *http.Request) {
	all := []crawlStatus{}
	for _, x := range s.watchers {
		v := x.seen()
		c := crawlStatus{
			Crawl: x.source.Name(), Running: v.Running, Look: v.Look, Pages: v.Now.Pages, Bytes: v.Now.Bytes, Rate: v.Now.Exchanges,
		}
		if v.Err != nil {
			c.Error = v.Err.Error()
		}
		all = append(all, c)
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(all)
}

// ready says whether each crawl has been seen.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	for _, x := range s.watchers {
		if v := x.seen(); !v.First {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
	}
	w.Write([]byte("ok\n"))
}

func asset(w http.ResponseWriter, r *http.Request) {
	b, err := assets.ReadFile("assets/" + r.PathValue("name"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, r.PathValue("name"), time.Time{}, bytes.NewReader(b))
}
