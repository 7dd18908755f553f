package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"curtsy/frontier/canon"
)

// The bounds of a name. File systems end at 255 bytes (or UTF-16 units) for a component and 4,096 bytes for a path;
// the rest is left for where the mirror stands.
const (
	maxComponent = 240
	maxPath      = 2048
	maxDepth     = 48 // directories below the host's, or the mirror's where hosts have none
)

// A hash in a name is so many hexadecimal digits of a SHA-256.
const shortHash = 8

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// unsafe are the printable ASCII characters that a name must not have: those that Windows refuses, and those that would
// end a URL's path or begin an escape in it, which servers and people get wrong.
const unsafe = `<>:"/\|?*%#`

// safe reports whether a name may hold r as it is. Unprintable characters are escaped: control characters, and those
// that change the direction of text or have no width.
func safe(r rune) bool {
	return r != utf8.RuneError && unicode.IsPrint(r) && !strings.ContainsRune(unsafe, r)
}

// readable decodes the escapes of a part of a URL where what they stand for is safe in a name, and escapes the rest.
// Two parts that differ stay different: "%" is never decoded.
func readable(part string) string {
	if isPlain(part) {
		return part
	}
	var b strings.Builder
	for i := 0; i < len(part); {
		octets, width := decode(part[i:])
		r, n := utf8.DecodeRune(octets)
		if safe(r) {
			b.WriteRune(r)
			i += n * width
			continue
		}
		if width == 3 {
			b.WriteString(strings.ToUpper(part[i : i+3]))
		} else if part[i] == '%' { // no escape, as "%zz"
			b.WriteByte('%')
		} else {
			Escape(&b, part[i])
		}
		i += width
	}
	return norm.NFC.String(b.String())
}

// isPlain reports whether a part of a URL is all ASCII that is safe in a name, as most are: it is readable as it is.
func isPlain(part string) bool {
	for i := range len(part) {
		if c := part[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(unsafe, c) >= 0 {
			return false
		}
	}
	return true
}

// decode returns the bytes that s begins with, at most those of one character, and how many bytes of s each takes: 3
// where they are escaped.
func decode(s string) (octets []byte, width int) {
	if _, ok := canon.Unescape(s); !ok {
		return []byte(s[:1]), 1
	}
	for len(octets) < utf8.UTFMax {
		c, ok := canon.Unescape(s)
		if !ok {
			break
		}
		octets, s = append(octets, c), s[3:]
	}
	return octets, 3
}

// Escape writes a byte as URLs escape it.
func Escape(b *strings.Builder, c byte) {
	const digits = "0123456789ABCDEF"
	b.WriteByte('%')
	b.WriteByte(digits[c>>4])
	b.WriteByte(digits[c&15])
}

// devices are the names that Windows keeps for devices, whatever extension follows.
// https://learn.microsoft.com/windows/win32/fileio/naming-a-file
var devices = map[string]bool{"CON": true, "PRN": true, "AUX": true, "NUL": true, "CLOCK$": true, "CONIN$": true,
	"CONOUT$": true}

func device(stem string) bool {
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	if devices[stem] {
		return true
	}
	digit, ok := strings.CutPrefix(stem, "COM")
	if !ok {
		digit, ok = strings.CutPrefix(stem, "LPT")
	}
	return ok && utf8.RuneCountInString(digit) == 1 && strings.ContainsAny(digit, "0123456789¹²³")
}

// readByOthers are files that the desktops of Windows read in any folder. Others read names that begin with a dot:
// a folder .git makes git, and prompts that call it, run what its config says; and "git~1" is .git on FAT
// (CVE-2014-9390).
var readByOthers = map[string]bool{"desktop.ini": true, "autorun.inf": true, "thumbs.db": true}

// component makes a name that every file system takes of a readable stem and an extension. A name that has to be cut,
// or would be nothing, is told apart by a hash of whole, the part of the URL that it stands for.
func component(stem, ext, whole string) string {
	name := stem + ext
	if name == "" {
		name = "_"
	}
	if name[0] == '.' && name != ".well-known" { // RFC 8615
		name = "%2E" + name[1:]
	} else if read := strings.ToLower(name); readByOthers[read] || strings.HasPrefix(read, "git~") {
		name = "_" + name
	}
	if first, _, _ := strings.Cut(name, "."); device(first) {
		name = first + "_" + name[len(first):]
	}
	name = ends(name)
	if len(name) <= maxComponent {
		return name
	}
	if len(ext) > 32 || !strings.HasSuffix(name, ext) {
		ext = ""
	}
	room := maxComponent - len(ext) - len("~") - shortHash
	return ends(strings.TrimRight(CutRunes(name, room), ". ") + "~" + hashOf(whole)[:shortHash] + ext)
}

// ends escapes a dot or space at the end of a name, which Windows drops, a space at its beginning, which people drop,
// and the names of a directory itself and the one above.
func ends(name string) string {
	if c := name[len(name)-1]; name[0] != ' ' && c != '.' && c != ' ' {
		return name
	}
	var b strings.Builder
	if name[0] == ' ' {
		Escape(&b, ' ')
		name = name[1:]
	}
	last := len(name) - 1
	if last >= 0 && (name[last] == '.' || name[last] == ' ') {
		b.WriteString(name[:last])
		Escape(&b, name[last])
		return b.String()
	}
	b.WriteString(name)
	return b.String()
}

// CutRunes returns the first bytes of s, at most n of them, that are whole characters, with no escape cut through.
func CutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if i := strings.LastIndexByte(s[:n], '%'); i >= 0 && i > n-3 {
		n = i
	}
	return s[:n]
}

// extensions are those that fit a media type; the first is given where none does. Types that are not here keep what
// their URL has.
var extensions = map[string][]string{
	// as .xhtml a browser takes it for XML, which it need not be
	"text/html":                     {".html", ".htm", ".shtml"},
	"application/xhtml+xml":         {".xhtml", ".xht"},
	"text/css":                      {".css"},
	"text/javascript":               {".js", ".mjs", ".cjs"},
	"application/javascript":        {".js", ".mjs", ".cjs"},
	"application/x-javascript":      {".js", ".mjs", ".cjs"},
	"application/json":              {".json", ".map", ".webmanifest", ".geojson"},
	"application/ld+json":           {".jsonld", ".json"},
	"application/manifest+json":     {".webmanifest", ".json"},
	"application/xml":               {".xml", ".xsl", ".xslt", ".rss", ".atom", ".rdf", ".xsd", ".dtd"},
	"text/xml":                      {".xml", ".xsl", ".xslt", ".rss", ".atom", ".rdf", ".xsd", ".dtd"},
	"application/rss+xml":           {".rss", ".xml"},
	"application/atom+xml":          {".atom", ".xml"},
	"application/pdf":               {".pdf"},
	"application/wasm":              {".wasm"},
	"image/svg+xml":                 {".svg"},
	"image/png":                     {".png"},
	"image/apng":                    {".apng", ".png"},
	"image/jpeg":                    {".jpg", ".jpeg", ".jpe", ".jfif"},
	"image/gif":                     {".gif"},
	"image/webp":                    {".webp"},
	"image/avif":                    {".avif"},
	"image/bmp":                     {".bmp"},
	"image/tiff":                    {".tif", ".tiff"},
	"image/x-icon":                  {".ico"},
	"image/vnd.microsoft.icon":      {".ico"},
	"font/woff":                     {".woff"},
	"font/woff2":                    {".woff2"},
	"font/ttf":                      {".ttf"},
	"font/otf":                      {".otf"},
	"application/vnd.ms-fontobject": {".eot"},
	"audio/mpeg":                    {".mp3", ".mpga"},
	"audio/ogg":                     {".ogg", ".oga", ".opus"},
	"audio/wav":                     {".wav"},
	"audio/mp4":                     {".m4a", ".mp4"},
	"video/mp4":                     {".mp4", ".m4v"},
	"video/webm":                    {".webm"},
	"video/ogg":                     {".ogv", ".ogg"},
	"text/vtt":                      {".vtt"},
	"text/csv":                      {".csv"},
	"application/zip":               {".zip", ".whl", ".jar", ".epub"},
	"application/gzip":              {".gz", ".tgz"},
}

// active are the extensions that make a browser run what is in a file: no other type may have them.
var active = map[string]bool{".html": true, ".htm": true, ".xhtml": true, ".xht": true, ".shtml": true, ".svg": true,
	".xml": true, ".mhtml": true, ".mht": true, ".hta": true}

// split cuts the extension off a name: a dot in it and at most eleven letters or digits, as "webmanifest" has.
func split(name string) (stem, ext string) {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || i == len(name)-1 || len(name)-i > 12 {
		return name, ""
	}
	for _, c := range []byte(name[i+1:]) {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if c < '0' || c > '9' {
				return name, ""
			}
		}
	}
	return name[:i], name[i:]
}

// extension returns the stem and extension of a file: ext, if it fits the type, else the type's own behind it.
func extension(stem, ext, media string) (string, string) {
	lower := strings.ToLower(ext)
	known := extensions[media]
	for _, e := range known {
		if e == lower {
			return stem, ext
		}
	}
	switch {
	case known != nil:
		return stem + ext, known[0]
	case media == "text/plain" && (ext == "" || active[lower]):
		return stem + ext, ".txt"
	case media != "" && active[lower] && !strings.HasSuffix(media, "+xml"):
		return stem + ext, ".bin"
	case active[lower] && lower != ".svg" && lower != ".xml": // of no type, and no page by its bytes; or in XML, and none
		return stem + ext, ".bin"
	}
	return stem, ext
}
