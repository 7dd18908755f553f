package static

import (
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
	"strings"
)

// Options say how the site is published.
type Options struct {
	Base  string // the path below which the folder is served; empty means /
	Clean bool   // /about is about.html where there is no about
}

// Site is a folder that is served.
type Site struct {
	root    *os.Root
	options Options
}

// Open opens a folder.
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

// Close closes the folder.
func (s *Site) Close() error { return s.root.Close() }

const (
	index    = "index.html"
	notFound = "404.html"
)

// Pages are the paths of all pages of the site, a folder's own for its index, and the clean one where there
// is one. The page for what is not there is none.
func (s *Site) Pages() (paths []string, err error) {
	err = fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.Type().IsRegular() || !isPage(name) || name == notFound:
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

func isPage(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xhtml":
		return true
	}
	return false
}

// File is the file of the folder that a path of the site, as it stands in a URL, is answered with; false if there is none.
func (s *Site) File(escaped string) (name string, ok bool) {
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return "", false
	}
	name, _, err = s.find(plain)
	return name, err == nil && name != ""
}

// LeadsOut reports whether a path, as it stands in a URL, is that of a file which the folder has only by a symbolic link out
// of it. Such a file is not served: its name is as far as this looks.
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

// find is what a path is answered with: a file, or where the path of a folder leads.
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
	if p == "/robots.txt" && s.options.Base != "/" { // it is not this site's
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

// send answers with a file.
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
	if kind := typeOf(name); kind != "" {
		w.Header().Set("Content-Type", kind)
	}
	w.WriteHeader(status)
	_, _ = io.Copy(w, f) // whoever asked sees that it ends early
}

// typeOf is the media type of a file by its name: the same on each machine for what a checker reads.
func typeOf(name string) string {
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case ".html", ".htm":
		return "text/html" // the charset is the page's to say
	case ".xhtml":
		return "application/xhtml+xml"
	case ".css":
		return "text/css"
	case ".svg":
		return "image/svg+xml"
	case ".js", ".mjs":
		return "text/javascript"
	case ".txt":
		return "text/plain"
	case ".xml":
		return "application/xml"
	case ".webmanifest":
		return "application/manifest+json"
	default:
		return mime.TypeByExtension(ext)
	}
}
