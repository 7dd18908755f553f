package terminal

import (
	"strings"

	"github.com/rivo/uniseg"

	"curtsy/storage/plainly"
)

// Style is how a part of a line looks.
type Style string

// The styles, as parameters of SGR (ECMA-48 8.3.117): the colours of the terminal's own palette, so that they suit its
// background.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
)

// Part is text in one style.
type Part struct {
	Text  string
	Style Style
}

// Line is a line of a screen.
type Line []Part

// Text is a line in one part.
func Text(s string) Line { return Line{{Text: s}} }

// Ellipsis stands for what was cut off.
const Ellipsis = "…"

// Width is how many columns a text takes: wide characters two, marks that stand above others none.
func Width(s string) int { return uniseg.StringWidth(s) }

// Clip cuts a text to so many columns, between two characters as people see them.
func Clip(s string, columns int) string {
	if columns <= 0 {
		return ""
	}
	if Width(s) <= columns {
		return s
	}
	var b strings.Builder
	used, state := 0, -1
	for len(s) > 0 {
		cluster, rest, width, next := uniseg.FirstGraphemeClusterInString(s, state)
		if used+width > columns-1 {
			break
		}
		b.WriteString(cluster)
		used, s, state = used+width, rest, next
	}
	return b.String() + Ellipsis
}

// Pad fills a text with spaces up to so many columns.
func Pad(s string, columns int) string { return s + strings.Repeat(" ", max(columns-Width(s), 0)) }

// Fold breaks a sentence at spaces into lines of so many columns. A word that is wider stays whole, for it may be a path that
// somebody copies.
func Fold(sentence string, columns int) (lines []string) {
	line := ""
	for _, word := range strings.Split(sentence, " ") {
		if line != "" && Width(line)+1+Width(word) > columns {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Render makes the line of a screen of it, and says how many columns that takes: at most so many. What was crawled does not
// steer the terminal: control characters are spelled.
func (l Line) Render(columns int, colour bool) (text string, width int) {
	var b strings.Builder
	for _, p := range l {
		s := Clip(plainly.OneLine(p.Text), columns-width)
		w := Width(s)
		if w == 0 {
			continue
		}
		width += w
		if colour && p.Style != Plain {
			b.WriteString("\x1b[" + string(p.Style) + "m" + s + "\x1b[0m")
		} else {
			b.WriteString(s)
		}
	}
	return b.String(), width
}
