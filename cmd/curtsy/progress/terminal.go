package progress

import (
	"io"
	"os"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"curtsy/storage/plainly"
)

// Terminal is the status line of a terminal: the line of the cursor, redrawn in place without escape sequences. Its methods
// must not be called concurrently.
type Terminal struct {
	w          io.Writer
	columns    func() int  // zero where it is not known
	foreground func() bool // false while a shell has the terminal
	width      int         // columns of the line that is there
}

// TerminalOf returns the status line of w, or nil if w is not a terminal or a dumb one.
func TerminalOf(w io.Writer) *Terminal {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	columns := func() int {
		n, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return n
	}
	return &Terminal{w: w, columns: columns, foreground: func() bool { return foreground(f) }}
}

// Draw replaces the line, cut to the width of the terminal, and draws nothing in the background. The last column stays
// empty, because some terminals break a line that reaches it.
func (t *Terminal) Draw(line string) error {
	if !t.foreground() {
		t.width = 0
		return nil
	}
	columns := t.columns() - 1
	if columns <= 0 {
		columns = 79
	}
	line = clip(plainly.OneLine(line), columns)
	width := uniseg.StringWidth(line)
	rest := max(min(t.width, columns)-width, 0)
	t.width = width
	_, err := io.WriteString(t.w, "\r"+line+strings.Repeat(" ", rest)+"\r")
	return err
}

// Clear removes the line.
func (t *Terminal) Clear() error {
	if t.width == 0 {
		return nil
	}
	return t.Draw("")
}

// Leave lets the line stand; what is written next begins below it.
func (t *Terminal) Leave() error {
	if t.width == 0 {
		return nil
	}
	t.width = 0
	_, err := io.WriteString(t.w, "\r\n")
	return err
}

// clip cuts text to so many columns, between two grapheme clusters.
func clip(text string, columns int) string {
	if uniseg.StringWidth(text) <= columns {
		return text
	}
	var b strings.Builder
	used := 0
	for g := uniseg.NewGraphemes(text); g.Next() && used+g.Width() < columns; used += g.Width() {
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}
