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
