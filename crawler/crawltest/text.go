package crawltest

// This file writes what verdicts are made of: what a client sent, made printable; times; and findings, wrapped. All
// of it fits a terminal of 100 columns.

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// clip makes text of a client's bytes that can be printed, of at most n characters.
func clip(s string, n int) string {
	q := strconv.QuoteToGraphic(s)
	return Shorten(q[1:len(q)-1], n)
}

// Shorten cuts printable text to at most n characters.
func Shorten(s string, n int) string {
	r := []rune(s)
	if len(r) > n {
		r = append(r[:n-1], '…')
	}
	return string(r)
}

// Quote is Clip with quotes.
func Quote(s string) string { return `"` + clip(s, 80) + `"` }

// Seconds writes a time to the millisecond.
func Seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + "s" }

// Precise writes a gap so that a shortfall of microseconds can be seen.
func Precise(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) + "s" }

// Columns is how wide a line may be, in characters.
const Columns = 100

// Wrap prints a finding, broken at spaces.
func Wrap(b *bytes.Buffer, text string) {
	line, width := "  ", 0
	for i, word := range strings.Split(text, " ") {
		n := len([]rune(word))
		if i > 0 && len([]rune(line))+1+n > Columns {
			b.WriteString(line + "\n")
			line, width = "      ", 0
		}
		if width > 0 {
			line += " "
		}
		line += word
		width += n
	}
	b.WriteString(line + "\n")
}
