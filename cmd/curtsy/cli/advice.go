package cli

import (
	"errors"
	"fmt"
	"strings"

	"curtsy/crawler/crawldir"
	"curtsy/frontier"
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
	switch d.Kind {
	case crawldir.ErrNoIndex:
		return "; of a crawl directory make them with curtsy warc index " + plainly.Argument(d.Dir)
	case crawldir.ErrNoCrawl:
		return "; begin one with curtsy crawl"
	case crawldir.ErrTaken:
		return ": go on with curtsy resume " + plainly.Argument(d.Dir) + ", or name another with --dir"
	case crawldir.ErrNotEmpty:
		return ": name another directory with --dir"
	case crawldir.ErrNotEnded:
		return ": go on with curtsy resume " + plainly.Argument(d.Dir) + ", and update it then"
	case crawldir.ErrTouched:
		return ": give the command again"
	}
	return ""
}

// Note is a note about the crawl in dir, with the commands that help.
func Note(n crawldir.Note, dir string) string {
	switch n.Kind {
	case crawldir.IndexDamaged:
		return n.Text + "; see curtsy warc check"
	case crawldir.IndexWrong:
		return n.Text + ": curtsy warc index makes it anew"
	case crawldir.Quarantined:
		return fmt.Sprintf("%s. See curtsy frontier ls --urls --reason %s %s; try again with curtsy frontier retry --reason %s %s",
			n.Text, frontier.ReasonQuarantined, plainly.Argument(dir), frontier.ReasonQuarantined, plainly.Argument(dir))
	}
	return n.Text
}
