package crawldir

import (
	"errors"
	"fmt"
)

// A Misuse is an error in what was asked for: a setting, a seed or a directory that has to be another.
type Misuse struct{ Err error }

func (m *Misuse) Error() string { return m.Err.Error() }

// Unwrap returns what is wrong.
func (m *Misuse) Unwrap() error { return m.Err }

func misuse(format string, args ...any) error { return &Misuse{fmt.Errorf(format, args...)} }

// What is wrong with a directory, for whoever can say more of what to do.
var (
	ErrNoIndex      = errors.New("no index")     // there is no CDXJ file in it
	ErrNoCrawl      = errors.New("no crawl")     // it holds none
	ErrNotDirectory = errors.New("no directory") // it is a file, or below one
	ErrIncomplete   = errors.New("incomplete")   // a part that was made with it is missing
	ErrTaken        = errors.New("taken")        // it holds a crawl already
	ErrNotEmpty     = errors.New("not empty")    // it holds something else
	ErrNotEnded     = errors.New("not ended")    // its crawl can go on, and is not to be updated
	ErrTouched      = errors.New("just touched") // somebody used it meanwhile
)

// A DirError is what is wrong with a directory.
type DirError struct {
	Dir  string
	Kind error // one of those above
	text string
}

func (e *DirError) Error() string { return e.text }

// Unwrap returns what kind of error it is.
func (e *DirError) Unwrap() error { return e.Kind }

// dirMisuse is a directory that has to be another.
func dirMisuse(dir string, kind error, format string, args ...any) error {
	return &Misuse{&DirError{dir, kind, fmt.Sprintf(format, args...)}}
}
