// This file knows what options of wget, HTTrack and Scrapy are called here. It is one table: the error about an
// unknown flag and docs/guides/coming-from.md both read it.

package cli

import (
	_ "embed"
	"slices"
	"strings"
)

// phrase is how others say something, and how it is said here.
type phrase struct {
	Theirs []string // options and settings, as they are written there
	Of     string   // the programs that have them
	Ours   string   // a flag with its value ("--scope prefix"), or a command ("curtsy update DIR")
	Note   string   // how curtsy differs; may be empty
}

// All returns the table, in the order of the documentation.
func All() []phrase { return slices.Clone(phrases) }

//go:embed phrasebook.txt
var phrasebook string

var phrases = func() (all []phrase) {
	for line := range strings.Lines(phrasebook) {
		if f := strings.Split(strings.TrimSpace(line), " | "); len(f) > 2 {
			f = append(f, "") // a note that there is not
			all = append(all, phrase{strings.Fields(f[0]), f[1], f[2], f[3]})
		}
	}
	return all
}()

// Find returns how others say what was given: a flag with its dashes, or the name of a setting without. Flags are
// taken as they are; a setting may be written as a flag, too (--download-delay).
func Find(given string) (phrase, bool) {
	for _, p := range phrases {
		if slices.Contains(p.Theirs, given) {
			return p, true
		}
	}
	setting := strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(given, "--"), "-", "_"))
	for _, p := range phrases {
		if slices.Contains(p.Theirs, setting) || slices.Contains(p.Theirs, "--"+strings.ReplaceAll(strings.ToLower(given), "_", "-")) {
			return p, true
		}
	}
	return phrase{}, false
}

// Flag is the name of the flag that Ours is, without its dashes; empty when it is a command.
func (p phrase) Flag() string {
	name, _, _ := strings.Cut(p.Ours, " ")
	name, ok := strings.CutPrefix(name, "--")
	if !ok {
		return ""
	}
	return name
}

// String says it in a sentence, for whoever wrote one of theirs.
func (p phrase) String() string {
	if p.Note == "" {
		return "that is " + p.Ours + " here"
	}
	return "that is " + p.Ours + " here (" + p.Note + ")"
}
