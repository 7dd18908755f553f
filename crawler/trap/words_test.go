package trap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// slowly digests a text word by word, as the package comment has it.
func slowly(tb testing.TB, url, text string, shape bool) [2]uint64 {
	d := NewDigester(parse(tb, url), shape)
	d.wordwise(text)
	a, b := d.Digests()
	return [2]uint64{a, b}
}

func asItIs(tb testing.TB, url, text string, shape bool) [2]uint64 {
	d := NewDigester(parse(tb, url), shape)
	d.Text(text)
	a, b := d.Digests()
	return [2]uint64{a, b}
}

// wordsOf returns the words that Hear gets of a text.
func wordsOf(tb testing.TB, url, text string, shape bool) (all []string) {
	d := NewDigester(parse(tb, url), shape)
	d.Hear(func(words string) { all = append(all, strings.Split(words, " ")...) })
	d.Text(text)
	return all
}

// words are those of a text without the page's own URL.
func words(tb testing.TB, url, text string) (all []string) {
	d := NewDigester(parse(tb, url), false)
	for word := range strings.FieldsSeq(text) {
		if word = d.without(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// However plain the words are, and whatever is between them, a text is digested word by word.
func FuzzText(f *testing.F) {
	for _, text := range []string{
		"some words of a page that has nothing special to say, and more of them than eight",
		"a b c d e f g h", "a  b c d e f g h ", " a b c d e f g\th\n\ni", "12345678 12345678 a a a a a a a /h.test /x /",
		"\u00a0a b\u2003c d e\u3000f\u0085g h", "ä ö ü ß é à ç ñ", "у нас на сайте ничего нового нет с осени",
		"a b\xe2c d\xc2 e f\xe3\x80 g\xf0\xc2\xa0 h", "sixteen_letters_and more of_them here, http://h.test/x?q=1 and h.test/x?q=1",
		strings.Repeat("x", 3*poured) + " a b c d e f g h", strings.Repeat("word ", poured),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, url := range []string{"http://h.test/", "http://h.test/x?q=1", "http://h.test/x?s=0123456789abcdef", "http://h.test/k%C3%A4se/"} {
			for _, shape := range []bool{false, true} {
				got, want := asItIs(t, url, text, shape), slowly(t, url, text, shape)
				assert.Truef(t, got == want, "%s: %q: %x, word by word %x", url, text, got, want)
				if got, want := wordsOf(t, url, text, shape), words(t, url, text); !slices.Equal(got, want) {
					t.Errorf("%s: heard %q of %q, want %q", url, got, text, want)
				}
			}
		}
	})
}

func TestText_EachOctetAtEachPlace(t *testing.T) {
	const around = "some of a page's words are here for it to stand in "
	for at := range 24 {
		for c := range 256 {
			text := around[:at] + string([]byte{byte(c)}) + around[at:]
			for _, shape := range []bool{false, true} {
				if asItIs(t, "http://h.test/e", text, shape) != slowly(t, "http://h.test/e", text, shape) {
					t.Fatalf("%q, shape %t: not as word by word", text, shape)
				}
			}
		}
	}
}

func TestTextTakesNoMemory(t *testing.T) {
	text := strings.Repeat("plain words, a/b and\tsome\n more: käse\u00a0brot  ", 50)
	for _, shape := range []bool{false, true} {
		d := NewDigester(parse(t, "http://h.test/x?q=1"), shape)
		n := testing.AllocsPerRun(20, func() { d.Text(text) })
		assert.Truef(t, n == 0, "shape %t: %v allocations", shape, n)
	}
}

// The digests are stored.
func TestDigestsStayTheSame(t *testing.T) {
	d := NewDigester(parse(t, "http://h.test/a/b?c=0123456789abcdef"), true)
	d.Text("At http://h.test/a/b there are 12 words, 3.5 of them numbers;\n some are /a/b or käse\u00a0brot: 0123456789abcdef.")
	d.Embed(parse(t, "http://h.test/i.png?c=0123456789abcdef"))
	text, shape := d.Digests()
	assert.Equal(t, "9468e9aa7d4aa8e7 fad6b548d92d758f", fmt.Sprintf("%016x %016x", text, shape))
}

// BenchmarkText reads 8 KiB of text: as it is in most pages, with line breaks, with slashes, and of two bytes a letter.
func BenchmarkText(b *testing.B) {
	for _, tt := range []struct{ name, line string }{
		{"plain", "some words of a page, as they are in most: "}, {"lines", "some words of a page,\n    as they are in most\n"},
		{"slashes", "some a/b words "}, {"Cyrillic", "слова как слова, не более того "},
	} {
		text := strings.Repeat(tt.line, 8<<10/len(tt.line))
		b.Run(tt.name, func(b *testing.B) {
			d := NewDigester(parse(b, "http://h.test/viewtopic.php?t=17"), false)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				d.Text(text)
			}
		})
	}
}
