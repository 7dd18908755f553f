package layout

import (
	"slices"
	"strings"

	"curtsy/storage/mediatype"
)

// The files of the mirror that are its own.
const (
	MapFile     = "mirror-map.jsonl"
	MissingFile = "missing.jsonl"
)

// Reserved are the names that no page has.
var Reserved = []string{MapFile, MissingFile}

// defaultName returns the path that page i has if nothing stands against it.
func (n *naming) defaultName(i int) string {
	scheme, rest, _ := strings.Cut(n.Key(i), "://")
	at := strings.IndexByte(rest, '/')
	host, target := rest[:at], rest[at+1:]
	path, query, hasQuery := strings.Cut(target, "?")
	parts := strings.Split(path, "/")
	file := fileName(parts[len(parts)-1], query, hasQuery, mediatype.Parse(n.ContentType(i)).Name)
	parts = parts[:len(parts)-1]
	var dirs []string
	if n.layout.Kind == Flat {
		parts = parts[min(n.layout.Cut, len(parts)):]
	} else {
		dirs = append(dirs, n.hostDir(scheme, host))
	}
	above := len(dirs)
	const deepName = len("/~") + 2*shortHash
	length, fits := len(file), above
	for _, d := range dirs {
		length += len(d) + 1
	}
	for _, part := range parts[:min(len(parts), maxDepth)] {
		d := component(readable(part), "", part)
		if len(dirs) == 0 && n.isReserved(d) {
			d += "_"
		}
		dirs, length = append(dirs, d), length+len(d)+1
		if length+deepName <= maxPath {
			fits = len(dirs)
		}
	}
	if len(parts) > maxDepth || length > maxPath {
		// The parts that do not fit become one directory, named by a hash of them.
		dirs = append(dirs[:min(fits, maxDepth+above-1)], "~"+hashOf(strings.Join(parts, "/"))[:2*shortHash])
	}
	return strings.Join(append(dirs, file), "/")
}

// isReserved reports whether some file system takes a name for that of a file of the mirror's own.
func (n *naming) isReserved(name string) bool {
	return slices.ContainsFunc(Reserved, func(own string) bool { return fold(n.fold, name) == own })
}

// hostDir names the directory of a host: with its port, unless that is the scheme's own.
func (n *naming) hostDir(scheme, host string) string {
	port := ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host, port = host[:i], "+"+host[i+1:]
	} else if scheme == "http" && n.apart[host] {
		port = "+80"
	}
	host = readable(strings.ReplaceAll(host, ":", "-")) // an IPv6 address, or what the URL Standard lets pass as a domain
	for _, f := range Reserved {
		if strings.EqualFold(host+port, f) {
			port += "_"
		}
	}
	return component(host, port, host+port)
}

// fileName names the file of the last segment of a path and its query.
func fileName(segment, query string, hasQuery bool, media string) string {
	stem, ext := "index", ""
	if segment != "" {
		stem, ext = split(readable(segment))
	}
	stem, ext = extension(stem, ext, media)
	if hasQuery {
		stem, segment = stem+"@"+readable(query), segment+"?"+query
	}
	if _, last := split(stem); ext == "" && hasQuery && active[strings.ToLower(last)] {
		ext = ".bin" // the query ends as the name of a page does, and this is none
	}
	return component(stem, ext, segment)
}
