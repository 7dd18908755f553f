package script

import (
	"bytes"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
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
	in := parse.NewInputBytes(text[:len(text):len(text)]) // it writes behind what it is given
	l := js.NewLexer(in)
	met := map[string]bool{}
	wrong := 0
	was := js.SemicolonToken
	for {
		kind, token := l.Next()
		if (kind == js.DivToken || kind == js.DivEqToken) && !ends(was) {
			kind, token = l.RegExp()
		}
		switch kind {
		case js.ErrorToken:
			if in.Err() != nil {
				return cut
			}
			if wrong++; wrong == MaxErrors {
				return CutWrong
			}
			continue
		case js.WhitespaceToken, js.LineTerminatorToken, js.CommentToken, js.CommentLineTerminatorToken:
			continue
		case js.StringToken, js.TemplateToken, js.TemplateEndToken:
			name, ok := nameIn(token, was == js.AddToken || kind == js.TemplateEndToken)
			if ok && !met[name] {
				if len(met) == MaxNames {
					return CutNames
				}
				met[name] = true
				found(name)
			}
		}
		was = kind
	}
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
