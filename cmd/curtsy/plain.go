package main

import (
	"strconv"
	"strings"
	"unicode"
)

// oneLine makes a string from the web safe for a line of a terminal: what is not printable is escaped.
func oneLine(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(plain(s))
}

// plain makes a string from the web safe for a terminal: what is not printable is escaped. New lines and tabs stay.
func plain(s string) string {
	clean := func(r rune) bool { return r == '\n' || r == '\t' || unicode.IsPrint(r) }
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) || r == unicode.ReplacementChar }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if clean(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}
