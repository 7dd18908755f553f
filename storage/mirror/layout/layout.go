// Package layout names the files of a mirror, without I/O.
//
// A name is HOST/PATH (Host) or PATH without its first directories (Flat), readable and valid on any file system: unsafe
// characters are escaped, see docs/guides/mirror.md. If file systems may take two names for equal (they are compared
// folded and normalised), the one with the smaller URL keeps the plain name and the other gets a hash of its URL.
//
// Two responses share a name only if they are the same and, with Flat, in the same directory and host, since relative
// references in the file lead to one place. No name is also that of a directory or of a list of the mirror. Names do not
// depend on the order of the set, but a new response can take a plain name from another.
package layout

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"curtsy/frontier/canon"
	"curtsy/storage/mediatype"
)

// Kind is how files are arranged in directories.
type Kind uint8

const (
	Host Kind = iota // HOST/PATH
	Flat             // PATH, without its first Layout.Cut directories
)

var kinds = [...]string{Host: "host", Flat: "flat"}

// Words returns the kinds as on the command line.
func Words() []string { return kinds[:] }

func (k Kind) String() string { return kinds[k] }

// Parse parses a kind.
func Parse(s string) (Kind, error) {
	for k, word := range kinds {
		if word == s {
			return Kind(k), nil //nolint:gosec // there are few
		}
	}
	return Host, fmt.Errorf("%q is not a layout: write host or flat", s)
}

// Layout is the layout of a mirror. The zero value is HOST/PATH.
type Layout struct {
	Kind Kind
	Cut  int // leading directories that names omit; only for Flat
}

// MaxCut is the most directories to cut: no name has more.
const MaxCut = maxDepth

// Check validates a layout.
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

// The lists of a mirror.
const (
	MapFile     = "mirror-map.jsonl"
	MissingFile = "missing.jsonl"
)

// Reserved are the names that no page may have.
var Reserved = []string{MapFile, MissingFile}

// defaultName returns the path of page i, unless another has it.
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
		// Parts that do not fit become one directory, named by their hash.
		dirs = append(dirs[:min(fits, maxDepth+above-1)], "~"+hashOf(strings.Join(parts, "/"))[:2*shortHash])
	}
	return strings.Join(append(dirs, file), "/")
}

// isReserved reports whether some file system takes name for a list of the mirror.
func (n *naming) isReserved(name string) bool {
	return slices.ContainsFunc(Reserved, func(own string) bool { return fold(n.fold, name) == own })
}

// hostDir names the directory of a host, with its port unless that is the scheme's default.
func (n *naming) hostDir(scheme, host string) string {
	port := ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host, port = host[:i], "+"+host[i+1:]
	} else if scheme == "http" && n.apart[host] {
		port = "+80"
	}
	host = readable(strings.ReplaceAll(host, ":", "-")) // an IPv6 address, or another domain of the URL Standard
	for _, f := range Reserved {
		if strings.EqualFold(host+port, f) {
			port += "_"
		}
	}
	return component(host, port, host+port)
}

// fileName names the file of a path's last segment and the query.
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
		ext = ".bin" // the query ends like the name of a page
	}
	return component(stem, ext, segment)
}

// Answers are the responses to be named, sorted by unique keys.
type Answers interface {
	Len() int
	Key(i int) string
	ContentType(i int) string
	Same(i, j int) bool // whether they are the same response
}

func find(p Answers, key string) (int, bool) {
	return sort.Find(p.Len(), func(i int) int { return strings.Compare(key, p.Key(i)) })
}

// naming assigns names. It keeps 64-bit hashes of folded paths: two that collide by chance only get an unneeded hash.
type naming struct {
	Answers
	layout Layout
	fold   cases.Caser
	apart  map[string]bool // hosts whose http and https pages differ
	dirs   map[uint64]struct{}
	taken  map[uint64]int32 // owner of each path
	names  []string
	owners []bool
}

// Names returns the file name of each response, and which of them own their file. Both depend only on the set.
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
		// A site may occupy any of these names with its pages, but not all.
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

// claim gives a path to page i if it is free or the file of the same response.
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

// shares reports whether page i may share the file of page j: it is the same response, and relative references lead to
// the same places, which in a Flat layout depends on host and directory.
func (n *naming) shares(i, j int) bool {
	return n.Same(i, j) && (n.layout.Kind != Flat || folderOf(n.Key(i)) == folderOf(n.Key(j)))
}

// folderOf returns the base of a URL's relative references, without scheme.
func folderOf(key string) string {
	_, rest, _ := strings.Cut(key, "://")
	rest, _, _ = strings.Cut(rest, "?")
	return rest[:strings.LastIndexByte(rest, '/')+1]
}

// folded hashes a path so that equal paths on any file system, by case or normalisation, have equal hashes.
func (n *naming) folded(path string) uint64 {
	sum := sha256.Sum256([]byte(fold(n.fold, path)))
	return binary.BigEndian.Uint64(sum[:])
}

func fold(c cases.Caser, s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			// Some tables fold by upper case, some by lower, some in full: equal by any of them is equal here.
			return norm.NFD.String(c.String(strings.ToLower(strings.ToUpper(norm.NFD.String(s)))))
		}
	}
	return strings.ToLower(s)
}

// slashTwin returns the page of the same URL with a trailing slash, if it is the same response.
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

// schemesApart returns the hosts that answer differently by http and https: each scheme gets a directory.
func (n *naming) schemesApart() map[string]bool {
	apart := map[string]bool{}
	if n.layout.Kind == Flat {
		return apart // without directories for hosts
	}
	for i := range n.Len() {
		rest, ok := strings.CutPrefix(n.Key(i), "http://")
		if !ok {
			break // "https:" sorts after "http:"
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

func hashed(path, hash string) string {
	dir, file := path[:strings.LastIndexByte(path, '/')+1], path[strings.LastIndexByte(path, '/')+1:]
	stem, ext := split(file)
	stem = strings.TrimRight(CutRunes(stem, maxComponent-len(ext)-len("~")-len(hash)), ". ")
	return dir + stem + "~" + hash + ext
}

// Bounds of a name. File systems end at 255 bytes (or UTF-16 units) for a component and 4,096 bytes for a path; the rest
// is for the mirror's own path.
const (
	maxComponent = 240
	maxPath      = 2048
	maxDepth     = 48 // directories below the host's, or with Flat the mirror's
)

// shortHash is the length of a hash in a name, in hexadecimal digits.
const shortHash = 8

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// unsafe are the printable ASCII characters that Windows refuses, or that end a URL's path or begin an escape in it,
// which servers and people get wrong.
const unsafe = `<>:"/\|?*%#`

// safe reports whether a name may hold r. Control characters and those that change text direction or have no width must
// be escaped.
func safe(r rune) bool {
	return r != utf8.RuneError && unicode.IsPrint(r) && !strings.ContainsRune(unsafe, r)
}

// readable decodes safe characters in a part of a URL and escapes the others. It is injective, since "%" is never decoded.
func readable(part string) string {
	if isPlain(part) {
		return part
	}
	var b strings.Builder
	for i := 0; i < len(part); {
		octets, width := decode(part[i:])
		r, n := utf8.DecodeRune(octets)
		if safe(r) {
			b.WriteRune(r)
			i += n * width
			continue
		}
		if width == 3 {
			b.WriteString(strings.ToUpper(part[i : i+3]))
		} else if part[i] == '%' { // not an escape: "%zz"
			b.WriteByte('%')
		} else {
			Escape(&b, part[i])
		}
		i += width
	}
	return norm.NFC.String(b.String())
}

// isPlain reports whether a part is safe ASCII, as most are, and so readable as it is.
func isPlain(part string) bool {
	for i := range len(part) {
		if c := part[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(unsafe, c) >= 0 {
			return false
		}
	}
	return true
}

// decode returns the bytes of the first character in s, and how many bytes of s each takes: 3 if escaped.
func decode(s string) (octets []byte, width int) {
	if _, ok := canon.Unescape(s); !ok {
		return []byte(s[:1]), 1
	}
	for len(octets) < utf8.UTFMax {
		c, ok := canon.Unescape(s)
		if !ok {
			break
		}
		octets, s = append(octets, c), s[3:]
	}
	return octets, 3
}

// Escape percent-encodes a byte.
func Escape(b *strings.Builder, c byte) {
	const digits = "0123456789ABCDEF"
	b.WriteByte('%')
	b.WriteByte(digits[c>>4])
	b.WriteByte(digits[c&15])
}

// devices are the device names of Windows, with any extension.
// https://learn.microsoft.com/windows/win32/fileio/naming-a-file
var devices = map[string]bool{"CON": true, "PRN": true, "AUX": true, "NUL": true, "CLOCK$": true, "CONIN$": true,
	"CONOUT$": true}

func device(stem string) bool {
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	if devices[stem] {
		return true
	}
	digit, ok := strings.CutPrefix(stem, "COM")
	if !ok {
		digit, ok = strings.CutPrefix(stem, "LPT")
	}
	return ok && utf8.RuneCountInString(digit) == 1 && strings.ContainsAny(digit, "0123456789¹²³")
}

// readByOthers are files that Windows reads in any directory. Unix programs read dot files: a directory .git makes git
// run commands of its config, and "git~1" is .git on FAT (CVE-2014-9390).
var readByOthers = map[string]bool{"desktop.ini": true, "autorun.inf": true, "thumbs.db": true}

// component makes a name for any file system of a readable stem and an extension. A cut name gets a hash of whole, the
// part of the URL.
func component(stem, ext, whole string) string {
	name := stem + ext
	if name == "" {
		name = "_"
	}
	if name[0] == '.' && name != ".well-known" { // RFC 8615
		name = "%2E" + name[1:]
	} else if read := strings.ToLower(name); readByOthers[read] || strings.HasPrefix(read, "git~") {
		name = "_" + name
	}
	if first, _, _ := strings.Cut(name, "."); device(first) {
		name = first + "_" + name[len(first):]
	}
	name = ends(name)
	if len(name) <= maxComponent {
		return name
	}
	if len(ext) > 32 || !strings.HasSuffix(name, ext) {
		ext = ""
	}
	room := maxComponent - len(ext) - len("~") - shortHash
	return ends(strings.TrimRight(CutRunes(name, room), ". ") + "~" + hashOf(whole)[:shortHash] + ext)
}

// ends escapes a dot or space at the end of a name, which Windows drops, a space at its beginning, which people drop, and
// "." and "..".
func ends(name string) string {
	if c := name[len(name)-1]; name[0] != ' ' && c != '.' && c != ' ' {
		return name
	}
	var b strings.Builder
	if name[0] == ' ' {
		Escape(&b, ' ')
		name = name[1:]
	}
	last := len(name) - 1
	if last >= 0 && (name[last] == '.' || name[last] == ' ') {
		b.WriteString(name[:last])
		Escape(&b, name[last])
		return b.String()
	}
	b.WriteString(name)
	return b.String()
}

// CutRunes cuts s to at most n bytes, between characters and outside of escapes.
func CutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if i := strings.LastIndexByte(s[:n], '%'); i >= 0 && i > n-3 {
		n = i
	}
	return s[:n]
}

// extensions are those that fit a media type; the first is added if none does. Other types keep the URL's extension.
var extensions = map[string][]string{
	// .xhtml would make browsers parse it as XML, which it need not be
	"text/html":                     {".html", ".htm", ".shtml"},
	"application/xhtml+xml":         {".xhtml", ".xht"},
	"text/css":                      {".css"},
	"text/javascript":               {".js", ".mjs", ".cjs"},
	"application/javascript":        {".js", ".mjs", ".cjs"},
	"application/x-javascript":      {".js", ".mjs", ".cjs"},
	"application/json":              {".json", ".map", ".webmanifest", ".geojson"},
	"application/ld+json":           {".jsonld", ".json"},
	"application/manifest+json":     {".webmanifest", ".json"},
	"application/xml":               {".xml", ".xsl", ".xslt", ".rss", ".atom", ".rdf", ".xsd", ".dtd"},
	"text/xml":                      {".xml", ".xsl", ".xslt", ".rss", ".atom", ".rdf", ".xsd", ".dtd"},
	"application/rss+xml":           {".rss", ".xml"},
	"application/atom+xml":          {".atom", ".xml"},
	"application/pdf":               {".pdf"},
	"application/wasm":              {".wasm"},
	"image/svg+xml":                 {".svg"},
	"image/png":                     {".png"},
	"image/apng":                    {".apng", ".png"},
	"image/jpeg":                    {".jpg", ".jpeg", ".jpe", ".jfif"},
	"image/gif":                     {".gif"},
	"image/webp":                    {".webp"},
	"image/avif":                    {".avif"},
	"image/bmp":                     {".bmp"},
	"image/tiff":                    {".tif", ".tiff"},
	"image/x-icon":                  {".ico"},
	"image/vnd.microsoft.icon":      {".ico"},
	"font/woff":                     {".woff"},
	"font/woff2":                    {".woff2"},
	"font/ttf":                      {".ttf"},
	"font/otf":                      {".otf"},
	"application/vnd.ms-fontobject": {".eot"},
	"audio/mpeg":                    {".mp3", ".mpga"},
	"audio/ogg":                     {".ogg", ".oga", ".opus"},
	"audio/wav":                     {".wav"},
	"audio/mp4":                     {".m4a", ".mp4"},
	"video/mp4":                     {".mp4", ".m4v"},
	"video/webm":                    {".webm"},
	"video/ogg":                     {".ogv", ".ogg"},
	"text/vtt":                      {".vtt"},
	"text/csv":                      {".csv"},
	"application/zip":               {".zip", ".whl", ".jar", ".epub"},
	"application/gzip":              {".gz", ".tgz"},
}

// active are the extensions with which a browser runs a file's content: no other type may have them.
var active = map[string]bool{".html": true, ".htm": true, ".xhtml": true, ".xht": true, ".shtml": true, ".svg": true,
	".xml": true, ".mhtml": true, ".mht": true, ".hta": true}

// split cuts the extension off a name: a dot in it and at most eleven letters or digits ("webmanifest").
func split(name string) (stem, ext string) {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || i == len(name)-1 || len(name)-i > 12 {
		return name, ""
	}
	for _, c := range []byte(name[i+1:]) {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if c < '0' || c > '9' {
				return name, ""
			}
		}
	}
	return name[:i], name[i:]
}

// extension returns stem and extension of a file: ext if it fits the type, else the type's own after it.
func extension(stem, ext, media string) (string, string) {
	lower := strings.ToLower(ext)
	known := extensions[media]
	for _, e := range known {
		if e == lower {
			return stem, ext
		}
	}
	switch {
	case known != nil:
		return stem + ext, known[0]
	case media == "text/plain" && (ext == "" || active[lower]):
		return stem + ext, ".txt"
	case media != "" && active[lower] && !strings.HasSuffix(media, "+xml"):
		return stem + ext, ".bin"
	case active[lower] && lower != ".svg" && lower != ".xml": // unnamed type, and by its bytes not a page
		return stem + ext, ".bin"
	}
	return stem, ext
}
