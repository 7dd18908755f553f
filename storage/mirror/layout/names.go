package layout

import (
	"crypto/sha256"
	"encoding/binary"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Answers are what is to be named, sorted by key, each key once.
type Answers interface {
	Len() int
	Key(i int) string
	ContentType(i int) string
	Same(i, j int) bool // they are the same answer
}

func find(p Answers, key string) (int, bool) {
	return sort.Find(p.Len(), func(i int) int { return strings.Compare(key, p.Key(i)) })
}

// naming decides on names. Paths are remembered by 64 bits of a hash of what case-insensitive and normalising file
// systems make of them: two that share it by chance are merely told apart by a hash that they did not need.
type naming struct {
	Answers
	layout Layout
	fold   cases.Caser
	apart  map[string]bool // hosts whose http and https pages differ
	dirs   map[uint64]struct{}
	taken  map[uint64]int32 // the page whose file it is
	names  []string
	owners []bool
}

// Names returns the names of the files of answers, and which of them has its file for itself or lends it to others. They
// depend on the set alone.
func (l Layout) Names(p Answers) (names []string, owners []bool) {
	n := &naming{Answers: p, layout: l, fold: cases.Fold(), dirs: map[uint64]struct{}{}, taken: make(map[uint64]int32, p.Len()),
		names: make([]string, p.Len()), owners: make([]bool, p.Len())}
	n.apart = n.schemesApart()
	for _, f := range Reserved {
		n.dirs[n.folded(f)] = struct{}{}
	}
	last := ""
	for i := range p.Len() {
		path := n.defaultName(i)
		if dir := path[:max(strings.LastIndexByte(path, '/'), 0)]; dir != last {
			for at, c := range dir {
				if c == '/' {
					n.dirs[n.folded(dir[:at])] = struct{}{}
				}
			}
			n.dirs[n.folded(dir)] = struct{}{}
			last = dir
		}
	}
	var losers, twins []int
	for i := range p.Len() {
		if _, twin := n.slashTwin(i); twin {
			twins = append(twins, i)
		} else if !n.claim(i, n.defaultName(i)) {
			losers = append(losers, i)
		}
	}
	for _, i := range losers {
		// A site may have taken any of these names with a page of its own, but not all.
		path, salt := n.defaultName(i), ""
		for try := 0; !n.claim(i, hashed(path, hashOf(p.Key(i) + salt)[:min(shortHash+try, 32)])); try++ {
			salt = " " + strconv.Itoa(try)
		}
	}
	for _, i := range twins {
		j, _ := n.slashTwin(i)
		n.names[i] = n.names[j]
	}
	return n.names, n.owners
}

// claim gives a path to page i, if it is free or the file of the same answer.
func (n *naming) claim(i int, path string) bool {
	at := n.folded(path)
	if _, isDir := n.dirs[at]; isDir {
		return false
	}
	if j, ok := n.taken[at]; ok {
		if !n.shares(i, int(j)) {
			return false
		}
		n.names[i] = n.names[j]
		return true
	}
	n.taken[at], n.names[i], n.owners[i] = int32(i), path, true //nolint:gosec // there are fewer pages
	return true
}

// shares reports whether page i, which would have the name of page j, may have its file: it is the same answer, and its
// relative references, if it has any, lead where those of the other lead. Where hosts and folders have no folders of
// their own, these are part of that.
func (n *naming) shares(i, j int) bool {
	return n.Same(i, j) && (n.layout.Kind != Flat || folderOf(n.Key(i)) == folderOf(n.Key(j)))
}

// folderOf returns what a URL's relative references are relative to, without the scheme.
func folderOf(key string) string {
	_, rest, _ := strings.Cut(key, "://")
	rest, _, _ = strings.Cut(rest, "?")
	return rest[:strings.LastIndexByte(rest, '/')+1]
}

// folded returns a hash of what a file system may take for the same path: case and normalisation do not count.
func (n *naming) folded(path string) uint64 {
	sum := sha256.Sum256([]byte(fold(n.fold, path)))
	return binary.BigEndian.Uint64(sum[:])
}

func fold(c cases.Caser, s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			// Some tables fold by upper case, some by lower, some in full: what any of them takes for equal is equal here.
			return norm.NFD.String(c.String(strings.ToLower(strings.ToUpper(norm.NFD.String(s)))))
		}
	}
	return strings.ToLower(s)
}

// slashTwin returns the page of the same URL with a slash at the end of its path, if it is the same answer.
func (n *naming) slashTwin(i int) (int, bool) {
	path, query, has := strings.Cut(n.Key(i), "?")
	if strings.HasSuffix(path, "/") {
		return 0, false
	}
	if path += "/"; has {
		path += "?" + query
	}
	j, ok := find(n, path)
	return j, ok && n.Same(i, j)
}

// schemesApart returns the hosts that answer differently by http and by https: these get directories of their own.
func (n *naming) schemesApart() map[string]bool {
	apart := map[string]bool{}
	if n.layout.Kind == Flat {
		return apart // there is no folder of a host
	}
	for i := range n.Len() {
		rest, ok := strings.CutPrefix(n.Key(i), "http://")
		if !ok {
			break // "https:" is behind "http:"
		}
		host, _, _ := strings.Cut(rest, "/")
		if apart[host] {
			continue
		}
		if j, ok := find(n, "https://"+rest); ok && !n.Same(i, j) {
			apart[host] = true
		}
	}
	return apart
}

// hashed puts a hash before a path's extension.
func hashed(path, hash string) string {
	dir, file := path[:strings.LastIndexByte(path, '/')+1], path[strings.LastIndexByte(path, '/')+1:]
	stem, ext := split(file)
	stem = strings.TrimRight(CutRunes(stem, maxComponent-len(ext)-len("~")-len(hash)), ". ")
	return dir + stem + "~" + hash + ext
}
