package progress

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Screen draws lines on a terminal, over those that it drew before. Its methods must not be called concurrently.
type Screen struct {
	w      io.Writer
	size   func() (columns, rows int) // zeros where it is not known
	colour bool

	widths []int // of the lines that are there now
	shell  *shell
}

// Of is the screen of a terminal; nil when w is none, or one that is called dumb.
func Of(w io.Writer) *Screen {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) || !steerable(f) {
		return nil
	}
	s := terminalNew(w, os.Getenv("NO_COLOR") == "", func() (columns, rows int) {
		columns, rows, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return columns, rows
	})
	s.shell = shellOf(f)
	return s
}

// terminalNew is a screen of that size.
func terminalNew(w io.Writer, colour bool, size func() (columns, rows int)) *Screen {
	return &Screen{w: w, colour: colour, size: size}
}

// Size is how many columns a line may have, and how many lines there may be. The last column stays empty: some terminals
// break a line that reaches it.
func (s *Screen) Size() (columns, rows int) {
	columns, rows = s.size()
	if columns <= 1 {
		columns = 80
	}
	if rows <= 1 {
		rows = 24
	}
	return columns - 1, rows - 1
}

// Draw puts lines in the place of those that are there, as many as the screen has room for. In the background it draws
// nothing: the terminal is the shell's then. What a shell wrote in between stays, and the lines begin below it.
func (s *Screen) Draw(lines []terminalLine) error {
	if s.shell.woken() {
		s.widths = s.widths[:0]
	}
	if !s.shell.foreground() {
		s.forget()
		return nil
	}
	s.shell.watch()
	columns, rows := s.Size()
	if len(lines) > rows {
		lines = lines[:rows]
	}
	var b strings.Builder
	b.WriteString(s.up())
	s.widths = s.widths[:0]
	for i, l := range lines {
		text, width := l.Render(columns, s.colour)
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(text + "\x1b[K") // EL: what is left of the line before
		s.widths = append(s.widths, width)
	}
	b.WriteString("\x1b[J\r") // ED: what is left below; a ^C that is echoed breaks no line at its beginning
	return s.print(b.String())
}

// up leads to the first of the lines that are there, counted as the terminal has broken them, from the beginning of the last.
func (s *Screen) up() string {
	if len(s.widths) == 0 {
		return ""
	}
	columns, _ := s.Size()
	above := 0
	for _, width := range s.widths[:len(s.widths)-1] {
		above += 1 + max(width-1, 0)/(columns+1)
	}
	if above == 0 {
		return "\r"
	}
	return "\r\x1b[" + strconv.Itoa(above) + "A"
}

// Clear takes the lines away.
func (s *Screen) Clear() error {
	if len(s.widths) == 0 {
		return nil
	}
	if s.shell.woken() || !s.shell.foreground() {
		s.forget()
		return nil
	}
	up := s.up()
	s.forget()
	return s.print(up + "\x1b[J")
}

// forget leaves the lines to whatever comes.
func (s *Screen) forget() {
	s.widths = s.widths[:0]
	s.shell.leave()
}

// Leave lets the lines stand, and what is written next begins below them.
func (s *Screen) Leave() error {
	if len(s.widths) == 0 {
		return nil
	}
	s.forget()
	return s.print("\r\n")
}

func (s *Screen) print(text string) error {
	_, err := io.WriteString(s.w, text)
	return err
}
