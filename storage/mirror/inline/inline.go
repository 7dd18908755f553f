// Package inline decides which requisites can be part of a page, and writes them so: as data: URLs (RFC 2397). It does no
// I/O. A data: URL is never markup: whatever a requisite holds, "</script>" or "</style>", it cannot end an element.
package inline

import (
	"encoding/base64"
	"path"
	"regexp"
	"strings"

	"curtsy/storage/markup"
	"curtsy/storage/mediatype"
)

// Bounds of what is within a page.
const (
	MaxBody = 2 << 20  // bytes of a requisite
	MaxURL  = 4 << 20  // bytes of its data: URL, with what it needs itself
	MaxPage = 24 << 20 // bytes of all data: URLs of a page
	MaxDeep = 8        // documents within each other
)

// Way says what becomes of a reference.
type Way uint8

// The ways.
const (
	Beside  Way = iota // it leads to a file
	Inside             // what it names is within the page
	Nothing            // it leads to nothing: what it names is in the page already, or no browser reads it
)

// Empty is what leads to nothing, and asks for nothing.
const Empty = "data:text/plain,-"

// Of returns what becomes of a reference to an answer of a type, whose file would have that name.
func Of(ref markup.Ref, contentType, file string) Way {
	media := mediatype.Parse(contentType).Name
	switch ref.Role {
	case markup.Style:
		if media == "text/css" || media == "" && strings.EqualFold(path.Ext(file), ".css") {
			return Inside
		}
	case markup.Script:
		if !strings.HasPrefix(media, "image/") && !strings.HasPrefix(media, "text/html") {
			return Inside
		}
	case markup.Lazy, markup.Embed:
		return ofPart(ref, media, file)
	}
	return Beside
}

// shown are the elements that show a picture, by its attribute.
var shown = map[string]string{"img": "src srcset lowsrc", "input": "src", "source": "srcset", "video": "poster", "image": "href xlink:href src",
	"feImage": "href xlink:href", "body": "background", "table": "background", "tbody": "background", "td": "background",
	"tfoot": "background", "th": "background", "thead": "background", "tr": "background", "style": "url image-set"}

func ofPart(ref markup.Ref, media, file string) Way {
	isPicture := strings.HasPrefix(media, "image/")
	switch {
	case ref.Element == "link" && has(ref.Rel, "preload"):
		if isPicture || isFont(media, file) || media == "text/css" {
			return Nothing // it would be there twice
		}
		return Beside
	case ref.Element == "link" && ref.Role == markup.Embed:
		return way(isPicture)
	case ref.Element == "" || ref.Element == "style" || ref.Attr == "style":
		if media == "application/vnd.ms-fontobject" || strings.EqualFold(path.Ext(file), ".eot") {
			return Nothing
		}
		return way(isPicture || isFont(media, file))
	case ref.Role == markup.Lazy:
		return way(isPicture && (shown[ref.Element] != "" || ref.Element == "div"))
	}
	return way(isPicture && has(shown[ref.Element], ref.Attr))
}

func way(inside bool) Way {
	if inside {
		return Inside
	}
	return Beside
}

func has(words, word string) bool {
	for w := range strings.FieldsSeq(words) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

func isFont(media, file string) bool {
	if strings.HasPrefix(media, "font/") || strings.HasPrefix(media, "application/font-") || strings.HasPrefix(media, "application/x-font-") {
		return true
	}
	switch strings.ToLower(path.Ext(file)) {
	case ".woff", ".woff2", ".ttf", ".otf":
		return !strings.HasPrefix(media, "text/html")
	}
	return false
}

// module finds what makes a script part of a module: what it imports is relative to it, and a data: URL is no place.
var module = regexp.MustCompile(`(?m)^\s*(?:import|export)\b|\bimport\s*[({]|\bimport\.meta\b|(?:^|[;}])(?:import|export)\b`)

// IsModule reports whether a script may import others, or export to them.
func IsModule(script []byte) bool { return module.Match(script) }

// Type is the media type of a data: URL: the answer's, as far as it is one.
func Type(contentType string, role markup.Role) string {
	t := mediatype.Parse(contentType)
	name := t.Name
	switch role {
	case markup.Script:
		name = "text/javascript"
	case markup.Style:
		name = "text/css"
	}
	if !plain(name, "/+.-_") {
		name = "application/octet-stream"
	}
	if t.Charset != "" && plain(t.Charset, "-_.:") {
		name += ";charset=" + t.Charset
	}
	return name
}

func plain(s, more string) bool {
	for i := range len(s) {
		if c := s[i]; (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte(more, c) < 0 {
			return false
		}
	}
	return s != ""
}

// kept are the bytes of a text that stand in a data: URL as they are, and that no place of a URL has to escape.
var kept = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~@=+/:;,!$*[]{}|^?") {
		set[c] = true
	}
	return set
}()

// URL writes bytes as a data: URL: in base64, or as text, whichever is shorter. So a sheet within a sheet does not grow
// with each step.
func URL(media string, body []byte) string {
	if len(body) == 0 {
		body = []byte(" ") // a URL that ends in a comma would be none in a srcset
	}
	text := 0
	for _, c := range body {
		if text++; !kept[c] {
			text += 2
		}
	}
	var b strings.Builder
	if coded := base64.StdEncoding.EncodedLen(len(body)) + len(";base64"); coded <= text || !strings.HasPrefix(media, "text/") && !strings.HasPrefix(media, "image/svg+xml") {
		b.Grow(len("data:,") + len(media) + coded)
		b.WriteString("data:" + media + ";base64,")
		b.WriteString(base64.StdEncoding.EncodeToString(body))
		return b.String()
	}
	b.Grow(len("data:,") + len(media) + text)
	b.WriteString("data:" + media + ",")
	const digits = "0123456789ABCDEF"
	for _, c := range body {
		if kept[c] {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}
