// Package cli has the parts that all commands share: streams, exit codes, errors, arguments, flags, help and signals.
// It knows no command.
//
// A command returns an error; Report prints it, with what to do about it, and says which exit code it has.
package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// The exit codes, the same for every command.
const (
	ExitDone       = 0   // done, also when a budget that the user set ended it
	ExitFailed     = 1   // could not do it
	ExitUsage      = 2   // usage or configuration
	ExitFound      = 3   // a check found something
	ExitIncomplete = 4   // a seed got no usable answer, hosts are still parked, refused or retired, or pages of a mirror lack what a command gets
	ExitSignalled  = 128 // plus the signal's number: interrupted, drained cleanly
)

// Error is an error with an exit code of its own. An empty message prints nothing: all was said before.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Usagef is an error in what the user wrote.
func Usagef(format string, args ...any) error {
	return &Error{ExitUsage, fmt.Errorf(format, args...)}
}

// Absent makes a usage error of err where a file that the user named does not exist.
func Absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return Usagef("%w", err)
	}
	return err
}

// Silent ends with a code and prints nothing more.
func Silent(code int) error { return &Error{code, errSaid} }

var errSaid = errors.New("")

// Interrupted is how a crawl ends that was asked to by a signal.
func Interrupted(sig os.Signal) error {
	n := 2
	if s, ok := sig.(syscall.Signal); ok {
		n = int(s)
	}
	return Silent(ExitSignalled + n)
}

// Report prints err and returns its exit code.
func Report(w io.Writer, err error) int {
	text, code := Ended(err)
	if text != "" {
		fmt.Fprintf(w, "curtsy: %s\n", text)
	}
	return code
}

// Ended is how a command ends with err: what people are told, which is empty when they were, and the exit code.
func Ended(err error) (text string, code int) {
	if err == nil {
		return "", ExitDone
	}
	code = ExitFailed
	var e *Error
	var misuse *crawldir.Misuse
	switch {
	case errors.As(err, &e):
		code = e.Code
	case errors.As(err, &misuse):
		code = ExitUsage
	}
	if errors.Is(err, errSaid) {
		return "", code
	}
	return plainly.Lines(once(advised(err))), code
}

// once leaves out lines that repeat another: what fails a command fails the closing after it, too.
func once(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

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
