// Package script finds file names in scripts and JSON, without running them.
//
// A name is a string or template literal that is a URL reference in printable ASCII and ends, apart from query and
// fragment, in a stem and one of the extensions. In root + "/data/index.json" or `${root}/data/index.json` the literal
// is a name if it begins with a letter or digit after an omitted slash, since the rest is mostly the path of a
// directory; in base + "-min.js" it is not. Composed names and names without extension are not found, and a result may
// not be a file: a word, a key, a file of another directory. A name may be relative to the page that runs the script
// (fetch, script elements) or to the script (import, workers): Places returns both.
//
// The lexer of github.com/tdewolff/parse reads the first MaxRead bytes once, without a tree. MaxErrors lexer errors end
// it, since each costs a pass over the text.
package script

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"curtsy/frontier/canon"
	"curtsy/storage/sorted"
)

// The bounds of one text.
const (
	MaxRead   = 10 << 20 // bytes read
	MaxNames  = 1000     // distinct names reported
	MaxLength = 512      // bytes of a name
	MaxErrors = 20       // lexer errors
)

// Cut is why a text was not read completely. The values are stable, since reports count by them.
type Cut string

// The values of Cut; "" is that of a complete text.
const (
	CutLong  Cut = "script over 10 MiB"
	CutNames Cut = "script names over 1000 files"
	CutWrong Cut = "no script" // too many errors
)

// Find calls found with each distinct name in a script or JSON, in order.
func Find(text []byte, found func(name string)) (cut Cut) {
	if len(text) > MaxRead {
		text, cut = text[:MaxRead], CutLong
	}
	if bytes.IndexByte(text, '.') < 0 {
		return cut
	}
	s := newScanner(text)
	seen := map[string]bool{}
	var tree doxygen
	for s.next() {
		name, ok := s.name()
		if script := tree.name(s); script != "" {
			name, ok = script, true
		}
		if !ok {
			continue
		}
		file, _, _ := strings.Cut(name, "#")
		if seen[file] {
			continue
		}
		if len(seen) == MaxNames {
			return CutNames
		}
		seen[file] = true
		found(name)
	}
	if s.wrong == MaxErrors {
		return CutWrong
	}
	return cut
}

// scanner returns the tokens of a script without white space and comments.
type scanner struct {
	in    *parse.Input
	lex   *js.Lexer
	wrong int // lexer errors

	token
	before [5]token // the previous ones, the latest first
}

type token struct {
	kind js.TokenType
	text []byte
}

func newScanner(text []byte) *scanner {
	in := parse.NewInputBytes(text[:len(text):len(text)]) // it writes after its input
	return &scanner{in: in, lex: js.NewLexer(in)}
}

// next reads a token. It returns false at the end, and after MaxErrors errors.
func (s *scanner) next() bool {
	was := s.token
	if was.kind == 0 {
		was.kind = js.SemicolonToken
	}
	for {
		s.kind, s.text = s.lex.Next()
		if (s.kind == js.DivToken || s.kind == js.DivEqToken) && !ends(was.kind) {
			s.kind, s.text = s.lex.RegExp()
		}
		switch s.kind {
		case js.ErrorToken:
			if s.in.Err() != nil {
				return false
			}
			if s.wrong++; s.wrong == MaxErrors {
				return false
			}
		case js.WhitespaceToken, js.LineTerminatorToken, js.CommentToken, js.CommentLineTerminatorToken:
		default:
			copy(s.before[1:], s.before[:])
			s.before[0] = was
			return true
		}
	}
}

func (s *scanner) name() (name string, ok bool) {
	if s.kind != js.StringToken && s.kind != js.TemplateToken && s.kind != js.TemplateEndToken {
		return "", false
	}
	if s.before[0].kind == js.OpenParenToken && string(s.before[1].text) == "define" {
		return "", false // of a module within this text
	}
	return nameIn(s.text, s.before[0].kind == js.AddToken || s.kind == js.TemplateEndToken)
}

// ends reports whether a token ends a value, so that a slash after it divides (ECMAScript 12, goal symbols). Only a
// parser could tell whether a parenthesis ends a condition, or a brace a value; both are rare.
func ends(t js.TokenType) bool {
	switch t {
	case js.CloseParenToken, js.CloseBracketToken, js.StringToken, js.TemplateToken, js.TemplateEndToken,
		js.RegExpToken, js.PrivateIdentifierToken, js.ThisToken, js.SuperToken, js.NullToken, js.TrueToken,
		js.FalseToken, js.IncrToken, js.DecrToken:
		return true
	}
	return js.IsNumeric(t) || js.IsIdentifier(t)
}

// Places yields the possible meanings of a name in a script or JSON at a URL: relative to that, and to the page that
// loads it, which may be zero. It omits other authorities.
func Places(name string, at, page canon.URL) iter.Seq[canon.URL] {
	return func(yield func(canon.URL) bool) {
		first, err := at.Resolve(name)
		if err == nil && first.Authority() == at.Authority() && !yield(first) {
			return
		}
		if page.IsZero() {
			return
		}
		second, err := page.Resolve(name)
		if err == nil && second.Authority() == at.Authority() && second.Key() != first.Key() {
			yield(second)
		}
	}
}

// The bounds of Tries.
const (
	maxTries = 6       // places on a host for a name
	maxTried = 100_000 // names remembered; later ones are not tried
)

// Tries bounds how often a name is tried: scripts in each page of a site name the same files, relative to a root that
// only they have, and otherwise each directory would be tried. The zero value is ready.
type Tries struct {
	mu    sync.Mutex
	seed  maphash.Seed
	tried map[uint64][]uint64 // places by a hash of authority and name, all of them hashes
}

// Try reports whether to try a name as u: it was before, or at few other places.
func (t *Tries) Try(name string, u canon.URL) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tried == nil {
		t.seed, t.tried = maphash.MakeSeed(), map[uint64][]uint64{}
	}
	what := maphash.String(t.seed, u.Authority().String()+"\n"+name)
	place := maphash.String(t.seed, u.Key())
	places, known := t.tried[what]
	switch {
	case slices.Contains(places, place):
		return true
	case len(places) == maxTries || !known && len(t.tried) == maxTried:
		return false
	}
	t.tried[what] = append(places, place)
	return true
}

// extensions are those of files that pages and scripts load. Others are omitted, since most words with a dot in scripts
// are members and keys.
var extensions = set("js mjs json jsonp geojson webmanifest html htm xhtml xml svg css wasm txt csv tsv zip gz pdf " +
	"png jpg jpeg gif webp avif ico bmp woff woff2 ttf otf eot mp3 mp4 m4a ogg oga ogv wav webm vtt")

// words are extensions that also end names of packages and members: java.util.zip.
var words = set("bmp gz pdf txt xml zip")

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}

// nameIn returns the name in a literal with its quotes; tail reports that an expression precedes it.
func nameIn(literal []byte, tail bool) (name string, ok bool) {
	if len(literal) < 2 || len(literal) > 2*MaxLength { // with escapes
		return "", false
	}
	text := literal[1 : len(literal)-1]
	if tail { // a quote ends an attribute in markup that begins before the literal
		if end := bytes.IndexAny(text, `"'`); end >= 0 {
			text = bytes.TrimSuffix(text[:end], []byte(`\`))
		}
	}
	for _, c := range text {
		if c <= ' ' || c >= 0x7F {
			return "", false
		}
	}
	// of the escapes, only that of a slash is common in URLs
	if name = strings.ReplaceAll(string(text), `\/`, "/"); strings.Contains(name, `\`) || len(name) > MaxLength {
		return "", false
	}
	if tail {
		if name = strings.TrimPrefix(name, "/"); name == "" || !isAlphanumeric(name[0]) {
			return "", false
		}
	}
	return name, looksLikeFile(name)
}

// IsName reports whether a text is a URL reference that ends in a file name.
func IsName(s string) bool { return len(s) <= MaxLength && looksLikeFile(s) }

// looksLikeFile reports whether a URL reference ends in a file name. It may begin with a scheme and a host.
func looksLikeFile(name string) bool {
	if strings.ContainsAny(name, "\"'`<>{}|^*$[];()") {
		return false
	}
	path, _, _ := strings.Cut(name, "#")
	path, _, _ = strings.Cut(path, "?")
	if scheme, rest, has := strings.Cut(path, ":"); has && !strings.Contains(scheme, "/") {
		if path = strings.TrimPrefix(rest, "//"); len(path) == len(rest) || scheme != "http" && scheme != "https" {
			return false
		}
	} else {
		path = strings.TrimPrefix(path, "//")
	}
	if path != name && !strings.Contains(path, "/") && strings.Contains(name, "//") {
		return false // only a host
	}
	if strings.Contains(path, "//") {
		return false
	}
	last := path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(last, '.')
	if dot <= 0 || strings.Trim(last[:dot], ".-_") == "" {
		return false
	}
	kind := strings.ToLower(last[dot+1:])
	return extensions[kind] && !(words[kind] && last == path && strings.Contains(last[:dot], "."))
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// Is reports whether a file is a script or JSON: by its media type, in lower case without parameters, or for a vague type
// by its extension.
func Is(mediaType, path string) bool {
	switch mediaType {
	case "", "text/plain", "application/octet-stream":
		return hasExtension(path, "js", "mjs", "json")
	}
	return isType(mediaType) || mediaType == "application/json" || mediaType == "text/json"
}

// IsJavaScript reports whether a file is a script that a page may load: by its media type or, without one, by its
// extension.
func IsJavaScript(mediaType, path string) bool {
	return isType(mediaType) || mediaType == "" && hasExtension(path, "js", "mjs")
}

func isType(mediaType string) bool {
	switch mediaType {
	case "text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript", "application/ecmascript":
		return true
	}
	return false
}

func hasExtension(path string, any ...string) bool {
	dot := strings.LastIndexByte(path, '.')
	return dot >= 0 && slices.Contains(any, strings.ToLower(path[dot+1:]))
}

// IsElement reports whether the type of a script element is that of a script, module or JSON (HTML Standard 4.12.1),
// which may have names.
func IsElement(kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(kind)), ";")
	return kind == "" || kind == "module" || kind == "application/ld+json" || Is(kind, "")
}

// runSize is the memory for sorting the lines of a listing.
const runSize = 4 << 20

// Listing collects the names in a site's scripts, in bounded memory. Additions may be concurrent.
type Listing struct {
	// "SCRIPT\tA\tSEGMENTS\tPAGE" for a page that loads a script, those nearest the root first;
	// "SCRIPT\tB\tNAME\tFILE" for a name in it, and the file of the script.
	// SCRIPT is a URL; for a script within a page it is the base of its references.
	lines *sorted.Sorter
	mu    sync.Mutex // guards cut
	cut   map[Cut]int64
}

// NewListing returns a listing with temporary files in dir.
func NewListing(dir string) *Listing {
	return &Listing{lines: sorted.New(dir, runSize), cut: map[Cut]int64{}}
}

func (l *Listing) add(line string) error { return l.lines.Add([]byte(line)) }

// Loads adds a page that loads a script.
func (l *Listing) Loads(page, script canon.URL) error {
	return l.add(fmt.Sprintf("%s\tA\t%05d\t%s", script, strings.Count(page.Path(), "/"), page))
}

// Read adds the names in a text in a file. They are relative to at, or to a page that loads it.
func (l *Listing) Read(text []byte, at canon.URL, file string) (err error) {
	prefix := at.String() + "\tB\t"
	cut := Find(text, func(name string) {
		if err == nil {
			err = l.add(prefix + name + "\t" + file)
		}
	})
	if cut != "" {
		l.mu.Lock()
		l.cut[cut]++
		l.mu.Unlock()
	}
	return err
}

// Cut counts the incomplete texts by cause.
func (l *Listing) Cut() map[Cut]int64 { return l.cut }

// Lacking calls lacking, in order, with each URL that a file names and has rejects, and ends the listing. If either
// place of a name (see Places) has a file, the other is not lacking.
func (l *Listing) Lacking(has func(key string) bool, lacking func(u canon.URL, file string) error) (err error) {
	defer func() { err = errors.Join(err, l.Close()) }()
	var at, page canon.URL
	for line, err := range l.lines.All() {
		if err != nil {
			return err
		}
		script, rest, _ := strings.Cut(string(line), "\t")
		kind, rest, _ := strings.Cut(rest, "\t")
		first, second, _ := strings.Cut(rest, "\t")
		if script != at.String() {
			page = canon.URL{}
			if at, err = canon.Parse(script); err != nil {
				return err
			}
		}
		switch {
		case kind == "B":
			err = lackingName(first, at, page, has, func(u canon.URL) error { return lacking(u, second) })
		case page.IsZero():
			page, err = canon.Parse(second)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func lackingName(name string, at, page canon.URL, has func(string) bool, lacking func(canon.URL) error) error {
	for u := range Places(name, at, page) {
		if has(u.Key()) {
			return nil
		}
	}
	for u := range Places(name, at, page) {
		if err := lacking(u); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the listing.
func (l *Listing) Close() error { return l.lines.Close() }

// doxygen finds the scripts that Doxygen's navigation tree loads: its data has their names without extension ("var
// NAVTREE = …", and "var a01 = …" in a01.js), or numbers them by NAVTREEINDEX.
type doxygen struct {
	data    bool // the text is such data
	begun   bool
	indexed int // scripts of the index, plus one while it is read
}

// name returns the script that a token names, or "".
func (d *doxygen) name(s *scanner) string {
	assigned := s.kind == js.OpenBracketToken && s.before[0].kind == js.EqToken && s.before[2].kind == js.VarToken
	switch {
	case assigned && string(s.before[1].text) == "NAVTREEINDEX":
		d.indexed = 1
	case assigned && !d.begun:
		d.data = true
	case s.kind == js.CloseBracketToken:
		d.indexed = 0
	case s.kind != js.StringToken:
	case d.indexed > 0:
		d.indexed++
		return fmt.Sprintf("navtreeindex%d.js", d.indexed-2)
	case d.data && d.third(s):
		return string(s.text[1:len(s.text)-1]) + ".js"
	}
	d.begun = d.begun || assigned
	return ""
}

// third reports whether a string is the third in [ "title", "page.html", "script" ].
func (d *doxygen) third(s *scanner) bool {
	comma, page, title := &s.before[0], &s.before[1], &s.before[3]
	return comma.kind == js.CommaToken && (page.kind == js.NullToken || page.kind == js.StringToken && isPage.Match(page.text)) &&
		s.before[2].kind == js.CommaToken && title.kind == js.StringToken && s.before[4].kind == js.OpenBracketToken &&
		isStem.Match(s.text)
}

var (
	isPage = regexp.MustCompile(`\.x?html?(?:#[^"]*)?"$`)
	isStem = regexp.MustCompile(`^"[A-Za-z0-9_-]+"$`)
)

// Imports calls found with each URL in the import and export declarations of a module (ECMAScript 16.2) and the bounds of
// its literal. It omits specifiers that are not URLs ("react"), import() and escapes. It reads at most MaxRead bytes.
func Imports(text []byte, found func(start, end int, url string)) {
	text = text[:min(len(text), MaxRead)]
	if !bytes.Contains(text, []byte("import")) && !bytes.Contains(text, []byte("export")) {
		return
	}
	s := newScanner(text)
	for declares := false; s.next(); {
		was := s.before[0].kind
		switch {
		case (s.kind == js.ImportToken || s.kind == js.ExportToken) && was != js.DotToken && was != js.OptChainToken:
			declares = true
		case !declares:
		case s.kind == js.StringToken && (was == js.ImportToken || was == js.FromToken):
			declares = false
			end := s.in.Offset()
			if name := string(s.text[1 : len(s.text)-1]); isSpecifierURL(name) {
				found(end-len(s.text), end, name)
			}
		case was == js.ExportToken:
			declares = s.kind == js.MulToken || s.kind == js.OpenBraceToken
		default:
			declares = js.IsIdentifierName(s.kind) || s.kind == js.StringToken || s.kind == js.CommaToken ||
				s.kind == js.MulToken || s.kind == js.OpenBraceToken || s.kind == js.CloseBraceToken
		}
	}
}

// isSpecifierURL reports whether a module specifier is a URL (HTML Standard 8.1.6.2).
func isSpecifierURL(s string) bool {
	if strings.Contains(s, `\`) {
		return false
	}
	for _, begin := range []string{"/", "./", "../", "http://", "https://"} {
		if strings.HasPrefix(s, begin) {
			return true
		}
	}
	return false
}
