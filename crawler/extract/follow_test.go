package extract

import (
	"strings"
	"testing"
)

func TestParseFollow(t *testing.T) {
	for words, want := range map[string]string{"": "", "feed": "", "feed,feed": "", "doc": "write feed", "Feed": "write feed", "pdf": "write feed"} {
		f, err := ParseFollow(strings.FieldsFunc(words, func(r rune) bool { return r == ',' }))
		if want == "" && (err != nil || f.Feed != (words != "")) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v, %v", words, f, err)
		}
	}
}
