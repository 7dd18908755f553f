package extract

import (
	"net/http"
	"strings"
)

// IsHTML reports whether a body is a page for Extractor.HTML: by its media type, text/html or application/xhtml+xml,
// and where the server names none, by its first octets (up to 512 are used; WHATWG MIME Sniffing 7.1). A type that
// is named is believed.
func IsHTML(contentType string, head []byte) bool {
	t, _, _ := cutAny(contentType, ";,")
	switch strings.ToLower(strings.Trim(t, " \t\r\n\f")) {
	case "text/html", "application/xhtml+xml":
		return true
	case "", "unknown/unknown", "application/unknown", "*/*": // 5.1: these name none
		return strings.HasPrefix(http.DetectContentType(head), "text/html")
	}
	return false
}
