package extract

import (
	"net/http"
	"strings"
)

// IsHTML reports whether a body is a page for Extractor.HTML: by its media type, text/html or application/xhtml+xml,
// and where the server names none, by its first octets (up to 512 are used; WHATWG MIME Sniffing 7.1). A type that
// is named is believed.
func IsHTML(contentType string, head []byte) bool {
	switch t := mediaType(contentType); {
	case t == "text/html", t == "application/xhtml+xml":
		return true
	case nameless(t):
		return strings.HasPrefix(http.DetectContentType(head), "text/html")
	}
	return false
}

// mediaType returns the media type of a Content-Type value, in small letters.
func mediaType(contentType string) string {
	t, _, _ := cutAny(contentType, ";,")
	return strings.ToLower(strings.Trim(t, " \t\r\n\f"))
}

// nameless reports whether a media type names none (WHATWG MIME Sniffing 5.1).
func nameless(t string) bool {
	return t == "" || t == "unknown/unknown" || t == "application/unknown" || t == "*/*"
}
