package shellcmd

import (
	"fmt"
	"regexp"
	"strings"
)

// width is how long a line of the source may be (mandoc's style).
const width = 80

// prose writes paragraphs of help: lines that are indented stand as they are, others are filled, each sentence on a line
// of its own, as the language wants it.
func (p *page) prose(help string) {
	for i, paragraph := range strings.Split(help, "\n\n") {
		if i > 0 {
			p.line(".Pp")
		}
		var filled, asIs []string
		flush := func() {
			p.fill(strings.Join(filled, " "))
			if len(asIs) > 0 {
				p.display(asIs)
			}
			filled, asIs = nil, nil
		}
		for line := range strings.SplitSeq(paragraph, "\n") {
			indented := strings.HasPrefix(line, "  ")
			if len(asIs) > 0 && !indented {
				flush()
			}
			if indented {
				asIs = append(asIs, line)
			} else {
				filled = append(filled, line)
			}
		}
		flush()
	}
}

// display writes lines as they are.
func (p *page) display(lines []string) {
	p.line(".Bd -literal -offset indent")
	for _, line := range lines {
		p.line(split(text(strings.TrimPrefix(line, "  "))))
	}
	p.line(".Ed")
}

var sentenceEnd = regexp.MustCompile(`[.!?][)"']*\s+`)

func (p *page) fill(s string) {
	for s != "" {
		sentence := s
		if at := sentenceEnd.FindStringIndex(s); at != nil {
			sentence = s[:at[1]]
		}
		s = s[len(sentence):]
		line := ""
		for _, word := range strings.Fields(sentence) {
			w := text(word)
			if line != "" && len(line)+1+len(w) > width {
				p.line(line)
				line = ""
			}
			switch {
			case line != "":
				line += " " + w
			default:
				line = w
			}
		}
		if line != "" {
			p.line(line)
		}
	}
}

// split breaks a line that is too long so that it is one for the reader.
func split(line string) string {
	if len(line) <= width {
		return line
	}
	at := strings.LastIndexByte(line[:width-1], ' ')
	if at <= 0 {
		return line
	}
	return line[:at+1] + "\\\n" + split(line[at+1:])
}

// text writes what stands in a line of text: nothing in it is a request.
func text(s string) string {
	s = letters(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

// argument writes the arguments of a request.
func argument(s string) string {
	s = letters(s)
	if strings.ContainsAny(s, " \t") || strings.Trim(s, ".,:;()[]?!|") == "" {
		s = `"` + strings.ReplaceAll(s, `"`, `\(dq`) + `"`
	}
	return s
}

// letters writes letters by their names where they mean something else to a formatter: a hyphen of a flag is a minus, so
// that it can be copied.
func letters(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-' && (strings.HasPrefix(s[i:], "--") || strings.HasSuffix(s[:i], "-") || i == 0 || s[i-1] == ' '):
			b.WriteString(`\-`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
