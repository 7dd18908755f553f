package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sentences = map[string]string{
	"eng": "The ferry leaves the old harbour at seven in the morning, and whoever misses it waits a day for the next one.",
	"deu": "Die Fähre verlässt den alten Hafen um sieben Uhr morgens, und wer sie verpasst, wartet einen Tag auf die nächste.",
	"fra": "Le bateau quitte le vieux port à sept heures du matin, et celui qui le manque attend un jour le prochain.",
	"spa": "El barco sale del puerto viejo a las siete de la mañana, y quien lo pierde espera un día hasta que llegue el siguiente.",
	"rus": "Паром уходит из старой гавани в семь часов утра, и тот, кто на него опоздал, ждёт следующего целый день. Билеты продаются прямо на борту, и это было бы удобно, если бы там принимали карты.",
	"ell": "Το πλοίο φεύγει από το παλιό λιμάνι στις επτά το πρωί, και όποιος το χάσει περιμένει μια μέρα για το επόμενο.",
	"jpn": "船は朝七時に古い港を出ます。乗り遅れた人は次の船を一日待たなければなりません。",
	"kor": "배는 아침 일곱 시에 옛 항구를 떠나고, 놓친 사람은 다음 배를 하루 기다려야 합니다.",
	"zho": "渡船早上七点离开老港口，错过的人要等一天才有下一班。",
}

func TestASentenceIsFoundToBeInItsLanguage(t *testing.T) {
	for code, s := range sentences {
		got := Detect(s)
		assert.Truef(t, got.Code() == code && len(got.Codes) == 1 && got.Share == 1, "%s: %+v", code, got)
	}
}

func TestATextWithoutLettersIsInNoLanguage(t *testing.T) {
	for _, s := range []string{"", " \n", "1 2 3 – 4,000.00 €", "\U0001F600\U0001F601", "\xff\xfe", "xq"} {
		got := Detect(s)
		assert.Truef(t, !got.Reliable, "%q: %+v", s, got)
	}
	got := Detect("1 2 3")
	assert.Truef(t, got.Code() == "" && got.List() == "", "%+v", got)
}

func TestLanguage_LongLinesDecide(t *testing.T) {
	menu := strings.Repeat("Startseite\nImpressum\nDatenschutzerklärung\nKontakt und Anfahrt\n", 20)
	assert.Equal(t, "deu", Detect(menu).Code(), "only a menu")
	assert.Equal(t, "fra", Detect(menu+strings.Repeat(sentences["fra"]+"\n", 5)).List(), "a menu and a text")
}

func TestLanguage_MostFrequentFirst(t *testing.T) {
	text := strings.Repeat(sentences["deu"]+"\n", 40) + strings.Repeat(sentences["eng"]+"\n", 100)
	got := Detect(text)
	assert.Truef(t, got.List() == "eng,deu" && got.Reliable && got.Share >= 0.5 && got.Share <= 0.9, "%+v", got)
	all := ""
	for _, code := range []string{"eng", "deu", "fra", "rus", "ell"} {
		all += strings.Repeat(sentences[code]+"\n", 30)
	}
	got = Detect(all)
	assert.Truef(t, len(got.Codes) <= 3 && !got.Reliable, "five languages: %+v", got)
}

func TestASampleIsBoundedAndSpread(t *testing.T) {
	for name, text := range map[string]string{
		"one line": strings.Repeat("ä", 1<<20), "lines": strings.Repeat(sentences["rus"]+"\n", 5000), "words": strings.Repeat("a\n", 1<<20),
	} {
		parts := sample(text)
		assert.Lenf(t, parts, passages, "%s: %d passages", name, len(parts))
		for _, p := range parts {
			assert.Truef(t, len(p) <= passageSize+utf8.UTFMax && utf8.ValidString(p), "%s: a passage of %d bytes", name, len(p))
		}
	}
	var text strings.Builder
	for i := range 1000 {
		text.WriteString(strings.Repeat(string(rune('a'+i*26/1000)), 100) + "\n")
	}
	first := map[byte]bool{}
	for _, p := range sample(text.String()) {
		first[p[0]] = true
	}
	assert.Lenf(t, first, passages, "passages begin with %d different letters of 26", len(first))
	assert.Equal(t, []string{"a b c\nd"}, sample("a b c\nd"), "of a short text")
}

func TestCodesHaveTwoLettersOrThree(t *testing.T) {
	for code, two := range map[string]string{"deu": "de", "zho": "zh", "nor": "no", "nno": "nn", "ilo": "", "": "", "x y": ""} {
		assert.Equalf(t, two, Two(code), "Two(%q)", code)
	}
}

func TestADeclaredTagIsReadAsItIsWritten(t *testing.T) {
	for list, want := range map[string]string{
		"de": "de", " EN-us ": "en-US", "de_DE": "de-DE", "fr, en": "fr", "zh-hant": "zh-Hant", "": "", "english please": "",
		"x-klingon": "x-klingon", strings.Repeat("a", 100): "", "de-\x00": "", ",de": "", "und": "",
	} {
		assert.Equalf(t, want, languageTag(list), "Tag(%q)", list)
	}
	for _, c := range []struct {
		d       declared
		tag, by string
	}{{declared{"a", "b", "c"}, "a", "html"}, {declared{"", "b", "c"}, "b", "meta"}, {declared{"", "", "c"}, "c", "header"}, {}} {
		tag, by := c.d.First()
		assert.Truef(t, tag == c.tag && by == c.by, "%+v: %s by %s", c.d, tag, by)
	}
}

func FuzzDetect(f *testing.F) {
	for _, s := range sentences {
		f.Add(s + "\n" + s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := Detect(text)
		require.Falsef(t, len(r.Codes) > 3 || r.Share < 0 || r.Share > 1 || r.Reliable && r.Code() == "", "%+v", r)
		for _, c := range r.Codes {
			require.Equalf(t, 3, len(c), "code %q", c)
		}
		again := Detect(text)
		require.Truef(t, slices.Equal(again.Codes, r.Codes), "%v, then %v", r, again)
	})
}
