package prune

import "strings"

// Where the pieces of a page begin and end, as golang.org/x/net/html reads them; FuzzPrune_TagsEndWhereTheTokenizerSays
// holds both equal.

func endsName(c byte) bool { return c == '>' || c == '/' || isBlank(c) }

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

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
		case isLetter(c), c == '!', c == '?', c == '/' && i+2 < len(s):
			return i
		case c == '/':
			return len(s)
		}
		i++
	}
}

// tagEnd returns where a tag ends whose name ends at i; -1 if the page ends before it (HTML Standard 13.2.5.32 to
// 13.2.5.40, and as golang.org/x/net/html reads it, which matters where an attribute has no name).
func tagEnd(s string, i int) int {
	for {
		i = blanks(s, i)
		if i == len(s) {
			return -1
		}
		if s[i] == '>' {
			return i + 1
		}
		if i, _ = attributeEnd(s, i); i == len(s) {
			return -1
		}
	}
}

// attributeEnd returns where an attribute ends that begins at i, and whether it ends with a value without quotes.
func attributeEnd(s string, i int) (end int, bare bool) {
	for first := i; i < len(s) && !endsName(s[i]) && (s[i] != '=' || i == first); {
		i++
	}
	i = blanks(s, i)
	switch {
	case i == len(s):
	case s[i] == '/':
		i++
	case s[i] == '=':
		from := blanks(s, i+1)
		i = valueEnd(s, from)
		bare = from < len(s) && s[from] != '"' && s[from] != '\''
	}
	return i, bare
}

// valueEnd returns where the value of an attribute ends that begins at i.
func valueEnd(s string, i int) int {
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		if end := strings.IndexByte(s[i+1:], s[i]); end >= 0 {
			return i + 1 + end + 1
		}
		return len(s)
	}
	for i < len(s) && s[i] != '>' && !isBlank(s[i]) {
		i++
	}
	return i
}

func blanks(s string, i int) int {
	for i < len(s) && isBlank(s[i]) {
		i++
	}
	return i
}

// commentEnd returns where a comment, a declaration or what counts as one ends that begins at i (HTML Standard
// 13.2.5.41 to 13.2.5.52).
func commentEnd(s string, i int) int {
	if !strings.HasPrefix(s[i:], "<!--") {
		return angle(s, i+2)
	}
	first := i + len("<!--")
	for end := first; end < len(s); end++ {
		if end = angle(s, end) - 1; end < 0 || s[end] != '>' {
			break
		}
		if text := s[first:end]; text == "" || text == "-" || strings.HasSuffix(text, "--") ||
			strings.HasSuffix(text, "--!") {
			return end + 1
		}
	}
	return len(s)
}

// angle returns what is behind the next ">", the length of s if there is none.
func angle(s string, i int) int {
	if i > len(s) {
		return len(s)
	}
	if end := strings.IndexByte(s[i:], '>'); end >= 0 {
		return i + end + 1
	}
	return len(s)
}

// rawEnd returns where the end tag of an element begins that holds text alone; the length of s if there is none.
func rawEnd(s string, i int, name string) int {
	for {
		lt := strings.Index(s[i:], "</")
		if lt < 0 {
			return len(s)
		}
		i += lt
		behind := i + 2 + len(name)
		if behind < len(s) && strings.EqualFold(s[i+2:behind], name) && endsName(s[behind]) {
			return i
		}
		i += 2
	}
}
