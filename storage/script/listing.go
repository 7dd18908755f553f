package script

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/tdewolff/parse/v2/js"

	"curtsy/frontier/canon"
	"curtsy/storage/sorted"
)

// runSize is how much memory the lines of a listing take while they are sorted.
const runSize = 4 << 20

// Listing gathers what the scripts of a site name, in bounded memory. It may be added to concurrently.
type Listing struct {
	// "SCRIPT\tA\tSEGMENTS\tPAGE" for a page that loads a script, those nearest the root first;
	// "SCRIPT\tB\tNAME\tFILE" for a name in it, and the file that it is in.
	// The script is a URL; for one in a page it is what its references are relative to there.
	lines *sorted.Sorter
	mu    sync.Mutex // guards cut
	cut   map[Cut]int64
}

// NewListing returns a listing whose files are in dir.
func NewListing(dir string) *Listing {
	return &Listing{lines: sorted.New(dir, runSize), cut: map[Cut]int64{}}
}

func (l *Listing) add(line string) error { return l.lines.Add([]byte(line)) }

// Loads notes that a page loads a script.
func (l *Listing) Loads(page, script canon.URL) error {
	return l.add(fmt.Sprintf("%s\tA\t%05d\t%s", script, strings.Count(page.Path(), "/"), page))
}

// Read notes the names in a text that is in a file. They are relative to at, or to a page that loads it.
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

// Cut counts the texts that were not read to their end, by why.
func (l *Listing) Cut() map[Cut]int64 { return l.cut }

// Lacking tells each URL that a file names and that is not there, in order, and forgets the listing. A name means a file
// at the one place or at the other (see Places): where one of them has it, the other is nothing that lacks.
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

// Close forgets the listing.
func (l *Listing) Close() error { return l.lines.Close() }

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

// Imports calls found with each URL in the import and export declarations of a module (ECMAScript 16.2), and where its
// literal begins and ends. Specifiers that are no URL ("react") are left out, as are import() and what has escapes. A script
// that is no module has none. At most MaxRead bytes are read.
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

// isSpecifierURL reports whether a module specifier is a URL by itself (HTML Standard 8.1.6.2).
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
