package warc

import (
	"bytes"
	"strings"
)

// StatusAndType reads the status and the media type of an HTTP response's head, for an index: what is not there or
// cannot be read is 0 and "". It keeps nothing of b.
func StatusAndType(b []byte) (status int, media string) {
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	if v, after, ok := bytes.Cut(line, []byte(" ")); ok && bytes.HasPrefix(v, []byte("HTTP/")) {
		if after = bytes.TrimLeft(after, " "); len(after) >= 3 && digits(after[:3]) && (len(after) == 3 || after[3] <= ' ') {
			status = int(after[0]-'0')*100 + int(after[1]-'0')*10 + int(after[2]-'0')
		}
	}
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !bytes.EqualFold(bytes.TrimRight(name, " \t"), []byte("Content-Type")) {
			continue
		}
		value, _, _ = bytes.Cut(value, []byte(";"))
		return status, mediaType(bytes.TrimSpace(value))
	}
	return status, ""
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// mediaType returns b in lower case if it is a media type (RFC 9110 8.3.1), "" otherwise.
func mediaType(b []byte) string {
	switch string(b) { // the two that most answers have need no memory
	case "text/html":
		return "text/html"
	case "text/plain":
		return "text/plain"
	}
	main, sub, ok := strings.Cut(string(b), "/")
	if len(b) > 127 || !ok || !token(main) || !token(sub) {
		return ""
	}
	return strings.ToLower(string(b))
}
