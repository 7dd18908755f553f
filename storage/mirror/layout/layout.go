// Package layout names the files of a mirror. It does no I/O.
//
// # Names
//
// A name is HOST/PATH (Host) or PATH without its first folders (Flat), readable, and taken by any file system: see
// docs/guides/mirror.md. Names that a file system takes for equal are told apart: they are compared folded and normalised, and
// the one with the smaller URL keeps the plain name, the other has a hash of its URL in it. No URL is ever "handled":
// path segments are names by construction, with what is unsafe in them escaped.
//
// # Invariants
//
//   - Two answers have one name only if they are the same answer, and with Flat only if their folders and hosts are the
//     same, too: else relative references in the one file would have to lead to two places.
//   - No name is also that of a folder, or of a file of the mirror's own.
//   - Names do not depend on the order of the set. An answer that joins the set can take a plain name from another.
package layout

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/storage/mediatype"
)

// Kind says in which folders the files of a mirror are.
type Kind uint8

// The kinds.
const (
	Host Kind = iota // HOST/PATH
	Flat             // PATH, without its first Layout.Cut folders
)

var kinds = [...]string{Host: "host", Flat: "flat"}

// Words are the kinds as people write them.
func Words() []string { return kinds[:] }

func (k Kind) String() string { return kinds[k] }

// Parse reads a kind.
func Parse(s string) (Kind, error) {
	for k, word := range kinds {
		if word == s {
			return Kind(k), nil //nolint:gosec // there are few
		}
	}
	if s == "single" { // of earlier versions
		return Host, errors.New("the layout single was removed: write host or flat")
	}
	return Host, fmt.Errorf("%q is not a layout: write host or flat", s)
}

// Layout is how the files of a mirror are laid out. The zero value is HOST/PATH.
type Layout struct {
	Kind Kind
	Cut  int // leading folders that names leave out; of Flat alone
}

// MaxCut is the most folders that can be cut off: no name has more.
const MaxCut = maxDepth

// Check reports what is wrong with a layout.
func (l Layout) Check() error {
	switch {
	case l.Cut != 0 && l.Kind != Flat:
		return fmt.Errorf("--cut-dirs %d cuts folders off the names of --layout flat, and the layout is %s; give --layout flat as well, or --cut-dirs 0",
			l.Cut, l.Kind)
	case l.Cut < 0 || l.Cut > MaxCut:
		return fmt.Errorf("--cut-dirs %d: write how many folders to cut off, from 0 to %d", l.Cut, MaxCut)
	}
	return nil
}

// Page is an answer that gets a file, known without an archive.
type Page struct {
	URL    canon.URL
	Type   string // value of its Content-Type field
	Digest string // of its payload, in any form that is equal for equal payloads; empty if it is not known
}

// Names returns the names of the files of a set of pages, in their order: slash-separated paths below the mirror's
// directory. They depend on the set alone. Pages have one file if they have one key, and if they would have one name and
// are the same answer.
func Names(pages []Page, l Layout) []string {
	order := make([]int, len(pages))
	for i := range order {
		order[i] = i
	}
	keyed := func(i int) string { return pages[i].URL.Key() }
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(keyed(a), keyed(b)) })
	first := slices.CompactFunc(slices.Clone(order), func(a, b int) bool { return keyed(a) == keyed(b) })
	found, _ := l.Names(pageSet{pages, first})
	names := make([]string, len(pages))
	for i, j := 0, 0; i < len(order); i++ {
		if keyed(order[i]) != keyed(first[j]) {
			j++
		}
		names[order[i]] = found[j]
	}
	return names
}

type pageSet struct {
	pages []Page
	order []int
}

func (s pageSet) Len() int                 { return len(s.order) }
func (s pageSet) Key(i int) string         { return s.pages[s.order[i]].URL.Key() }
func (s pageSet) ContentType(i int) string { return s.pages[s.order[i]].Type }
func (s pageSet) Same(i, j int) bool {
	a, b := s.pages[s.order[i]], s.pages[s.order[j]]
	return a.Digest != "" && a.Digest == b.Digest && a.Type == b.Type
}

// The files of the mirror that are its own.
const (
	MapFile     = "mirror-map.jsonl"
	MissingFile = "missing.jsonl"
)

// Reserved are the names that no page has.
var Reserved = []string{MapFile, MissingFile}

// defaultName returns the path that page i has if nothing stands against it.
func (n *naming) defaultName(i int) string {
	scheme, rest, _ := strings.Cut(n.Key(i), "://")
	at := strings.IndexByte(rest, '/')
	host, target := rest[:at], rest[at+1:]
	path, query, hasQuery := strings.Cut(target, "?")
	parts := strings.Split(path, "/")
	file := fileName(parts[len(parts)-1], query, hasQuery, mediatype.Parse(n.ContentType(i)).Name)
	parts = parts[:len(parts)-1]
	var dirs []string
	if n.layout.Kind == Flat {
		parts = parts[min(n.layout.Cut, len(parts)):]
	} else {
		dirs = append(dirs, n.hostDir(scheme, host))
	}
	above := len(dirs)
	const deepName = len("/~") + 2*shortHash
	length, fits := len(file), above
	for _, d := range dirs {
		length += len(d) + 1
	}
	for _, part := range parts[:min(len(parts), maxDepth)] {
		d := component(readable(part), "", part)
		if len(dirs) == 0 && n.isReserved(d) {
			d += "_"
		}
		dirs, length = append(dirs, d), length+len(d)+1
		if length+deepName <= maxPath {
			fits = len(dirs)
		}
	}
	if len(parts) > maxDepth || length > maxPath {
		// The parts that do not fit become one directory, named by a hash of them.
		dirs = append(dirs[:min(fits, maxDepth+above-1)], "~"+hashOf(strings.Join(parts, "/"))[:2*shortHash])
	}
	return strings.Join(append(dirs, file), "/")
}

// isReserved reports whether some file system takes a name for that of a file of the mirror's own.
func (n *naming) isReserved(name string) bool {
	return slices.ContainsFunc(Reserved, func(own string) bool { return fold(n.fold, name) == own })
}

// hostDir names the directory of a host: with its port, unless that is the scheme's own.
func (n *naming) hostDir(scheme, host string) string {
	port := ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host, port = host[:i], "+"+host[i+1:]
	} else if scheme == "http" && n.apart[host] {
		port = "+80"
	}
	host = readable(strings.ReplaceAll(host, ":", "-")) // an IPv6 address, or what the URL Standard lets pass as a domain
	for _, f := range Reserved {
		if strings.EqualFold(host+port, f) {
			port += "_"
		}
	}
	return component(host, port, host+port)
}

// fileName names the file of the last segment of a path and its query.
func fileName(segment, query string, hasQuery bool, media string) string {
	stem, ext := "index", ""
	if segment != "" {
		stem, ext = split(readable(segment))
	}
	stem, ext = extension(stem, ext, media)
	if hasQuery {
		stem, segment = stem+"@"+readable(query), segment+"?"+query
	}
	if _, last := split(stem); ext == "" && hasQuery && active[strings.ToLower(last)] {
		ext = ".bin" // the query ends as the name of a page does, and this is none
	}
	return component(stem, ext, segment)
}
