package extract

import (
	"strings"
	"testing"

	"curtsy/crawler/extract/pdf"
	"curtsy/frontier/canon"
)

func TestFollow_SaysWhichDocumentsAreRead(t *testing.T) {
	for rule, c := range map[string]struct {
		contentType, path, head string
		want                    Kind
	}{
		"a PDF file by its media type":        {"application/pdf", "/x", "", KindPDF},
		"by that of old servers":              {"application/x-pdf", "/x", "", KindPDF},
		"without one by how it begins":        {"", "/x", "%PDF-1.4", KindPDF},
		"a download by how it begins":         {"application/octet-stream", "/x", "%PDF-2.0", KindPDF},
		"a name alone makes none":             {"application/octet-stream", "/x.pdf", "PK", 0},
		"a type that is named is believed":    {"image/png", "/x.pdf", "%PDF-1.4", 0},
		"pages are pages":                     {"text/html", "/x.pdf", "%PDF-1.4", KindPage},
		"what is read without it is so still": {"text/css", "/x", "", KindStyle},
	} {
		if got := (Follow{PDF: true}).KindOf(c.contentType, c.path, []byte(c.head)); got != c.want {
			t.Errorf("%s: kind %d, want %d", rule, got, c.want)
		}
		if got := (Follow{}).KindOf(c.contentType, c.path, []byte(c.head)); got == KindPDF {
			t.Errorf("%s: read though nobody asked", rule)
		}
	}
}

func TestParseFollow(t *testing.T) {
	for words, want := range map[string]string{"": "", "pdf": "", "pdf,pdf": "", "doc": "pdf", "PDF": "pdf"} {
		f, err := ParseFollow(strings.FieldsFunc(words, func(r rune) bool { return r == ',' }))
		if want == "" && (err != nil || f.PDF != (words != "")) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v, %v", words, f, err)
		}
	}
}

// TestPDF: each link has an element of its own, is told with its fate, and is resolved against the URL of the file.
func TestPDF(t *testing.T) {
	var told []string
	body := "%PDF-1.4\n<</S/URI/URI(b)>> <</S/URI/URI(/x#y)>> <</S/URI/URI(b)>> <</S/URI/URI(mailto:a@b.test)>>"
	x := New()
	page, err := x.Parts(t.Context(), Input{URL: parse(t, pageURL), Body: strings.NewReader(body), Mention: func(m Mention) {
		told = append(told, m.Element+" "+m.Attr+" "+m.Raw)
	}}, KindPDF)
	if err != nil || len(page.Links) != 2 || page.Repeats != 1 || page.Refused[canon.Scheme] != 1 || page.Unparsed != "" {
		t.Errorf("%+v, %v", page, err)
	}
	if got, want := strings.Join(told, "; "), "pdf URI b; pdf URI /x#y; pdf URI b; pdf URI mailto:a@b.test"; got != want {
		t.Errorf("told %s", got)
	}
	for _, l := range page.Links {
		if l.Embed || !strings.HasPrefix(l.URL.String(), "http") {
			t.Errorf("%+v", l)
		}
	}
	page, err = x.Parts(t.Context(), Input{URL: parse(t, pageURL), Body: strings.NewReader("no")}, KindPDF)
	if err != nil || page.Unparsed != pdf.UnreadNoPDF {
		t.Errorf("%+v, %v", page, err)
	}
}
