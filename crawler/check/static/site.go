package static

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Options describe how the site is published.
type Options struct {
	Base  string // path of the folder on the site; empty means /
	Clean bool   // /about is about.html unless about exists
}

// Site serves a folder.
type Site struct {
	root    *os.Root
	options Options
}

func Open(dir string, o Options) (*Site, error) {
	if o.Base == "" {
		o.Base = "/"
	}
	if o.Base != "/" && (o.Base[0] != '/' || path.Clean(o.Base)+"/" != o.Base || strings.HasPrefix(o.Base, "//")) {
		return nil, fmt.Errorf("static: the base %q is not a path like /docs/", o.Base)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	return &Site{root, o}, nil
}

func (s *Site) Close() error { return s.root.Close() }

const (
	index    = "index.html"
	notFound = "404.html"
)

// Pages returns the paths of all pages except the 404 page: the folder's for an index, and the clean form if possible.
func (s *Site) Pages() (paths []string, err error) {
	err = fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.Type().IsRegular() || !slices.Contains([]string{".html", ".htm", ".xhtml"}, strings.ToLower(path.Ext(name))) || name == notFound:
			return nil
		}
		if path.Base(name) == index {
			name = strings.TrimSuffix(name, index)
		} else if bare, ok := strings.CutSuffix(name, ".html"); ok && s.options.Clean {
			if _, err := s.root.Lstat(bare); errors.Is(err, fs.ErrNotExist) {
				name = bare
			}
		}
		u := url.URL{Path: s.options.Base + name}
		paths = append(paths, u.EscapedPath())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	return paths, nil
}

// File returns the file that the site serves for an escaped path, and whether it has one.
func (s *Site) File(escaped string) (name string, ok bool) {
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return "", false
	}
	name, _, err = s.find(plain)
	return name, err == nil && name != ""
}

// LeadsOut reports whether an escaped path is that of a file outside the folder, by a symbolic link. It does not read it.
func (s *Site) LeadsOut(escaped string) bool {
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return false
	}
	below, ok := strings.CutPrefix(plain, s.options.Base)
	name := strings.TrimSuffix(below, "/")
	if !ok || !fs.ValidPath(name) {
		return false
	}
	if _, err := s.root.Stat(name); err == nil {
		return false
	}
	_, err = os.Stat(filepath.Join(s.root.Name(), filepath.FromSlash(name)))
	return err == nil
}

// find returns the file for a path, or the redirect target for a folder.
func (s *Site) find(p string) (name, to string, err error) {
	below, ok := strings.CutPrefix(p, s.options.Base)
	if !ok || strings.Contains(below, "\x00") {
		return "", "", fs.ErrNotExist
	}
	name = strings.TrimSuffix(below, "/")
	if name == "" {
		name = "."
	}
	if !fs.ValidPath(name) {
		return "", "", fs.ErrNotExist
	}
	isFolder := below == "" || strings.HasSuffix(below, "/")
	fi, err := s.root.Stat(name)
	switch {
	case err == nil && fi.IsDir() && !isFolder:
		to := url.URL{Path: p + "/"}
		return "", to.EscapedPath(), nil
	case err == nil && fi.IsDir():
		name = path.Join(name, index)
		fi, err = s.root.Stat(name)
	case err != nil && !isFolder && s.options.Clean:
		name += ".html"
		fi, err = s.root.Stat(name)
	case isFolder:
		return "", "", fs.ErrNotExist
	}
	if err == nil && !fi.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	return name, "", err
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	p := r.URL.Path
	if p == "/robots.txt" && s.options.Base != "/" { // outside the site
		http.NotFound(w, r)
		return
	}
	name, to, err := s.find(p)
	switch {
	case to != "":
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusMovedPermanently)
	case errors.Is(err, fs.ErrPermission):
		http.Error(w, "the file may not be read", http.StatusForbidden)
	case err != nil:
		s.send(w, notFound, http.StatusNotFound)
	default:
		s.send(w, name, http.StatusOK)
	}
}

func (s *Site) send(w http.ResponseWriter, name string, status int) {
	f, err := s.root.Open(name)
	if err != nil {
		if status == http.StatusOK {
			status = http.StatusForbidden
		}
		http.Error(w, "no such file", status)
		return
	}
	defer f.Close()
	ext := strings.ToLower(path.Ext(name))
	if kind := cmp.Or(types[ext], mime.TypeByExtension(ext)); kind != "" {
		w.Header().Set("Content-Type", kind)
	}
	w.WriteHeader(status)
	_, _ = io.Copy(w, f) // the client notices the early end
}

// types are the media types that matter to the checker, independent of the machine's configuration.
var types = map[string]string{
	".html": "text/html", ".htm": "text/html", // without a charset: that is in the page
	".xhtml": "application/xhtml+xml", ".css": "text/css", ".svg": "image/svg+xml", ".js": "text/javascript",
	".mjs": "text/javascript", ".txt": "text/plain", ".xml": "application/xml", ".webmanifest": "application/manifest+json",
}
