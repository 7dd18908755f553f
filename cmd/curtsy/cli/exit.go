package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"curtsy/crawler/crawldir"
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
