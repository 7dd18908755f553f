package extract

import "curtsy/storage/mediatype"

// IsHTML reports whether a body is a page for Extractor.HTML: by its media type, text/html or application/xhtml+xml,
// and where the server names none, by its first bytes (up to 512 are used).
func IsHTML(contentType string, head []byte) bool { return mediatype.Parse(contentType).IsPage(head) }
