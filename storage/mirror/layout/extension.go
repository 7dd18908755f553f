package layout

import "strings"

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
