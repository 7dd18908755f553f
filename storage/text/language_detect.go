package text

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/RadhiFadlillah/whatlanggo"
	"golang.org/x/text/language"
)

const (
	passages         = 8   // of a text that are examined
	passageSize      = 600 // bytes of each
	languageLongLine = 60  // bytes of the longest menu line
	languageFewBytes = 300 // bytes of longer lines below which all lines count
	fewLetters       = 40  // below which nothing is reliable
	sure             = 0.8 // confidence above which a passage is reliable
)

// Result is the detected language.
type Result struct {
	Codes    []string // ISO 639-3, by share of the text; at most three; none if unknown
	Reliable bool     // the first is usually right: docs/guides/export.md has its accuracy
	Share    float64  // share of the examined text in the first, from 0 to 1
}

// Code returns the main language; "" if unknown.
func (r Result) Code() string {
	if len(r.Codes) == 0 {
		return ""
	}
	return r.Codes[0]
}

// List returns all Codes in the form of Common Crawl's content_languages.
func (r Result) List() string { return strings.Join(r.Codes, ",") }

// vote sums up the passages in one language.
type vote struct {
	code     string
	weight   float64
	bytes    int
	passages int
	sure     int // reliable passages
}

// Detect detects the language of a text of lines, by passages of a long one.
func Detect(text string) Result {
	var votes []vote
	all, letters := 0, 0
	for _, p := range sample(text) {
		code, confidence, n := identify(p)
		all += len(p)
		letters += n
		if code == "" {
			continue
		}
		i := slices.IndexFunc(votes, func(v vote) bool { return v.code == code })
		if i < 0 {
			i, votes = len(votes), append(votes, vote{code: code})
		}
		v := &votes[i]
		v.weight += float64(len(p)) * max(confidence, 0.1)
		v.bytes += len(p)
		v.passages++
		if confidence > sure {
			v.sure++
		}
	}
	slices.SortFunc(votes, func(a, b vote) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.code, b.code))
	})
	var r Result
	for i, v := range votes {
		if i > 0 && (v.sure < 2 || i > 2) { // a single passage may be a quotation, or an error
			break
		}
		r.Codes = append(r.Codes, v.code)
	}
	if len(votes) > 0 {
		first := votes[0]
		r.Share = float64(first.bytes) / float64(all)
		r.Reliable = letters >= fewLetters && first.sure > 0 && 2*first.bytes > all
	}
	return r
}

func sample(text string) []string {
	long := 0
	for line := range strings.Lines(text) {
		if len(line) > languageLongLine {
			long += len(line)
		}
	}
	least := languageLongLine
	if long < languageFewBytes {
		least, long = 0, len(text)
	}
	var parts []string
	var part strings.Builder
	seen, next := 0, 0 // bytes of lines that count; start of the next passage
	step := max(long/passages, passageSize)
	for line := range strings.Lines(text) {
		if len(line) <= least {
			continue
		}
		for from := max(next-seen, 0); from < len(line); from = max(next-seen, 0) {
			for from > 0 && !utf8.RuneStart(line[from]) {
				from--
			}
			to := min(len(line), from+passageSize-part.Len())
			for to < len(line) && !utf8.RuneStart(line[to]) {
				to++
			}
			part.WriteString(line[from:to])
			if next = seen + to; part.Len() < passageSize {
				break
			}
			parts = append(parts, part.String())
			part.Reset()
			next = max(len(parts)*step, next)
		}
		if seen += len(line); len(parts) == passages {
			return parts
		}
	}
	if part.Len() > 0 {
		parts = append(parts, part.String())
	}
	return parts
}

// identify returns the language of a passage, a confidence from 0 to 1, and the number of letters. It detects Japanese,
// Korean and Chinese by script, where a letter counts as three.
func identify(passage string) (code string, confidence float64, letters int) {
	var kana, han, hangul, other int
	for _, r := range passage {
		switch {
		case r < utf8.RuneSelf:
			if r|0x20 >= 'a' && r|0x20 <= 'z' {
				other++
			}
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.Is(unicode.Hangul, r):
			hangul++
		case unicode.IsLetter(r):
			other++
		}
	}
	east := kana + han + hangul
	letters = 3*east + other
	switch {
	case letters == 0:
		return "", 0, 0
	case 3*east < other:
		info := whatlanggo.DetectWithOptions(passage, options(passage))
		if info.Lang < 0 || info.Confidence == 0 { // a tie, decided at random
			return "", 0, letters
		}
		code = whatlanggo.LangToString(info.Lang)
		return cmp.Or(groups[code], code), info.Confidence, letters
	case hangul > kana+han:
		return "kor", 1, letters
	case 20*kana > kana+han:
		return "jpn", 1, letters
	}
	return "zho", 1, letters
}

// alphabets have letters that distinguish a language, or a few, from all others of the detector. By trigrams alone, it
// takes a fourth of Russian lines for Macedonian or Bulgarian.
var alphabets = []struct {
	letters string
	of      []whatlanggo.Lang
}{
	{"ыэё", []whatlanggo.Lang{whatlanggo.Rus, whatlanggo.Bel}},
	{"їєґ", []whatlanggo.Lang{whatlanggo.Ukr}},
	{"ў", []whatlanggo.Lang{whatlanggo.Bel}},
	{"ђћ", []whatlanggo.Lang{whatlanggo.Srp}},
	{"ѓќѕ", []whatlanggo.Lang{whatlanggo.Mkd}},
	{"јљњџ", []whatlanggo.Lang{whatlanggo.Srp, whatlanggo.Mkd}},
	{"řěů", []whatlanggo.Lang{whatlanggo.Ces}},
	{"łżź", []whatlanggo.Lang{whatlanggo.Pol}},
	{"őű", []whatlanggo.Lang{whatlanggo.Hun}},
	{"șțţ", []whatlanggo.Lang{whatlanggo.Ron}},
	{"ơưấầẩậắặếềểễệốồổỗộớờởợứừửữự", []whatlanggo.Lang{whatlanggo.Vie}},
	{"øæ", []whatlanggo.Lang{whatlanggo.Dan, whatlanggo.Nob, whatlanggo.Nno}},
}

// oneIn is the minimum share of such letters, so that a foreign name does not decide.
const oneIn = 100

// options narrows the detector to the languages by the letters of a passage.
func options(passage string) whatlanggo.Options {
	var found [16]int
	letters := 0
	for _, r := range passage {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if r < 0x80 {
			continue
		}
		r = unicode.ToLower(r)
		for i := range alphabets {
			if strings.ContainsRune(alphabets[i].letters, r) {
				found[i]++
			}
		}
	}
	best := -1
	for i := range alphabets {
		if found[i] >= 2 && found[i]*oneIn >= letters && (best < 0 || found[i] > found[best]) {
			best = i
		}
	}
	if best < 0 {
		return whatlanggo.Options{}
	}
	few := map[whatlanggo.Lang]bool{}
	for _, l := range alphabets[best].of {
		few[l] = true
	}
	return whatlanggo.Options{Whitelist: few}
}

// groups map codes of package whatlanggo for one language of a group to the code of the group.
var groups = map[string]string{
	"arb": "ara", "azj": "aze", "cmn": "zho", "ekk": "est", "lvs": "lav", "nob": "nor", "npi": "nep", "ory": "ori",
	"pes": "fas", "plt": "mlg", "swh": "swa", "uzn": "uzb", "ydd": "yid", "zsm": "msa",
}

// Two returns the two-letter code (ISO 639-1) for a three-letter one, or "".
func Two(code string) string {
	b, err := language.ParseBase(code)
	if s := b.String(); err == nil && len(s) == 2 {
		return s
	}
	return ""
}

// maxTag bounds a tag in bytes (BCP 47 4.4.1 requires 35).
const maxTag = 64

// languageTag returns the first tag of a list as pages and servers write it ("de_de, en"), in BCP 47 form ("de-DE"); ""
// if invalid.
func languageTag(list string) string {
	first, _, _ := strings.Cut(list, ",")
	first = strings.Trim(first, " \t\r\n")
	if len(first) > maxTag {
		return ""
	}
	t, err := language.Raw.Parse(first)
	if err != nil || t == language.Und {
		return ""
	}
	return t.String()
}

// declared is the language declared by page and server, as of languageTag.
type declared struct {
	HTML   string // lang of the html element
	Meta   string // content-language of a meta element
	Header string // Content-Language
}

// First returns the declaration that browsers use (HTML Standard 3.2.6.2) and its source: "html", "meta", "header", or "".
func (d declared) First() (tag, by string) {
	switch {
	case d.HTML != "":
		return d.HTML, "html"
	case d.Meta != "":
		return d.Meta, "meta"
	case d.Header != "":
		return d.Header, "header"
	}
	return "", ""
}
