package coding

import (
	"net/http"
	"strings"
)

// maxCodings is the most content codings that are undone.
const maxCodings = 4

// others are the compressors that are not undone: those of the IANA registry, and others that have been seen.
var others = map[string]bool{
	"compress": true, "x-compress": true, "exi": true, "pack200-gzip": true, "aes128gcm": true, "dcb": true, "dcz": true,
	"sdch": true, "bzip2": true, "x-bzip2": true, "xz": true, "lzma": true,
}

// Of reads the Content-Encoding of an answer: the codings to undo, the first applied first. stays is its value if one
// of them cannot be undone, or there are too many: then the body stays as it is.
func Of(h http.Header) (undo []string, stays string) {
	values := h["Content-Encoding"]
	for _, v := range values {
		for c := range strings.SplitSeq(v, ",") {
			c, _, _ = strings.Cut(c, ";")
			switch c = strings.ToLower(strings.Trim(c, " \t")); {
			case c == "gzip", c == "deflate", c == "br", c == "zstd":
				undo = append(undo, c)
			case c == "x-gzip": // RFC 9110 8.4.1.3: equivalent to gzip
				undo = append(undo, "gzip")
			case others[c]:
				return nil, strings.Join(values, ", ")
			}
		}
	}
	if len(undo) > maxCodings {
		return nil, strings.Join(values, ", ")
	}
	return undo, ""
}
