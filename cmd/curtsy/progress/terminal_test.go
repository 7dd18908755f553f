package progress

import (
	"os"
	"strings"
	"testing"
)

func TestTextsAreCutBetweenCharactersAsPeopleSeeThem(t *testing.T) {
	for _, tt := range []struct {
		in      string
		columns int
		want    string
	}{
		{"short", 10, "short"}, {"exactly", 7, "exactly"}, {"too long", 4, "too…"}, {"x", 0, ""},
		{"新聞新聞", 5, "新聞…"}, {"新聞新聞", 4, "新…"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
	} {
		if got := clip(tt.in, tt.columns); got != tt.want || terminalWidth(got) > tt.columns {
			t.Errorf("%q in %d columns: %q, want %q", tt.in, tt.columns, got, tt.want)
		}
	}
}

func TestWordsAreFoldedAndPathsStayWhole(t *testing.T) {
	got := strings.Join(fold("go on with curtsy resume /a/very/long/path/of/a/crawl now", 20), "|")
	if want := "go on with curtsy|resume|/a/very/long/path/of/a/crawl|now"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestStylesAreLeftOutWithoutColour(t *testing.T) {
	l := terminalLine{{"one ", red}, {"two", plain}, {"\x1b[31m", plain}}
	if text, width := l.Render(40, true); text != "\x1b[31mone \x1b[0mtwo\\x1b[31m" || width != 15 {
		t.Errorf("%q, %d columns", text, width)
	}
	if text, _ := l.Render(40, false); text != `one two\x1b[31m` {
		t.Errorf("%q", text)
	}
	if text, width := l.Render(5, true); text != "\x1b[31mone \x1b[0m…" || width != 5 {
		t.Errorf("%q, %d columns", text, width)
	}
}

// Lines are drawn over those before, which the terminal breaks when it is made narrower.
func TestLinesAreDrawnInTheirPlace(t *testing.T) {
	var b strings.Builder
	columns := 21
	s := terminalNew(&b, false, func() (int, int) { return columns, 4 })
	step := func(want string, err error) {
		t.Helper()
		if b.String() != want || err != nil {
			t.Errorf("%q, want %q (%v)", b.String(), want, err)
		}
		b.Reset()
	}
	step("0123456789012345678…\x1b[K\r\nb\x1b[K\x1b[J\r", s.Draw([]terminalLine{terminalText("012345678901234567890123"), terminalText("b")}))
	step("\r\x1b[1Aa\x1b[K\x1b[J\r", s.Draw([]terminalLine{terminalText("a")}))
	step("\ra\x1b[K\r\nb\x1b[K\r\nc\x1b[K\x1b[J\r", s.Draw([]terminalLine{terminalText("a"), terminalText("b"), terminalText("c"), terminalText("over the edge")}))
	step("\r\x1b[2A\x1b[J", s.Clear())
	step("", s.Clear())
	step("01234567890123456789\x1b[K\r\nb\x1b[K\x1b[J\r", s.Draw([]terminalLine{terminalText("01234567890123456789"), terminalText("b")}))
	columns = 10 // two rows of it, and one
	step("\r\x1b[2Ab\x1b[K\x1b[J\r", s.Draw([]terminalLine{terminalText("b")}))
	step("\r\n", s.Leave())
	step("", s.Leave())
}

// A shell that stops the process writes below the lines, and has the terminal until it gives it back.
func TestWhatAShellWritesStays(t *testing.T) {
	var b strings.Builder
	var woken chan<- os.Signal
	ours := true
	s := terminalNew(&b, false, func() (int, int) { return 21, 4 })
	s.shell = &shell{listen: func(c chan<- os.Signal) { woken = c }, ours: func() bool { return ours }}
	step := func(want string, err error) {
		t.Helper()
		if b.String() != want || err != nil {
			t.Errorf("%q, want %q (%v)", b.String(), want, err)
		}
		b.Reset()
	}
	two := []terminalLine{terminalText("a"), terminalText("b")}
	step("a\x1b[K\r\nb\x1b[K\x1b[J\r", s.Draw(two))
	woken <- os.Interrupt // stands for SIGCONT: Ctrl-Z and fg
	step("a\x1b[K\r\nb\x1b[K\x1b[J\r", s.Draw(two))
	step("\r\x1b[1Aa\x1b[K\r\nb\x1b[K\x1b[J\r", s.Draw(two))
	ours = false // bg
	step("", s.Draw(two))
	step("", s.Clear())
	step("", s.Leave())
	ours = true
	step("a\x1b[K\r\nb\x1b[K\x1b[J\r", s.Draw(two))
	ours = false
	step("", s.Clear())
}

func TestNoTerminalNoScreen(t *testing.T) {
	if Of(&strings.Builder{}) != nil {
		t.Error("a buffer has a screen")
	}
}
