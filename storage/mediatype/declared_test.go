package mediatype

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// HTML Standard 13.2.3.2, prescan a byte stream; XML 1.0 4.3.3 and F.1.
func TestDeclared(t *testing.T) {
	little := func(s string) string { return strings.Join(strings.Split(s, ""), "\x00") + "\x00" }
	big := func(s string) string { return "\x00" + strings.Join(strings.Split(s, ""), "\x00") }
	for _, c := range []struct{ head, want, wide string }{
		{`<?xml version="1.0" encoding="shift_jis"?>`, "shift_jis", ""},
		{`<?xml version='1.0' encoding = 'ISO-2022-JP' ?>`, "ISO-2022-JP", ""},
		{`<?xml version="1.0" encoding="UTF-16"?>`, "utf-8", ""},
		{`<?xml version="1.0" encoding="utf-16be"?>`, "utf-8", ""},
		{`<?xml version="1.0"?><a encoding="koi8-r">`, "", ""},
		{` <?xml version="1.0" encoding="koi8-r"?>`, "", ""},
		{`<?xml-stylesheet encoding="koi8-r"?>`, "", ""},
		{little(`<?xml version="1.0" encoding="koi8-r"?>`), "utf-16le", "utf-16le"},
		{big(`<?xml version="1.0"?>`), "utf-16be", "utf-16be"},
		{little("<html>"), "", ""}, {big("<html>"), "", ""}, {"<\x00?\x00", "", ""}, {"", "", ""},
	} {
		got, wide := Declared([]byte(c.head)), Wide([]byte(c.head))
		assert.Truef(t, got == c.want && wide == c.wide, "%q: %q and %q, want %q and %q", c.head, got, wide, c.want, c.wide)
	}
}
