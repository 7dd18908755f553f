package text

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Columns is the width that texts are made for.
const Columns = 80

// label is what stands before the text of a line: spaces, and a word or two with a gap behind them.
var label = regexp.MustCompile(`^ *(\S+( \S+)? {2,})?`)

// Wrap breaks lines that are wider than Columns at spaces. What follows stands below the text of its line, behind the label
// if there is one. A word that is wider, as the name of a file or a URL may be, stays whole.
func Wrap(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line, ended := strings.CutSuffix(line, "\n")
		if utf8.RuneCountInString(line) > Columns {
			line = wrapLine(line)
		}
		b.WriteString(line)
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func wrapLine(line string) string {
	head := label.FindString(line)
	indent := utf8.RuneCountInString(head)
	if strings.TrimSpace(head) == "" {
		indent += 2
	}
	var b strings.Builder
	b.WriteString(head)
	width, first := utf8.RuneCountInString(head), true
	for word := range strings.SplitSeq(line[len(head):], " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case first:
		case width+1+n > Columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			width = indent
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width, first = width+n, false
	}
	return b.String()
}
