package mirror

import (
	"path"
	"strings"

	"curtsy/storage/markup"
	"curtsy/storage/mediatype"
	"curtsy/storage/script"
)

// rewriter is a function of markup that rewrites documents of one kind.
type rewriter func(in []byte, o markup.Options, visit markup.Visit) ([]byte, error)

// rewriterOf returns how documents of a media type are rewritten; nil for those that are copied as they are. Servers
// that do not know the type of a web manifest, or of any file, are common: then the file's name tells it.
func rewriterOf(contentType, file string) rewriter {
	base := path.Base(strings.ToLower(file))
	if script.IsJavaScript(mediatype.Parse(contentType).Name, base) {
		return markup.Module // unless it imports nothing
	}
	switch mediatype.Parse(contentType).Name {
	case "application/json", "text/json", "text/plain", "application/octet-stream":
		if base == "manifest.json" || path.Ext(base) == ".webmanifest" {
			return markup.Manifest
		}
	case "":
		if path.Ext(base) == ".css" {
			return markup.CSS
		}
	case "text/html":
		return markup.HTML
	case "application/xhtml+xml":
		return markup.XHTML
	case "text/css":
		return markup.CSS
	case "image/svg+xml":
		return markup.SVG
	case "application/manifest+json":
		return markup.Manifest
	case "text/xml", "application/xml", "text/xsl", "application/xslt+xml":
		return markup.XML
	}
	return nil
}
