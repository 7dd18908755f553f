package extract

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"

	"curtsy/storage/markup"
)

// maxXMLAttrs is how many attributes an element may have. The decoder keeps all of a tag's, at a hundred bytes each.
const maxXMLAttrs = 1 << 12

// crowded returns where the first tag begins that has more attributes than that, or all before it more than attrs.Max,
// or the end of the body.
func crowded(body []byte) int {
	all := 0
	for i := 0; i < len(body); {
		n := bytes.IndexByte(body[i:], '<')
		if n < 0 {
			break
		}
		i += n
		switch rest := body[i:]; {
		case bytes.HasPrefix(rest, []byte("<!--")):
			i += behindXML(rest, "-->")
		case bytes.HasPrefix(rest, []byte("<![CDATA[")):
			i += behindXML(rest, "]]>")
		case bytes.HasPrefix(rest, []byte("<?")):
			i += behindXML(rest, "?>")
		default:
			end, n := tagXML(rest)
			if all += n; n > maxXMLAttrs || all > markup.Max {
				return i
			}
			i += end
		}
	}
	return len(body)
}

func behindXML(s []byte, mark string) int {
	if n := bytes.Index(s, []byte(mark)); n >= 0 {
		return n + len(mark)
	}
	return len(s)
}

// tagXML returns where a tag ends, and how many attributes it has at most: a lenient decoder needs no "=", but
// something between.
func tagXML(s []byte) (end, attrs int) {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '>', '<':
			return i, attrs
		case '"', '\'':
			n := bytes.IndexByte(s[i+1:], c)
			if n < 0 {
				return len(s), attrs
			}
			i += n + 1
			attrs++
		case ' ', '\t', '\r', '\n':
			if s[i-1] > ' ' {
				attrs++
			}
		}
	}
	return len(s), attrs
}

// maxEntity is the length of the longest name, CounterClockwiseContourIntegral.
const maxEntity = len("CounterClockwiseContourIntegral")

// entitiesIn returns what the entities mean that a page mentions, of those that HTML has: all of XHTML's document types
// mean these (HTML Standard 14.2). Those that a page declares itself are not known; to mention one is an error here.
func entitiesIn(body []byte) map[string]string {
	known := map[string]string{}
	for {
		_, rest, ok := bytes.Cut(body, []byte("&"))
		if !ok {
			return known
		}
		body = rest
		name := rest[:max(0, bytes.IndexByte(rest[:min(len(rest), maxEntity+1)], ';'))]
		if len(name) == 0 || name[0] == '#' || known[string(name)] != "" {
			continue
		}
		written := "&" + string(name) + ";"
		// Names without a semicolon are of HTML alone: of "&notit;" the library reads "&not".
		if text := html.UnescapeString(written); text != written && (text == ";" || !strings.HasSuffix(text, ";")) {
			known[string(name)] = text
		}
	}
}
