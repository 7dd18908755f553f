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

// A Note is a sentence for people about a crawl directory or the run in it.
type Note struct {
	Kind NoteKind
	Text string
}

// NoteKind is what can be done about a note, for a program that says how.
type NoteKind int

// The kinds of notes.
const (
	Plain        NoteKind = iota // all is said
	IndexDamaged                 // part of an index cannot be read
	IndexWrong                   // an index leads to something else than it says
	Quarantined                  // URLs were set aside that may have brought the process down
)

// plain makes notes of sentences.
func plain(say func(Note)) func(format string, args ...any) {
	if say == nil {
		return func(string, ...any) {}
	}
	return func(format string, args ...any) { say(Note{Text: fmt.Sprintf(format, args...)}) }
}
