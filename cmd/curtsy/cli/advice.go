package cli

import (
	"errors"
	"strings"

	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
)

// advised is the text of an error, with the commands that help against what is wrong with a crawl directory.
func advised(err error) string {
	text := plainly.Error(err)
	var d *crawldir.DirError
	if errors.As(err, &d) {
		text = strings.Replace(text, d.Error(), d.Error()+advice(d), 1)
	}
	return text
}

// advice is what to do about a directory.
func advice(d *crawldir.DirError) string {
	if errors.Is(d.Kind, crawldir.ErrNoIndex) {
		return "; of a crawl directory make them with curtsy warc index " + plainly.Argument(d.Dir)
	}
	return ""
}
