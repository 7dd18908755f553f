package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// made is a page, or why there is none.
type made struct {
	html   []byte
	event  []byte // the same for a script that listens; nil for a page that nobody does
	at     time.Time
	took   time.Duration
	status int
}

// eventStream is what a script asks for, to have the page again whenever it changes.
const eventStream = "text/event-stream"

// page serves what view shows of a crawl: once, or again and again to a script that listens.
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

// make makes a page.
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

// mostKept is how long a page is kept at most, however long it took.
const mostKept = 30 * time.Second

// kept is a page that was made within the last second, for all browsers that listen to the same; or, if it took longer to make,
// within fifty times that, so that one that is looked at all the time takes 2 % of a processor at most.
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

// stream sends the page whenever it has changed. Nothing waits in a queue: a browser that reads slowly gets what is there
// when it has read, and one that reads nothing is left after writeTime.
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
	if to.SetReadDeadline(time.Time{}) != nil { // that of the request: its end would be taken for the browser's
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

// Glance is what the dashboard knows of a crawl at one instant, for programs.
type Glance struct {
	Name string // of the source
	Look
	Err  error     // of the last look
	At   time.Time // of the last look that succeeded; zero before
	Rate float64   // exchanges a second, over the last ten
}

// Glances is what is known of each source. It asks nobody: Serve does, once a second, however many programs want to know.
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
