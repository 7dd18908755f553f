package changes

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// differ compares two texts; nil where they are the same. Of texts that hardly have anything in common, the comparison
// gives up after a bounded search and shows more lines than it must.
func differ(before, after string) *Diff {
	if before == after {
		return nil
	}
	before, after = ended(before), ended(after)
	u, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), 1)
	if err != nil { // edits that we did not make: none of udiff.Lines overlap
		return &Diff{Lines: []Line{}}
	}
	d := &Diff{Lines: []Line{}}
	for _, h := range u.Hunks {
		d.add(Line{'@', whole(fmt.Sprintf("line %d", max(h.FromLine, 1)))})
		d.hunk(h.Lines)
	}
	return d
}

// ended is a text whose last line ends, so that a line that is appended does not change the one before.
func ended(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

func whole(s string) []Span { return []Span{{Text: s}} }

func (d *Diff) add(l Line) {
	if len(d.Lines) < MaxLines {
		d.Lines = append(d.Lines, l)
	} else if l.Mark != '@' {
		d.LeftOut++
	}
}

// hunk takes in lines. Of as many that go as come, in one place, each takes the place of one.
func (d *Diff) hunk(lines []udiff.Line) {
	for i := 0; i < len(lines); {
		if lines[i].Kind == udiff.Equal {
			d.add(Line{' ', whole(shortened(content(lines[i]), MaxLine))})
			i++
			continue
		}
		var gone, come []string
		for ; i < len(lines) && lines[i].Kind != udiff.Equal; i++ {
			if lines[i].Kind == udiff.Delete {
				gone = append(gone, content(lines[i]))
			} else {
				come = append(come, content(lines[i]))
			}
		}
		d.Removed, d.Added = d.Removed+len(gone), d.Added+len(come)
		d.replaced(gone, come)
	}
}

// content is a line without its end.
func content(l udiff.Line) string { return strings.TrimSuffix(l.Content, "\n") }

// replaced takes in lines in the place of others. Those beyond what a diff shows are counted, not compared by words.
func (d *Diff) replaced(gone, come []string) {
	pairs := 0
	if len(gone) == len(come) {
		pairs = len(gone)
	}
	old, now := make([][]Span, len(gone)), make([][]Span, len(come))
	for i := range pairs {
		if len(d.Lines)+2*i < MaxLines {
			old[i], now[i] = byWords(gone[i], come[i])
		}
	}
	for i, s := range gone {
		d.add(Line{'-', orWhole(old[i], s)})
	}
	for i, s := range come {
		d.add(Line{'+', orWhole(now[i], s)})
	}
}

func orWhole(spans []Span, s string) []Span {
	if spans == nil {
		return whole(shortened(s, MaxLine))
	}
	return spans
}

const (
	maxCompared = 16 << 10 // bytes of a line that is compared by words
	near        = 120      // bytes that are shown around words that differ
)

// byWords compares two lines by words; nil where they have too little in common.
func byWords(old, now string) (was, is []Span) {
	if len(old) > maxCompared || len(now) > maxCompared {
		return nil, nil
	}
	a, b := words(old), words(now)
	edits := udiff.Lines(a, b)
	same, at := 0, 0
	for _, e := range edits {
		if e.Start > at {
			s := unworded(a[at:e.Start])
			same += len(s)
			was, is = append(was, Span{Text: s}), append(is, Span{Text: s})
		}
		if e.End > e.Start {
			was = append(was, Span{unworded(a[e.Start:e.End]), true})
		}
		if e.New != "" {
			is = append(is, Span{unworded(e.New), true})
		}
		at = e.End
	}
	if s := unworded(a[at:]); s != "" {
		same += len(s)
		was, is = append(was, Span{Text: s}), append(is, Span{Text: s})
	}
	if 4*same < max(len(old), len(now)) {
		return nil, nil
	}
	return elided(was), elided(is)
}

// words is a line with each of its words on a line of its own.
func words(s string) string { return strings.ReplaceAll(s, " ", " \n") + "\n" }

func unworded(s string) string { return strings.ReplaceAll(s, "\n", "") }

// elided leaves out what is the same and far from what is not.
func elided(spans []Span) []Span {
	left := 4 * MaxLine
	for i := range spans {
		s := &spans[i]
		switch first, last := i == 0, i == len(spans)-1; {
		case s.Changed:
			s.Text = shortened(s.Text, max(left, near))
		case len(s.Text) <= 2*near+10:
		case first:
			s.Text = "… " + behind(s.Text, near)
		case last:
			s.Text = shortened(s.Text, near)
		default:
			s.Text = shortened(s.Text, near) + " " + behind(s.Text, near)
		}
		if left -= len(s.Text); left < 0 {
			return append(spans[:i+1], Span{Text: " …"})
		}
	}
	return spans
}

// shortened is the beginning of a text, at a rune.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// behind is the end of a text, at a rune.
func behind(s string, most int) string {
	at := max(len(s)-most, 0)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

// excerpt is the beginning of a text as a diff against nothing.
func excerpt(text string, mark byte) *Diff {
	d := &Diff{Lines: []Line{}}
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > MaxExcerpt {
			d.LeftOut++
			continue
		}
		d.add(Line{mark, whole(shortened(strings.TrimSuffix(line, "\n"), MaxLine))})
	}
	if mark == '+' {
		d.Added = n
	} else {
		d.Removed = n
	}
	return d
}

// sum is a digest of the lines that go and come, wherever they stand.
func (d *Diff) sum(kind string) (sum [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintln(h, kind)
	for _, l := range d.Lines {
		if l.Mark == '-' || l.Mark == '+' {
			fmt.Fprintf(h, "%c%s\n", l.Mark, l)
		}
	}
	copy(sum[:], h.Sum(nil))
	return sum
}

// size is how many bytes a diff has.
func (d *Diff) size() (n int) {
	for _, l := range d.Lines {
		for _, s := range l.Spans {
			n += len(s.Text)
		}
		n += 8
	}
	return n
}
