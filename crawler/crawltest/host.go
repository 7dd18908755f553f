package crawltest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// host is an authority of the web.
type host struct {
	web  *Web
	name string // the authority
	addr string // "198.18.0.1:80"
	port string // on 127.0.0.1; empty over pipes

	mu    sync.Mutex
	site  *served
	asked map[string]int // GET requests so far, of the pages that fail at first, by key
	named int            // look-ups so far, where Addrs answer them
}

// served is a site as it is served. It does not change: Web.Change puts another one in its place.
type served struct {
	Site
	host  string
	pages map[string]*leaf // by key
}

// RobotsPath is where a site has its rules for robots.
const RobotsPath = "/robots.txt"

// set makes s what the host serves.
func (h *host) set(s Site) {
	v := &served{Site: s, host: h.name, pages: make(map[string]*leaf, len(s.Pages)+1)}
	for target, p := range s.Pages {
		k := Key(target)
		v.pages[k] = leafOf(place{h.name, k}, p)
	}
	if s.Robots.given() || v.pages[RobotsPath] == nil && s.Handler == nil {
		v.pages[RobotsPath] = leafOf(place{h.name, RobotsPath}, s.Robots.page())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.site = v
}

// now returns the site as it is served now.
func (h *host) now() *served {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.site
}

// address answers a look-up of the host's name that the web would answer with own.
func (h *host) address(own netip.Addr) netip.Addr {
	h.mu.Lock()
	defer h.mu.Unlock()
	addrs := h.site.Addrs
	if len(addrs) == 0 {
		return own
	}
	addr := addrs[min(h.named, len(addrs)-1)]
	if h.named++; !addr.IsValid() {
		return own
	}
	return addr
}

// lookups returns how many look-ups address has answered.
func (h *host) lookups() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.named
}

// page returns what is at a key; nil when only the handler may know.
func (s *served) page(k string) *leaf {
	if l := s.pages[k]; l != nil {
		return l
	}
	at := place{s.host, k}
	if t := s.trapped(k); t != nil {
		return leafOf(at, t.Page(k))
	}
	if s.Handler != nil {
		return nil
	}
	return leafOf(at,
		Page{Type: "text/html", Status: http.StatusNotFound, Title: "Not found", Text: "There is no such page."})
}

// trapped returns the trap that a key is in; nil for none, and for a page that there is.
func (s *served) trapped(k string) *Trap {
	if s.pages[k] != nil {
		return nil
	}
	for i, t := range s.Traps {
		if strings.HasPrefix(k, t.Prefix) {
			return &s.Traps[i]
		}
	}
	return nil
}

// fails counts a GET request for l and reports whether it is to fail.
func (h *host) fails(k string, l *leaf, method string) bool {
	if l.FailFirst == 0 || method != http.MethodGet {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[k]++
	return h.asked[k] <= l.FailFirst
}

// ServeHTTP answers one request, under the referee's eyes.
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.web.conns.Add(1) // net/http lets go of a Raw's connection: the web still waits until the answer is in the log
	defer h.web.conns.Done()
	k := Key(targetOf(r))
	x := h.web.referee.begin(h, k, r)
	note := &noting{ResponseWriter: w, x: x, referee: h.web.referee}
	whole := false
	defer func() { h.web.referee.end(x, whole) }()

	site := h.now()
	l := site.page(k)
	switch {
	case h.web.named(r.Host) != h && !h.bare(r.Host):
		http.Error(note, "this server does not answer for "+strconv.Quote(r.Host), http.StatusMisdirectedRequest)
	case l == nil:
		pause(r.Context(), site.Latency)
		site.Handler.ServeHTTP(note, r)
		note.finish()
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		note.Header().Set("Allow", "GET, HEAD")
		http.Error(note, "only GET and HEAD", http.StatusMethodNotAllowed)
	default:
		failed := h.fails(k, l, r.Method)
		h.web.referee.mu.Lock()
		x.failed = failed
		h.web.referee.mu.Unlock()
		pause(r.Context(), site.Latency+l.Delay)
		if l.Raw != nil && !failed && r.Method == http.MethodGet {
			whole = h.raw(w, r, x, l)
			return
		}
		h.send(note, r, l, failed)
	}
	whole = true
}

// bare reports whether a Host field names loopback without a port, as some clients wrongly write it (RFC 9110 7.2): on
// the site's own port there is no doubt who is meant.
func (h *host) bare(name string) bool {
	return h.port != "" && (name == "127.0.0.1" || name == "localhost")
}

// targetOf returns the bytes of path and query on the request line.
func targetOf(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		return r.RequestURI
	}
	return r.URL.RequestURI() // absolute form, as to a proxy
}

// pause lets d pass. If the connection or the web ends meanwhile, the answer is broken off.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		panic(http.ErrAbortHandler)
	}
}

// send answers with a page.
func (h *host) send(w http.ResponseWriter, r *http.Request, l *leaf, failed bool) {
	status, body := l.Status, l.body
	head := w.Header()
	if l.RetryAfter != "" && (failed || l.FailFirst == 0) {
		head.Set("Retry-After", l.RetryAfter)
	}
	if failed {
		if status = l.FailStatus; status == 0 {
			status = http.StatusServiceUnavailable
		}
		http.Error(w, http.StatusText(status), status)
		return
	}
	location := l.Redirect
	if local := h.web.local; local != nil && authorityOf(r.Host) != h.name {
		location = strings.TrimSuffix(local.Replace(location+`"`), `"`) // the quote ends a name without a path
		if strings.HasPrefix(l.Type, "text/") {
			body = []byte(local.Replace(string(body)))
		}
	}
	head.Set("Content-Type", l.Type)
	if location != "" {
		head.Set("Location", location)
	}
	digest := sha256.Sum256(body)
	if status == http.StatusOK {
		head.Set("ETag", fmt.Sprintf(`"%x"`, digest[:8]))
	}
	if l.Gzip {
		head.Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			head.Set("Content-Encoding", "gzip")
			body = zip(body)
		}
	}
	if l.Brotli {
		head.Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "br") {
			head.Set("Content-Encoding", "br")
			body = stored(body)
		}
	}
	for name, value := range l.Header {
		head.Set(name, value)
	}
	if known := r.Header.Get("If-None-Match"); known != "" && status == http.StatusOK && known == head.Get("ETag") {
		for _, name := range []string{"Content-Type", "Content-Encoding"} {
			head.Del(name)
		}
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		head.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	if r.Method == http.MethodGet && len(body) > 0 {
		w.Write(body) // an error means that nobody is listening any more
	}
}

// zip codes a body with gzip.
func zip(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(body) // a bytes.Buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// stored codes with Brotli up to 65,536 bytes without making them fewer (RFC 7932 9.2: an uncompressed meta-block, then
// an empty last one).
func stored(body []byte) []byte {
	head := uint32(len(body)-1)<<4 | 1<<20 // WBITS 16, not last, MNIBBLES 4, MLEN-1, ISUNCOMPRESSED
	out := append([]byte{byte(head), byte(head >> 8), byte(head >> 16)}, body...)
	return append(out, 3)
}
