package warc

import (
	"bytes"
	"slices"

	"curtsy/storage/mediatype"
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
	var value []byte
	for within := false; len(rest) > 0; {
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if len(bytes.TrimRight(line, "\r")) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' { // RFC 9112 5.2: the field goes on
			if within {
				value = append(value[:len(value):len(value)], line...)
			}
			continue
		}
		name, v, ok := bytes.Cut(line, []byte(":"))
		switch within = ok && bytes.EqualFold(bytes.TrimRight(name, " \t"), []byte("Content-Type")); {
		case within && value == nil:
			value = bytes.TrimSpace(v)
		case within:
			value = slices.Concat(value, []byte(", "), bytes.TrimSpace(v))
		}
	}
	return status, mediatype.Name(value)
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
