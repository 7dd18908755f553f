package warc

import (
	"fmt"
	"strings"
	"unicode"
)

// Info describes a crawl in the warcinfo record of every segment (WARC 1.1, 6.2). Empty fields are left out. Line
// breaks and other control characters in a value are written as spaces.
type Info struct {
	Software     string // name/version
	Operator     string // who runs the crawl
	Contact      string // where the operator is reached: a URL or a mailbox
	UserAgent    string // as sent
	RobotsPolicy string // the robots standard obeyed
	Description  string // what the crawl is for
	Fields       Fields // any others, written behind these in their order
}

func (in *Info) validate() error {
	for _, f := range in.Fields {
		if !token(f.Name) {
			return fmt.Errorf("warc: %q cannot be a field name in a warcinfo record", f.Name)
		}
	}
	return nil
}

// block returns the block of a warcinfo record, application/warc-fields.
func (in *Info) block(archive string) []byte {
	operator := in.Operator
	switch {
	case operator == "":
		operator = in.Contact
	case in.Contact != "":
		operator += " (" + in.Contact + ")"
	}
	var b []byte
	for _, f := range append(Fields{
		{"software", in.Software},
		{"format", "WARC File Format 1.1"},
		{"conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
		{"isPartOf", archive},
		{"operator", operator},
		{"http-header-user-agent", in.UserAgent},
		{"robots", in.RobotsPolicy},
		{"description", in.Description},
	}, in.Fields...) {
		if v := oneLine(f.Value); v != "" {
			b = append(b, f.Name...)
			b = append(b, ": "...)
			b = append(b, v...)
			b = append(b, "\r\n"...)
		}
	}
	return b
}

func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
}
