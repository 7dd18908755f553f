package mirror

import (
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"

	"curtsy/frontier/canon"
	"curtsy/storage/mediatype"
)

// ServeOptions configure a Handler.
type ServeOptions struct {
	Tree    string // directory of the mirror, see Tree
	Start   string // URL of the page at "/"; if the mirror lacks it, the first page of a host
	Offline bool   // browsers load nothing from other hosts
	AnyName bool   // also answer to names of other machines, to show the mirror to a network
}

// Handler shows a mirror to browsers on this machine: its files with their original types, web addresses with a file, and
// the reason for missing ones. It lists no directory. It answers only to names of this machine, so that a page elsewhere
// cannot read the mirror under its own name (DNS rebinding). To a browser all hosts of the mirror are one origin: their
// scripts can read each other's pages.
type Handler struct {
	options ServeOptions

	mu    sync.Mutex
	shown *shown
}

// shown is one state of a mirror: a build replaces the whole directory.
type shown struct {
	*lists
	dir   fs.FileInfo
	root  *os.Root
	start string
}

// NewHandler opens a mirror.
func NewHandler(o ServeOptions) (*Handler, error) {
	h := &Handler{options: o}
	_, err := h.current()
	return h, err
}

// Close releases the mirror. No request may be running.
func (h *Handler) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shown == nil {
		return nil
	}
	err := h.shown.root.Close()
	h.shown = nil
	return err
}

func (h *Handler) current() (*shown, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	dir, err := os.Stat(h.options.Tree)
	if h.shown != nil && (err != nil || os.SameFile(dir, h.shown.dir)) {
		return h.shown, nil // or a build is just replacing it
	}
	if err != nil {
		return nil, fmt.Errorf("mirror: open the mirror: %w", err)
	}
	lists, err := readLists(h.options.Tree)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(h.options.Tree)
	if err != nil {
		return nil, fmt.Errorf("mirror: open the mirror: %w", err)
	}
	// The previous root stays open for running requests; its finalizer closes it.
	h.shown = &shown{lists: lists, dir: dir, root: root, start: startOf(lists, h.options.Start)}
	return h.shown, nil
}

// startOf returns the file for "/".
func startOf(l *lists, start string) string {
	if u, ok := keyOf(start); ok && l.urls[u.Key()] != "" {
		return l.urls[u.Key()]
	}
	best, file := "", ""
	for url, f := range l.urls {
		if !mediatype.Parse(l.files[f].contentType).IsHTML() {
			continue
		}
		// The shortest is closest to a host's first page.
		if file == "" || len(url) < len(best) || len(url) == len(best) && url < best {
			best, file = url, f
		}
	}
	return file
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	if u, err := canon.Parse("http://" + r.Host + "/"); !h.options.AnyName && (err != nil || !u.Authority().Loopback()) {
		refuse(w, http.StatusForbidden, "This mirror is shown under names of this machine only", "", "")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "A mirror can only be read", "", "")
		return
	}
	m, err := h.current()
	if err != nil {
		refuse(w, http.StatusInternalServerError, "The mirror cannot be read", "", "")
		return
	}
	if r.URL.Path == "/" && m.start != "" {
		redirect(w, m.start)
		return
	}
	if name := strings.TrimPrefix(r.URL.Path, "/"); m.files[name].url != "" {
		h.file(w, r, m, name)
		return
	}
	m.elsewhere(w, r)
}

// offline allows a page everything from its own mirror, and nothing from elsewhere.
const offline = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; form-action 'self'"

func (h *Handler) file(w http.ResponseWriter, r *http.Request, m *shown, name string) {
	fi, err := m.root.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() {
		refuse(w, http.StatusNotFound, "The mirror's map has this file, but it is missing", "", "")
		return
	}
	f, err := m.root.Open(name)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "The file cannot be read", "", "")
		return
	}
	defer f.Close()
	if h.options.Offline {
		w.Header().Set("Content-Security-Policy", offline)
	}
	if t := m.files[name].contentType; t != "" && httpguts.ValidHeaderFieldValue(t) {
		w.Header().Set("Content-Type", t)
	} else {
		w.Header().Del("X-Content-Type-Options") // unknown type: the server guesses, and browsers may
	}
	http.ServeContent(w, r, "", fi.ModTime(), f)
}

// elsewhere answers for an address without a file: it reads /HOST/PATH?QUERY as that URL.
func (m *shown) elsewhere(w http.ResponseWriter, r *http.Request) {
	var reason why
	url := ""
	for _, u := range originals(r) {
		if file := m.urls[u.Key()]; file != "" {
			redirect(w, file)
			return
		}
		if y, ok := m.missing[u.Key()]; ok && reason.reason == "" {
			reason = y
			reason.detail, url = y.reason.Why(y.detail), u.Key()
		}
	}
	if reason.reason == "" {
		refuse(w, http.StatusNotFound, "This page is not in the copy", "No page of the copy links to it either.", "")
		return
	}
	refuse(w, http.StatusNotFound, "This page is not in the copy", reason.detail, url)
}

// originals returns the URLs that a path of the mirror may mean.
func originals(r *http.Request) (us []canon.URL) {
	host, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	host, port, ok := strings.Cut(host, "+")
	if ok {
		port = ":" + port
	}
	for _, scheme := range []string{"https://", "http://"} {
		url := scheme + host + port + "/" + rest
		if r.URL.RawQuery != "" {
			url += "?" + r.URL.RawQuery
		}
		if u, err := canon.Parse(url); err == nil {
			us = append(us, u)
		}
	}
	return us
}

func redirect(w http.ResponseWriter, file string) {
	w.Header().Set("Location", "/"+escaped(file, pathSafe))
	w.WriteHeader(http.StatusFound)
}

// refuse answers with a page in which no text can run. url, if given, becomes a link.
func refuse(w http.ResponseWriter, status int, title, text, url string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.WriteHeader(status)
	title, text, url = html.EscapeString(title), html.EscapeString(text), html.EscapeString(url)
	if url != "" {
		url = "<p><a href=\"" + url + "\" rel=noreferrer>" + url + "</a></p>"
	}
	w.Write([]byte("<!DOCTYPE html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width, initial-scale=1\"><title>" + title +
		"</title><style>:root { color-scheme: light dark; background: Canvas; color: CanvasText } body { overflow-wrap: anywhere }</style><main><h1>" + title + "</h1><p>" + text +
		"</p>" + url + "</main>\n"))
}
