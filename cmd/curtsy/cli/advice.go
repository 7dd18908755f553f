package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"curtsy/crawler/control"
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
	switch {
	case errors.Is(d, crawldir.ErrNoIndex):
		return "; of a crawl directory make them with curtsy warc index " + plainly.Argument(d.Dir)
	case errors.Is(d, crawldir.ErrNoCrawl):
		if above := filepath.Dir(d.Dir); crawldir.Require(above) == nil {
			return "; give the crawl directory, " + plainly.Argument(above)
		}
		return "; begin one with curtsy crawl"
	case errors.Is(d, crawldir.ErrTaken):
		return ": continue it with curtsy resume " + plainly.Argument(d.Dir) + ", or name another with --dir"
	case errors.Is(d, crawldir.ErrNotEmpty):
		return ": name another directory with --dir"
	case errors.Is(d, crawldir.ErrNotEnded):
		return ": continue it with curtsy resume " + plainly.Argument(d.Dir) + ", then update it"
	case errors.Is(d, crawldir.ErrTouched):
		return ": run the command again"
	}
	return ""
}

// Note is a note about the crawl in dir, with the commands that help.
func Note(n crawldir.Note, dir string) string {
	switch n.Kind {
	case crawldir.IndexDamaged:
		return n.Text + "; see curtsy warc check"
	case crawldir.IndexWrong:
		return n.Text + ": curtsy warc index rebuilds it"
	case crawldir.Quarantined:
		return fmt.Sprintf("%s. See curtsy frontier ls --urls --reason %s %s; try again with curtsy frontier retry --reason %s %s",
			n.Text, frontier.ReasonQuarantined, plainly.Argument(dir), frontier.ReasonQuarantined, plainly.Argument(dir))
	}
	return n.Text
}

// Ordered makes a command that is wrong in itself a usage error.
func Ordered(err error) error {
	if control.BadOrder(err) {
		return Usagef("%w", err)
	}
	return err
}

// InUse says what to do about a frontier that somebody has and that does not answer.
func InUse(err error, dir string) error {
	if errors.Is(err, frontier.ErrInUse) {
		return fmt.Errorf("%w; stop the crawl first, see curtsy status %s, and continue with curtsy resume afterwards", err, plainly.Argument(dir))
	}
	return Damaged(err, dir)
}

// Damaged says what to do about a frontier that is damaged.
func Damaged(err error, dir string) error {
	if errors.Is(err, frontier.ErrDamaged) {
		return fmt.Errorf("%w\nDescribe the damage with curtsy frontier repair --dry-run %s, and save the readable part with curtsy frontier repair %s", err, plainly.Argument(dir), plainly.Argument(dir))
	}
	return err
}
