package script

import (
	"fmt"
	"regexp"

	"github.com/tdewolff/parse/v2/js"
)

// doxygen finds the scripts that the navigation tree of Doxygen loads: their names stand in its data without an extension
// ("var NAVTREE = …", and "var a01 = …" in a01.js), or are numbered by the places in NAVTREEINDEX.
type doxygen struct {
	data    bool // the text is such data
	begun   bool
	indexed int // scripts of the index, and one more while it is read
}

// name returns the script that a token means, or "".
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
