package extract

import (
	"strings"

	"curtsy/storage/mediatype"
	"curtsy/storage/script"
)

// Kind is a kind of document that names others.
type Kind uint8

// The kinds. The zero Kind is that of what is not read.
const (
	KindPage     Kind = iota + 1 // HTML, for Extractor.HTML
	KindStyle                    // a style sheet; this one and the others are for Extractor.Parts
	KindSVG                      // an SVG document
	KindManifest                 // a web manifest
	KindScript                   // a script, which may import others
	KindXML                      // any other document in XML, which may name a style sheet
	KindFeed                     // a feed of RSS, Atom or JSON Feed; likewise
)

// KindOf tells what a body is: by its media type; where the server names none, by its first bytes, as IsHTML does, or
// else by the extension of the path it was asked for by. A type that is named is believed, but for web manifests, since
// servers rarely know them.
func KindOf(contentType, path string, head []byte) Kind {
	t := mediatype.Parse(contentType)
	if t.IsPage(head) {
		return KindPage
	}
	name := strings.ToLower(path[strings.LastIndexByte(path, '/')+1:])
	switch t.Name {
	case "text/css":
		return KindStyle
	case "image/svg+xml":
		return KindSVG
	case "application/manifest+json":
		return KindManifest
	case "text/xml", "application/xml", "text/xsl", "application/xslt+xml":
		return KindXML
	case "", "application/json", "text/json", "text/plain", "application/octet-stream":
		if strings.HasSuffix(name, ".webmanifest") || name == "manifest.json" {
			return KindManifest
		}
	}
	switch {
	case script.IsJavaScript(t.Name, name):
		return KindScript
	case !t.Unnamed():
	case strings.HasSuffix(name, ".css"):
		return KindStyle
	case strings.HasSuffix(name, ".svg"):
		return KindSVG
	}
	return 0
}
