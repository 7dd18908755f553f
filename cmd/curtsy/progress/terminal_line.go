package progress

import (
	"strings"

	"github.com/rivo/uniseg"

	"curtsy/storage/plainly"
)

// style is how a part of a line looks.
type style string

// The styles, as parameters of SGR (ECMA-48 8.3.117): the colours of the terminal's own palette, so that they suit its
// background.
const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// terminalPart is text in one style.
type terminalPart struct {
	Text  string
	Style style
}

// terminalLine is a line of a screen.
type terminalLine []terminalPart

// terminalText is a line in one part.
func terminalText(s string) terminalLine { return terminalLine{{Text: s}} }

// ellipsis stands for what was cut off.
const ellipsis = "…"

// terminalWidth is how many columns a text takes: wide characters two, marks that stand above others none.
func terminalWidth(s string) int { return uniseg.StringWidth(s) }

// clip cuts a text to so many columns, between two characters as people see them.
func clip(s string, columns int) string {
	if columns <= 0 {
		return ""
	}
	if terminalWidth(s) <= columns {
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
	return b.String() + ellipsis
}

// pad fills a text with spaces up to so many columns.
func pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(columns-terminalWidth(s), 0))
}

// fold breaks a sentence at spaces into lines of so many columns. A word that is wider stays whole, for it may be a path that
// somebody copies.
func fold(sentence string, columns int) (lines []string) {
	line := ""
	for _, word := range strings.Split(sentence, " ") {
		if line != "" && terminalWidth(line)+1+terminalWidth(word) > columns {
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
func (l terminalLine) Render(columns int, colour bool) (text string, width int) {
	var b strings.Builder
	for _, p := range l {
		s := clip(plainly.OneLine(p.Text), columns-width)
		w := terminalWidth(s)
		if w == 0 {
			continue
		}
		width += w
		if colour && p.Style != plain {
			b.WriteString("\x1b[" + string(p.Style) + "m" + s + "\x1b[0m")
		} else {
			b.WriteString(s)
		}
	}
	return b.String(), width
}
