package scope

import (
	"fmt"
	"strings"

	"curtsy/storage/mediatype"
)

const (
	ruleAccept = "scope:accept"
	ruleReject = "scope:reject"
)

// kinds is a list of media types and extensions.
type kinds struct {
	types      []string // "image/png", "image/*"
	extensions []string // ".pdf"
}

func parseKinds(list string, items []string) (kinds, error) {
	var k kinds
	for i, item := range items {
		major, minor, isType := strings.Cut(item, "/")
		switch {
		case isType && isToken(major) && isToken(minor):
			k.types = append(k.types, strings.ToLower(item))
		case len(item) > 1 && item[0] == '.' && !strings.ContainsAny(item, "/?# \t*"):
			k.extensions = append(k.extensions, item)
		default:
			return k, fmt.Errorf("scope: %s %d, %q: write a media type (image/png, image/*) or an extension (.pdf)", list, i+1,
				item)
		}
	}
	return k, nil
}

// isToken reports whether s is a token of RFC 9110 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7F || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

func (k kinds) extension(path string) bool {
	for _, x := range k.extensions {
		if n := len(path) - len(x); n > 0 && strings.EqualFold(path[n:], x) {
			return true
		}
	}
	return false
}

// mediaType reports whether the type, without parameters, is one of the types.
func (k kinds) mediaType(t string) bool {
	for _, want := range k.types {
		if strings.EqualFold(want, t) || want == "*/*" && t != "" {
			return true
		}
		if major, ok := strings.CutSuffix(want, "*"); ok && len(t) > len(major) && strings.EqualFold(t[:len(major)], major) {
			return true
		}
	}
	return false
}

// mayBePage reports whether a path may well be a page's: its last segment has no extension or one that pages and
// the programs that make them have. Refusing a page for its name would cost all the links on it.
func mayBePage(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return true
	}
	switch x := name[dot+1:]; strings.ToLower(x) {
	case "html", "htm", "xhtml", "xht", "shtml", "shtm", "phtml", "php", "php3", "php4", "php5", "php7", "asp", "aspx",
		"jsp", "jspx", "jsf", "do", "action", "cgi", "pl", "py", "rb", "cfm", "cfml", "nsf", "":
		return true
	default:
		// "/wiki/St._Louis" and "/v1.2": neither names a format.
		return len(x) > 5 || !isAlphanumeric(x) || x[0] >= '0' && x[0] <= '9' && x != "7z"
	}
}

func isAlphanumeric(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; (c < 'a' || c > 'z') && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return true
}

// AcceptType judges the head of an answer by Accept and Reject: the value of its Content-Type field, and the path it
// was asked for by. An answer without a type is accepted, for nothing speaks against it.
func (s *Scope) AcceptType(contentType, path string) (ok bool, rule string) {
	t := mediatype.Parse(contentType)
	switch {
	case s.reject.mediaType(t.Name):
		return false, ruleReject
	case len(s.accept.types)+len(s.accept.extensions) == 0, t.Name == "", t.IsHTML():
		return true, ""
	case s.accept.mediaType(t.Name), s.accept.extension(path):
		return true, ruleAccept
	}
	return false, ruleAccept
}
