package extract

import "strings"

// relOf reads what the rel of an element says of the link.
func relOf(rel string) (r Rel) {
	for token := range strings.FieldsFuncSeq(rel, isSpace) {
		switch {
		case strings.EqualFold(token, "nofollow"):
			r.NoFollow = true
		case strings.EqualFold(token, "ugc"):
			r.UGC = true
		case strings.EqualFold(token, "sponsored"):
			r.Sponsored = true
		}
	}
	return r
}

// kind says what a link element brings.
type kind uint8

const (
	inert     kind = iota // nothing that is a document or a part of one
	linked                // a document to follow
	requisite             // a part of this one
)

// linkKind returns what the rel of a link element makes it: the most that any of its tokens does. An unknown token
// makes a link, since sites name their contents, index and chapters so.
func linkKind(rel string) kind {
	k := inert
	for token := range strings.FieldsFuncSeq(rel, isSpace) {
		switch strings.ToLower(token) {
		case "stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image",
			"mask-icon", "fluid-icon", "manifest", "preload", "modulepreload":
			return requisite
		case "dns-prefetch", "preconnect", "expect", // hosts and moments, no documents
			"pingback", "webmention", "edituri", "wlwmanifest", "micropub", "hub", "https://api.w.org/", // services
			"nofollow", "ugc", "sponsored", "external", "noopener", "noreferrer", "opener": // words about a link
		default:
			k = linked
		}
	}
	return k
}
