package prune

import (
	"strings"

	"curtsy/storage/markup"
)

// Where the pieces of a page begin and end, as golang.org/x/net/html reads them; FuzzPrune_TagsEndWhereTheTokenizerSays
// holds both equal.

func endsName(c byte) bool { return c == '>' || c == '/' || markup.IsSpace(c) }

func lowered(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// markupAt returns where the next tag, comment or declaration begins, from i on; the length of s if there is none (HTML
// Standard 13.2.5.1 and 13.2.5.6).
func markupAt(s string, i int) int {
	for {
		lt := strings.IndexByte(s[i:], '<')
		if lt < 0 || i+lt+1 == len(s) {
			return len(s)
		}
		i += lt
		switch c := s[i+1]; {
		case markup.IsLetter(c), c == '!', c == '?', c == '/' && i+2 < len(s):
			return i
		case c == '/':
			return len(s)
		}
		i++
	}
}

// tagEnd returns where a tag ends whose name ends at i; -1 if the page ends before it.
func tagEnd(s string, i int) int {
	end, _, _ := markup.TagEnd(s, i)
	return end
}

// commentEnd returns where a comment, a declaration or what counts as one ends that begins at i (HTML Standard
// 13.2.5.41 to 13.2.5.52).
func commentEnd(s string, i int) int {
	if strings.HasPrefix(s[i:], "<!--") {
		return markup.CommentEnd(s, i+len("<!--"))
	}
	return markup.Behind(s, min(i+2, len(s)), ">")
}
