package crawlcmd

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// spelled is a writer of JSON on which characters that are not printed are spelled (\u009b), since a terminal may obey them.
// JSON itself has none but the end of a line, so that a program reads the same.
type spelled struct{ w io.Writer }

func (s spelled) Write(p []byte) (int, error) {
	text := string(p)
	if strings.IndexFunc(text, steers) >= 0 {
		var b strings.Builder
		for _, r := range text {
			if steers(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		text = b.String()
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// steers reports whether a character is a control, or turns the direction of what follows. All are of the basic plane.
func steers(r rune) bool {
	return r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
