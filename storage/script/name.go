package script

import (
	"bytes"
	"slices"
	"strings"
)

// extensions are those that files have which pages and scripts ask for. Others are left out, for most words with a dot in
// scripts are members and keys.
var extensions = set("js mjs json jsonp geojson webmanifest html htm xhtml xml svg css wasm txt csv tsv zip gz pdf " +
	"png jpg jpeg gif webp avif ico bmp woff woff2 ttf otf eot mp3 mp4 m4a ogg oga ogv wav webm vtt")

// words are extensions that names of packages and members end in, too: java.util.zip.
var words = set("bmp gz pdf txt xml zip")

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}

// nameIn returns the name that a literal is, which stands there with its quotes; tail says that something stands before it.
func nameIn(literal []byte, tail bool) (name string, ok bool) {
	if len(literal) < 2 || len(literal) > 2*MaxLength { // with escapes
		return "", false
	}
	text := literal[1 : len(literal)-1]
	if tail { // a quote ends an attribute in markup, whose value begins in front of the literal
		if end := bytes.IndexAny(text, `"'`); end >= 0 {
			text = bytes.TrimSuffix(text[:end], []byte(`\`))
		}
	}
	for _, c := range text {
		if c <= ' ' || c >= 0x7F {
			return "", false
		}
	}
	if name, ok = unescaped(string(text)); !ok || len(name) > MaxLength {
		return "", false
	}
	if tail {
		if name = strings.TrimPrefix(name, "/"); name == "" || !isAlphanumeric(name[0]) {
			return "", false
		}
	}
	return name, looksLikeFile(name)
}

// unescaped undoes the escapes that characters of a URL may have in scripts and JSON: of a slash above all.
func unescaped(s string) (string, bool) {
	s = strings.ReplaceAll(s, `\/`, "/")
	return s, !strings.Contains(s, `\`)
}

// IsName reports whether a text is a URL reference that ends in the name of a file.
func IsName(s string) bool { return len(s) <= MaxLength && looksLikeFile(s) }

// looksLikeFile reports whether a URL reference ends in a file's name. It may begin with a scheme and a host.
func looksLikeFile(name string) bool {
	if strings.ContainsAny(name, "\"'`<>{}|^*$[];()") {
		return false
	}
	path, _, _ := strings.Cut(name, "#")
	path, _, _ = strings.Cut(path, "?")
	if scheme, rest, has := strings.Cut(path, ":"); has && !strings.Contains(scheme, "/") {
		if path = strings.TrimPrefix(rest, "//"); len(path) == len(rest) || scheme != "http" && scheme != "https" {
			return false
		}
	} else {
		path = strings.TrimPrefix(path, "//")
	}
	if path != name && !strings.Contains(path, "/") && strings.Contains(name, "//") {
		return false // a host alone
	}
	if strings.Contains(path, "//") {
		return false
	}
	last := path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(last, '.')
	if dot <= 0 || strings.Trim(last[:dot], ".-_") == "" {
		return false
	}
	kind := strings.ToLower(last[dot+1:])
	return extensions[kind] && !(words[kind] && last == path && strings.Contains(last[:dot], "."))
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// Is reports whether a file is a script or JSON: by its media type, without parameters and in small letters, or by the
// extension of its path where the type says little.
func Is(mediaType, path string) bool {
	switch mediaType {
	case "", "text/plain", "application/octet-stream":
		return hasExtension(path, "js", "mjs", "json")
	}
	return isType(mediaType) || mediaType == "application/json" || mediaType == "text/json"
}

// IsJavaScript reports whether a file is a script that a page may load: by its media type or, where there is none, by the
// extension of its path.
func IsJavaScript(mediaType, path string) bool {
	return isType(mediaType) || mediaType == "" && hasExtension(path, "js", "mjs")
}

func isType(mediaType string) bool {
	switch mediaType {
	case "text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript", "application/ecmascript":
		return true
	}
	return false
}

func hasExtension(path string, any ...string) bool {
	dot := strings.LastIndexByte(path, '.')
	return dot >= 0 && slices.Contains(any, strings.ToLower(path[dot+1:]))
}

// IsElement reports whether the type of a script element makes it a script, a module or JSON (HTML Standard 4.12.1), so
// that names may stand in it.
func IsElement(kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(kind)), ";")
	return kind == "" || kind == "module" || kind == "application/ld+json" || Is(kind, "")
}
