package text

import (
	"strings"
	"unicode"

	"github.com/RadhiFadlillah/whatlanggo"
)

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
