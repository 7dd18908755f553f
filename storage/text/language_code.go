package text

import (
	"strings"

	"golang.org/x/text/language"
)

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
