package crawldir

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"curtsy/frontier"
)

// maxLine is the longest line of a list.
const maxLine = 64 << 10

// maxTag is the longest tag: every URL that descends from the seed carries it.
const maxTag = 1 << 10

// BadLine is a line of a list that is passed over.
type BadLine struct {
	Number int64
	Why    string
}

func (b *BadLine) Error() string { return fmt.Sprintf("line %d: %s", b.Number, b.Why) }

// lines reads the lines of a list.
type lines struct {
	in *bufio.Reader
	n  int64
}

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, maxLine)} }

// next returns the next seed, a *BadLine, io.EOF after the last line, or what is wrong with the reader.
func (l *lines) next() (frontier.Candidate, error) {
	for {
		b, more, err := l.in.ReadLine()
		if err != nil {
			return frontier.Candidate{}, err
		}
		l.n++
		if more {
			for more && err == nil {
				_, more, err = l.in.ReadLine()
			}
			return frontier.Candidate{}, &BadLine{l.n, fmt.Sprintf("line longer than %d bytes, ignored", maxLine)}
		}
		line := string(b)
		if l.n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		raw, tag, _ := strings.Cut(line, "\t")
		raw = strings.TrimSpace(raw)
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		if tag = strings.TrimSpace(tag); len(tag) > maxTag {
			return frontier.Candidate{}, &BadLine{l.n, fmt.Sprintf("tag longer than %d bytes; line ignored", maxTag)}
		}
		c, err := Seed(raw, tag)
		if err != nil {
			return frontier.Candidate{}, &BadLine{l.n, err.Error() + "; line ignored"}
		}
		return c, nil
	}
}
