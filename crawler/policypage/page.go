package policypage

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html"
	"html/template"
	"net/netip"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"exact": exact}).Parse(pageText))

// exact is a text whose characters all stand in the source but for those that cannot: templates write the plus sign of
// keys as a number, which nobody finds who searches the file.
func exact(s string) template.HTML { return template.HTML(html.EscapeString(s)) }

// PageMark begins the mark of each page, which says what of it curtsy wrote.
const PageMark = "<!-- curtsy identity sha256="

const (
	doctype = "<!DOCTYPE html>\n"
	markEnd = " -->\n"
)

// Page writes the page of s.
func (s *Statement) Page() ([]byte, error) {
	var b bytes.Buffer
	err := page.Execute(&b, struct {
		*Statement
		Sorted                       []netip.Prefix
		ContactURI, RangesAt, CardAt string
	}{s, SortRanges(s.Ranges), ContactURI(s.Contact), s.beside(RangesName), s.beside(CardName)})
	if err != nil {
		return nil, fmt.Errorf("policypage: %w", err)
	}
	rest := bytes.TrimPrefix(b.Bytes(), []byte(doctype))
	return fmt.Appendf(nil, "%s%s%s%s%s", doctype, PageMark, digest(rest), markEnd, rest), nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Edited reports whether somebody changed a page after Page had written it. One without our mark is no page of ours, and
// edited.
func Edited(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte(doctype+PageMark))
	if !ok || len(rest) < 2*sha256.Size {
		return true
	}
	sum, rest := string(rest[:2*sha256.Size]), rest[2*sha256.Size:]
	rest, ok = bytes.CutPrefix(rest, []byte(markEnd))
	return !ok || sum != digest(rest)
}
