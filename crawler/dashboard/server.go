package dashboard

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"curtsy/crawler/status"
	"curtsy/storage"
	"curtsy/storage/htmlpage"
)

//go:embed assets
var assets embed.FS

// Options configure a dashboard.
type Options struct {
	Sources []Source
	// Token grants access. Empty makes a new one. A given token stays secret: Address omits it.
	Token string
	// Names are host names of the dashboard besides addresses and localhost.
	Names []string
	// Metrics returns the handler of /metrics, which calls now for the current state of the crawls. Nil serves no metrics.
	Metrics func(now func() []Glance) http.Handler
	// Profile serves /debug/pprof of this process.
	Profile bool
}

type Server struct {
	options  Options
	given    bool // the operator gave the token
	guard    *guard
	watchers []*watcher
	streams  chan struct{} // a slot for each listening browser

	mu    sync.Mutex
	pages map[string]*made // by address
	said  lately[string]
	tried lately[preview]
}

// Bounds for browsers.
const (
	mostStreams = 64
	mostPages   = 64 // cached
	mostForm    = 64 << 10
	writeTime   = 20 * time.Second
)

// New returns a server, which is idle until Serve.
func New(o Options) *Server {
	given := o.Token != ""
	if o.Token == "" {
		b := make([]byte, 16)
		rand.Read(b)
		o.Token = hex.EncodeToString(b)
	}
	s := &Server{options: o, given: given, streams: make(chan struct{}, mostStreams), pages: map[string]*made{}}
	for _, source := range o.Sources {
		s.watchers = append(s.watchers, &watcher{
			source: source, tally: newTally(),
			fine: status.Keep(601, lookEvery/2), long: status.Keep(1441, slowSample),
		})
	}
	s.guard = &guard{token: o.Token, names: o.Names, next: s.routes()}
	return s
}

// Address returns the address to open in a browser, if the dashboard is at host, an address with its port. It includes a new
// token, but not a given one, which outlives printed output.
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

// unhurried lifts the time limit of a response.
func unhurried(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})) == nil {
			next(w, r)
		}
	}
}

// Serve follows the sources and serves on l until ctx ends.
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

// watcher returns the watcher that a request names, with its number.
func (s *Server) watcher(r *http.Request) (w *watcher, n int) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 0 || n >= len(s.watchers) {
		return nil, 0
	}
	return s.watchers[n], n
}

// crawlStatus is the JSON of a crawl in /api/status.
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

// ready reports whether each crawl has been seen.
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
	if r.PathValue("name") == "style.css" {
		http.ServeContent(w, r, "style.css", time.Time{}, strings.NewReader(htmlpage.Style()))
		return
	}
	b, err := assets.ReadFile("assets/" + r.PathValue("name"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, r.PathValue("name"), time.Time{}, bytes.NewReader(b))
}

// made is a rendered page or error.
type made struct {
	html   []byte
	event  []byte // the page as a server-sent event; nil unless streamed
	at     time.Time
	took   time.Duration
	status int
}

// eventStream is the media type that the script requests to receive the page whenever it changes.
const eventStream = "text/event-stream"

// page serves a page of a crawl, once or as a stream.
func (s *Server) page(view func(r *http.Request, w *watcher, v *view) (name string, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x, n := s.watcher(r)
		if x == nil {
			s.failed(w, http.StatusNotFound, "There is no such crawl here.")
			return
		}
		make := func() *made { return s.make(r, x, n, view) }
		if strings.Contains(r.Header.Get("Accept"), eventStream) {
			s.stream(w, r, func() *made { return s.kept(r.URL.RequestURI(), make) })
			return
		}
		send(w, make())
	}
}

func send(w http.ResponseWriter, m *made) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(m.status)
	w.Write(m.html)
}

func (s *Server) make(r *http.Request, x *watcher, n int, show func(r *http.Request, w *watcher, v *view) (string, error)) *made {
	v := s.newView(r, x, n)
	m := &made{status: http.StatusOK}
	name, err := show(r, x, v)
	if err != nil {
		name, m.status = "trouble.html", http.StatusServiceUnavailable
		v.Title, v.Trouble = "Trouble", err.Error()
	}
	var b bytes.Buffer
	if err := render(&b, name, v); err != nil {
		b.Reset()
		fmt.Fprintln(&b, "the page could not be written")
		m.status = http.StatusInternalServerError
	}
	m.html, m.at = b.Bytes(), time.Now()
	return m
}

// mostKept is the longest time that a page is cached.
const mostKept = 30 * time.Second

// kept caches pages for a second, or for fifty times as long as making them took, which limits that to 2 % of a processor.
func (s *Server) kept(key string, make func() *made) *made {
	s.mu.Lock()
	m := s.pages[key]
	s.mu.Unlock()
	if m != nil && time.Since(m.at) < max(lookEvery*9/10, min(50*m.took, mostKept)) {
		return m
	}
	begin := time.Now()
	m = make()
	m.took = time.Since(begin)
	if b, err := json.Marshal(string(m.html)); err == nil {
		m.event = slices.Concat([]byte("data: "), b, []byte("\n\n"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pages) >= mostPages {
		clear(s.pages)
	}
	s.pages[key] = m
	return m
}

// stream sends the page whenever it has changed. It has no queue: a slow browser gets the page that is current when it
// reads, and one that does not read is disconnected after writeTime.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, make func() *made) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		s.failed(w, http.StatusServiceUnavailable, "Too many browsers listen.")
		return
	}
	w.Header().Set("Content-Type", eventStream)
	to := http.NewResponseController(w)
	if to.SetReadDeadline(time.Time{}) != nil { // the request's deadline would look like the end of the connection
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var last []byte
	for {
		event := []byte(": nothing new\n\n")
		if m := make(); m.status == http.StatusOK && !bytes.Equal(m.html, last) {
			last, event = m.html, m.event
		}
		if to.SetWriteDeadline(time.Now().Add(writeTime)) != nil {
			return
		}
		if _, err := w.Write(event); err != nil || to.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Server) failed(w http.ResponseWriter, status int, why string) {
	v := &view{Title: "Trouble", Trouble: why}
	var b bytes.Buffer
	if render(&b, "trouble.html", v) != nil {
		http.Error(w, why, status)
		return
	}
	send(w, &made{html: b.Bytes(), status: status})
}

// Glance is the state of a crawl, for programs.
type Glance struct {
	Name string // of the source
	Look
	Err  error     // of the last look
	At   time.Time // of the last successful look; zero before
	Rate float64   // requests per second over the last ten seconds
}

// Glances returns the last known state of each source. It queries no source: Serve does, once a second.
func (s *Server) Glances() []Glance {
	all := make([]Glance, 0, len(s.watchers))
	for _, w := range s.watchers {
		all = append(all, w.glance())
	}
	return all
}

func (w *watcher) glance() Glance {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Glance{
		Name: w.source.Name(), Look: w.look, Err: w.err, At: w.at, Rate: w.fine.Over(10 * time.Second).Exchanges,
	}
}

// How often a watcher queries its source, and how much it reads at once.
const (
	lookEvery  = time.Second     // while the crawl runs
	restEvery  = 3 * time.Second // while it does not
	lookTime   = 5 * time.Second // limit of one query
	mostRead   = 100             // decisions per query, the last ones if there are more
	firstRead  = 2000            // decisions of the first query
	slowSample = time.Minute
)

// watcher follows one source, for any number of browsers.
type watcher struct {
	source Source

	mu     sync.Mutex
	look   Look
	err    error // of the last look; nil before the first
	first  bool  // there was a look
	at     time.Time
	unread error          // of reading the ledger
	fine   status.Samples // ten minutes
	long   status.Samples // a day
	tally  *tally
}

// follow queries the source until ctx ends.
func (w *watcher) follow(ctx context.Context) {
	most := firstRead
	for {
		running := w.once(ctx, most)
		most = mostRead
		wait := lookEvery
		if !running {
			wait = restEvery
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// once queries the source, and reports whether the crawl runs.
func (w *watcher) once(ctx context.Context, most int) bool {
	within, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	look, err := w.source.Look(within)
	lines, passed, lineErr := w.source.Decisions(most)
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	if w.err = err; err == nil {
		w.look, w.first, w.at = look, true, now
		x := status.Sample{
			At: now, Pages: look.Status.Pages, Bytes: look.Status.Bytes, Exchanges: look.Status.Exchanges,
			Permitted: look.Waits.Permitted, Archive: look.Disk.Archive,
		}
		w.fine.Add(x)
		w.long.Add(x)
	}
	w.unread = lineErr
	for _, l := range lines {
		w.tally.add(l)
	}
	w.tally.passed += passed
	return err == nil && look.Running
}

// seen is a snapshot of a watcher.
type seen struct {
	Look
	Err       error
	Unread    error
	First     bool
	At        time.Time
	Now       status.Rates // of the last ten seconds
	Minute    status.Rates
	Course    []status.Rates // the last ten minutes, in parts
	Span      time.Duration
	LongRates []status.Rates
	LongSpan  time.Duration
	Since     time.Time
	Read      int64
	Passed    int64
	Failures  []failing
}

func (w *watcher) seen() seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return seen{
		Look: w.look, Err: w.err, Unread: w.unread, First: w.first, At: w.at,
		Now: w.fine.Over(10 * time.Second), Minute: w.fine.Over(time.Minute),
		Course: w.fine.Course(100), Span: w.fine.Span(), LongRates: w.long.Course(120), LongSpan: w.long.Span(),
		Since: w.tally.since, Read: w.tally.seen, Passed: w.tally.passed,
		Failures: w.tally.failures(),
	}
}

// answers returns the last status code of each host in rows, if its decision is still in memory.
func (w *watcher) answers(rows []status.Row) map[string]int {
	found := make(map[string]int, len(rows))
	for _, r := range rows {
		found[r.Host] = 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, left := len(w.tally.last)-1, len(found); i >= 0 && left > 0; i-- {
		l := &w.tally.last[i]
		if had, asked := found[originOf(l.URL)]; asked && had == 0 && l.Status > 0 {
			found[originOf(l.URL)] = l.Status
			left--
		}
	}
	return found
}

// originOf returns the part of a canonical URL before its path.
func originOf(text string) string {
	_, rest, ok := strings.Cut(text, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		return text[:len(text)-len(rest)+i]
	}
	return text
}

func (w *watcher) newest(n int, match func(*storage.Line) bool) []storage.Line {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tally.newest(n, match)
}

// guard admits requests that have the token and do not come from another site's page.
type guard struct {
	token string
	names []string // host names besides addresses and localhost
	next  http.Handler
}

// paramToken is the query parameter with the token in the printed address.
const paramToken = "token"

// cookieName includes the port, because cookies ignore ports: two dashboards of one machine need different names.
func (g *guard) cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "0"
	}
	return "curtsy_" + port
}

// session is the cookie's value, which does not reveal the token.
func (g *guard) session() string { return derived(g.token, "session") }

// formToken is part of each form. A page on another port counts as the same site, but cannot read it.
func (g *guard) formToken() string { return derived(g.token, "form") }

func derived(token, what string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("curtsy dashboard " + what))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	heads(w.Header())
	switch {
	case !g.knows(r.Host):
		http.Error(w, "This is not a name of the dashboard: open it by the address that was printed.", http.StatusMisdirectedRequest)
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "The dashboard knows GET, HEAD and POST.", http.StatusMethodNotAllowed)
	case r.URL.Path == "/healthz" || r.URL.Path == "/readyz": // they reveal only yes or no
		g.next.ServeHTTP(w, r)
	case !g.fromHere(r):
		http.Error(w, "Another site's page sent this request. Open the dashboard by the address that was printed.", http.StatusForbidden)
	case g.opens(w, r):
	case !g.admitted(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "Open the dashboard by the address that was printed when it began, with its token: that of the file, if one was given, as /?token=TOKEN.", http.StatusUnauthorized)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// heads sets fields of every response: loading only from here, only the embedded script, no frames, no caching.
func heads(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types curtsy")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // no-referrer would send forms from the origin null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// knows reports whether a Host field may name the dashboard: an address, localhost, or a name from the operator. Another site
// can point its name here (DNS rebinding), but its name cannot be an address.
func (g *guard) knows(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return strings.EqualFold(name, "localhost") || g.named(name)
}

func (g *guard) named(name string) bool {
	return slices.ContainsFunc(g.names, func(known string) bool { return strings.EqualFold(known, name) })
}

// fromHere reports whether a request comes from the dashboard's page, or from no page. Browsers send Sec-Fetch-Site, and Origin
// with a POST; other programs send neither, and need the token.
func (g *guard) fromHere(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	origin, sent := r.Header["Origin"]
	if !sent {
		return r.Method != http.MethodPost
	}
	u, err := url.Parse(origin[0])
	return err == nil && len(origin) == 1 && strings.EqualFold(u.Host, r.Host) &&
		(u.Scheme == "http" || u.Scheme == "https" && g.named(u.Hostname())) // behind a reverse proxy with TLS
}

// opens redeems a token in the address: it sets the cookie and redirects to the address without it.
func (g *guard) opens(w http.ResponseWriter, r *http.Request) bool {
	q := r.URL.Query()
	if !q.Has(paramToken) {
		return false
	}
	if r.Method == http.MethodPost || !same(q.Get(paramToken), g.token) {
		http.Error(w, "This is not the dashboard's token: it is another one each time that a dashboard begins.", http.StatusForbidden)
		return true
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(r), Value: g.session(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	q.Del(paramToken)
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/\\"), RawQuery: q.Encode()}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return true
}

// admitted reports whether a request has the cookie, or the token as a bearer.
func (g *guard) admitted(r *http.Request) bool {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return r.Method != http.MethodPost && same(bearer, g.token)
	}
	for _, c := range r.CookiesNamed(g.cookieName(r)) {
		if same(c.Value, g.session()) {
			return true
		}
	}
	return false
}
