package extract

import (
	"errors"
	"fmt"

	"curtsy/storage/mediatype"
)

// Follow says in which documents links are read beside those of KindOf. The zero Follow has none.
type Follow struct {
	Feed bool
}

// FollowWords are what ParseFollow reads.
func FollowWords() []string { return []string{"feed"} }

// ParseFollow reads a list of FollowWords.
func ParseFollow(words []string) (f Follow, err error) {
	for _, w := range words {
		switch w {
		case "feed":
			f.Feed = true
		case "pdf": // of earlier versions
			err = errors.New("following links in PDF files was removed: leave pdf out")
		default:
			return f, fmt.Errorf("%q is not a kind of document: write feed", w)
		}
	}
	return f, err
}

// KindOf tells what a body is, as the function KindOf does. A feed has the media type of one; or one
// that other documents have, too, and its root is that of a feed.
func (f Follow) KindOf(contentType, path string, head []byte) Kind {
	kind := KindOf(contentType, path, head)
	if kind != 0 && kind != KindXML {
		return kind
	}
	switch t := mediatype.Parse(contentType); t.Name {
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json":
		kind = KindFeed
	case "text/xml", "application/xml":
		if isFeed(head) {
			kind = KindFeed
		}
	case "application/json":
		if isJSONFeed(head) {
			kind = KindFeed
		}
	case "", "application/octet-stream":
		if isFeed(head) {
			kind = KindFeed
		}
	}
	if kind == KindFeed && !f.Feed {
		return KindOf(contentType, path, head)
	}
	return kind
}
