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
	passages         = 8   // of a text that are looked at
	passageSize      = 600 // bytes of each
	languageLongLine = 60  // bytes from which on a line is more than a menu's
	languageFewBytes = 300 // bytes of long lines below which the short ones count as well
	fewLetters       = 40  // below which nothing is reliable
	sure             = 0.8 // confidence of a passage from which on it is reliable
)

// Result is what a text is in.
type Result struct {
	Codes    []string // of ISO 639-3, that of most of the text first; at most three; none if it is not known
	Reliable bool     // the first is right as a rule: see docs/guides/export.md for how often
	Share    float64  // the part of what was looked at that is in the first, from 0 to 1
}

// Code is the language of most of the text; "" if it is not known.
func (r Result) Code() string {
	if len(r.Codes) == 0 {
		return ""
	}
	return r.Codes[0]
}

// List is all Codes as Common Crawl's content_languages has them.
func (r Result) List() string { return strings.Join(r.Codes, ",") }

// vote is what the passages say for one language.
type vote struct {
	code     string
	weight   float64
	bytes    int
	passages int
	sure     int // passages that are
}

// Detect tells the language of a text of lines. It looks at some of a long text.
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
		if i > 0 && (v.sure < 2 || i > 2) { // one passage may be a quotation, or wrong
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
	seen, next := 0, 0 // bytes that count; where the next passage begins
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

// identify tells the language of a passage, how sure that is, from 0 to 1, and how many letters it has. Japanese,
// Korean and Chinese are told by their script, in which a letter says as much as some three of an alphabet.
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
		if info.Lang < 0 || info.Confidence == 0 { // of two that are level it takes either
			return "", 0, letters
		}
		return group(whatlanggo.LangToString(info.Lang)), info.Confidence, letters
	case hangul > kana+han:
		return "kor", 1, letters
	case 20*kana > kana+han:
		return "jpn", 1, letters
	}
	return "zho", 1, letters
}

// alphabets are letters by which a language, or a few, are told from all others that the detector knows. Trigrams alone
// take Russian for Macedonian or Bulgarian in one line of four.
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

// oneIn is how rare letters of an alphabet may be to tell a language: one foreign name does not.
const oneIn = 100

// options narrow the detector down to the languages whose letters a passage has.
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

// groups are the codes of package whatlanggo that stand for one language of a group, and those of the groups.
var groups = map[string]string{
	"arb": "ara", "azj": "aze", "cmn": "zho", "ekk": "est", "lvs": "lav", "nob": "nor", "npi": "nep", "ory": "ori",
	"pes": "fas", "plt": "mlg", "swh": "swa", "uzn": "uzb", "ydd": "yid", "zsm": "msa",
}

func group(code string) string {
	if g, ok := groups[code]; ok {
		return g
	}
	return code
}

// Two is the code of two letters (ISO 639-1) for one of three; "" for a language that has none.
func Two(code string) string {
	b, err := language.ParseBase(code)
	if s := b.String(); err == nil && len(s) == 2 {
		return s
	}
	return ""
}

// maxTag is how many bytes of a tag are read (BCP 47 4.4.1 asks for 35).
const maxTag = 64

// languageTag is the first tag of a list as pages and servers write it ("de_de, en"), in the form of BCP 47 ("de-DE"); "" if
// that is none.
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

// declared is what a page and its server say that it is in, as Tag has it.
type declared struct {
	HTML   string // lang of the html element
	Meta   string // content-language of a meta element
	Header string // Content-Language
}

// First is the one that browsers go by (HTML Standard 3.2.6.2), and who said so: "html", "meta", "header"; "" if none
// did.
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
