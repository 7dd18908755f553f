package crawldir

import "fmt"

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
