// Package script finds file names in scripts and JSON. Nothing is run, and nothing is known of what a script does with
// them.
//
// # What is a name
//
// A string or template literal whose whole text is a URL reference in printable ASCII, without white space, that ends,
// but for a query and a fragment, in a stem and one of the extensions that files of a site have (see extensions). A
// literal that something is put before, as in root + "/data/index.json" and `${root}/data/index.json`, is a name when it
// begins one: with a letter or digit, after one slash that is left out, since what stands before is mostly the way to a
// folder. The end of another name (base + "-min.js") is none.
//
// Names that a script puts together (section + "_" + n + ".js") are not found, nor are those without an extension. What
// is found may well be no file: a word of prose, a key, a file of another place.
//
// # What a name is relative to
//
// Scripts ask for files relative to the page that runs them (fetch, script elements) or to themselves (import, workers).
// Places has both. Which of them a name means is not known.
//
// # What it costs
//
// The first MaxRead bytes are read, by the lexer of github.com/tdewolff/parse, in one pass; no tree is built. At most
// MaxNames distinct names are given, of at most MaxLength bytes. A text that gives the lexer MaxErrors errors is not
// what it says, and is read no further: each costs the lexer a pass over the text. All three are said in Cut.
package script

import (
	"bytes"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"curtsy/frontier/canon"
)

// The bounds of one text.
const (
	MaxRead   = 10 << 20 // bytes that are read, as of a page
	MaxNames  = 1000     // distinct names that are given
	MaxLength = 512      // bytes of a name
	MaxErrors = 20       // errors of the lexer
)

// Cut says what of a text was not read. The values are stable: texts are counted by them.
type Cut string

// The values of Cut. The empty one is that of a text that was read to its end.
const (
	CutLong  Cut = "script over 10 MiB"
	CutNames Cut = "script names over 1000 files"
	CutWrong Cut = "no script" // it gives too many errors
)

// Find calls found with each name in text, a script or JSON, once, in the order of the text.
func Find(text []byte, found func(name string)) (cut Cut) {
	if len(text) > MaxRead {
		text, cut = text[:MaxRead], CutLong
	}
	if bytes.IndexByte(text, '.') < 0 {
		return cut
	}
	s := newScanner(text)
	met := map[string]bool{}
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
		if met[file] {
			continue
		}
		if len(met) == MaxNames {
			return CutNames
		}
		met[file] = true
		found(name)
	}
	if s.wrong == MaxErrors {
		return CutWrong
	}
	return cut
}

// scanner goes through the tokens of a script, without white space and comments.
type scanner struct {
	in    *parse.Input
	lex   *js.Lexer
	wrong int // errors of the lexer

	token
	before [5]token // the last ones, the nearest first
}

type token struct {
	kind js.TokenType
	text []byte
}

func newScanner(text []byte) *scanner {
	in := parse.NewInputBytes(text[:len(text):len(text)]) // it writes behind what it is given
	return &scanner{in: in, lex: js.NewLexer(in)}
}

// next reads a token. There is none at the end, and after MaxErrors errors.
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

// name returns the name that the token is.
func (s *scanner) name() (name string, ok bool) {
	if s.kind != js.StringToken && s.kind != js.TemplateToken && s.kind != js.TemplateEndToken {
		return "", false
	}
	if s.before[0].kind == js.OpenParenToken && string(s.before[1].text) == "define" {
		return "", false // of a module that is in this text
	}
	return nameIn(s.text, s.before[0].kind == js.AddToken || s.kind == js.TemplateEndToken)
}

// ends reports whether a token ends a value, so that a slash behind it divides (ECMAScript 12, goal symbols). A
// parenthesis may also end a condition, and a brace a value: the grammar alone would tell, and both are rare.
func ends(t js.TokenType) bool {
	switch t {
	case js.CloseParenToken, js.CloseBracketToken, js.StringToken, js.TemplateToken, js.TemplateEndToken,
		js.RegExpToken, js.PrivateIdentifierToken, js.ThisToken, js.SuperToken, js.NullToken, js.TrueToken,
		js.FalseToken, js.IncrToken, js.DecrToken:
		return true
	}
	return js.IsNumeric(t) || js.IsIdentifier(t)
}

// Places yields what a name may mean that stands in a script, or in JSON, at a URL: relative to that, and to the page that
// loads it, which may be zero. What is of another authority is left out.
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
	maxTries = 6       // places on a host that a name is tried at
	maxTried = 100_000 // names that are remembered; more are not tried
)

// Tries bounds how often a name is tried: scripts that stand in each page of a site name the same files, relative to the
// root that they know, and each folder would be asked for them. It remembers as long as it lives. The zero value is ready.
type Tries struct {
	mu    sync.Mutex
	seed  maphash.Seed
	tried map[uint64][]uint64 // places by a hash of authority and name
}

// Try reports whether a name is to be tried as u: it was before, or at few other places.
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

// extensions are those that files have which pages and scripts ask for. Others are left out, for most words with a dot in
// scripts are members and keys.
var extensions = set("js mjs json jsonp geojson webmanifest html htm xhtml xml svg css wasm txt csv tsv zip gz pdf " +
	"png jpg jpeg gif webp avif ico bmp woff woff2 ttf otf eot mp3 mp4 m4a ogg oga ogv wav webm vtt")

// words are extensions that names of packages and members end in, too: java.util.zip.
var words = set("bmp gz pdf txt xml zip")

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}

// nameIn returns the name that a literal is, which stands there with its quotes; tail says that something stands before it.
func nameIn(literal []byte, tail bool) (name string, ok bool) {
	if len(literal) < 2 || len(literal) > 2*MaxLength { // with escapes
		return "", false
	}
	text := literal[1 : len(literal)-1]
	if tail { // a quote ends an attribute in markup, whose value begins in front of the literal
		if end := bytes.IndexAny(text, `"'`); end >= 0 {
			text = bytes.TrimSuffix(text[:end], []byte(`\`))
		}
	}
	for _, c := range text {
		if c <= ' ' || c >= 0x7F {
			return "", false
		}
	}
	if name, ok = unescaped(string(text)); !ok || len(name) > MaxLength {
		return "", false
	}
	if tail {
		if name = strings.TrimPrefix(name, "/"); name == "" || !isAlphanumeric(name[0]) {
			return "", false
		}
	}
	return name, looksLikeFile(name)
}

// unescaped undoes the escapes that characters of a URL may have in scripts and JSON: of a slash above all.
func unescaped(s string) (string, bool) {
	s = strings.ReplaceAll(s, `\/`, "/")
	return s, !strings.Contains(s, `\`)
}

// IsName reports whether a text is a URL reference that ends in the name of a file.
func IsName(s string) bool { return len(s) <= MaxLength && looksLikeFile(s) }

// looksLikeFile reports whether a URL reference ends in a file's name. It may begin with a scheme and a host.
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
		return false // a host alone
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

// Is reports whether a file is a script or JSON: by its media type, without parameters and in small letters, or by the
// extension of its path where the type says little.
func Is(mediaType, path string) bool {
	switch mediaType {
	case "", "text/plain", "application/octet-stream":
		return hasExtension(path, "js", "mjs", "json")
	}
	return isType(mediaType) || mediaType == "application/json" || mediaType == "text/json"
}

// IsJavaScript reports whether a file is a script that a page may load: by its media type or, where there is none, by the
// extension of its path.
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

// IsElement reports whether the type of a script element makes it a script, a module or JSON (HTML Standard 4.12.1), so
// that names may stand in it.
func IsElement(kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(kind)), ";")
	return kind == "" || kind == "module" || kind == "application/ld+json" || Is(kind, "")
}
