package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"curtsy/crawler/crawldir"
)

// The exit codes, the same for every command.
const (
	exitDone       = 0   // done, also when a budget that the user set ended it
	exitFailed     = 1   // could not do it
	exitUsage      = 2   // usage or configuration
	exitFound      = 3   // a check found something
	exitIncomplete = 4   // a seed got no usable answer, or hosts are still parked, refused or retired
	exitSignalled  = 128 // plus the signal's number: interrupted, drained cleanly
)

// exitError is an error with an exit code of its own. An empty message prints nothing: all was said before.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usagef is an error in what the user wrote.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// silent ends with a code and prints nothing more.
func silent(code int) error { return &exitError{code, errSaid} }

var errSaid = errors.New("")

// interrupted is how a crawl ends that was asked to by a signal.
func interrupted(sig os.Signal) error {
	n := 2
	if s, ok := sig.(syscall.Signal); ok {
		n = int(s)
	}
	return silent(exitSignalled + n)
}

// report prints err and returns its exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	code := exitFailed
	var e *exitError
	var misuse *crawldir.Misuse
	switch {
	case errors.As(err, &e):
		code = e.code
	case errors.As(err, &misuse):
		code = exitUsage
	}
	if !errors.Is(err, errSaid) {
		fmt.Fprintf(w, "curtsy: %s\n", plain(once(advised(err))))
	}
	return code
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
