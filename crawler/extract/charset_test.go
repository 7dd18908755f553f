package extract

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"curtsy/storage/charset"
)

func TestCharset_OrderOfDeciders(t *testing.T) {
	const link = `<a href="/` + "\xe9" + `">`
	for _, tt := range []struct {
		rule, contentType, body string
		name                    string
		by                      charset.Decider
		want                    string
	}{
		{"mark wins over field and meta", "text/html; charset=latin1", "\xEF\xBB\xBF<meta charset=koi8-r><a href=/é>", "utf-8", charset.ByMark, "a href /%C3%A9"},
		{"field wins over meta", "text/html; charset=iso-8859-2", "<meta charset=koi8-r>" + link, "iso-8859-2", charset.ByHeader, "a href /%C3%A9"},
		{"field, another letter", "text/html; charset=koi8-r", link, "koi8-r", charset.ByHeader, "a href /%D0%98"},
		{"field, quoted", `text/html; x="a;b"; Charset="KOI8-R" ; charset=utf-8`, link, "koi8-r", charset.ByHeader, "a href /%D0%98"},
		{"field, defects around it", `text/html; ; charset; charset=koi8-r; =; x="`, link, "koi8-r", charset.ByHeader, "a href /%D0%98"},
		{"label of the Encoding Standard: latin1 is windows-1252", "text/html; charset=latin1", "<a href=/\x80>", "windows-1252", charset.ByHeader, "a href /%E2%82%AC"},
		{"unknown in the field falls back to meta", "text/html; charset=nonsense", "<meta charset=koi8-r>" + link, "koi8-r", charset.ByMeta, "a href /%D0%98"},
		{"meta charset", "text/html", "<meta charset=koi8-r>" + link, "koi8-r", charset.ByMeta, "a href /%D0%98"},
		{"meta http-equiv", "text/html", `<meta http-equiv=Content-Type content="text/html; charset=koi8-r">` + link, "koi8-r", charset.ByMeta, "a href /%D0%98"},
		{"meta windows-1252 is not a guess", "text/html", "<meta charset=windows-1252>" + link, "windows-1252", charset.ByMeta, "a href /%C3%A9"},
		{"meta utf-8 is not a guess", "text/html", "<meta charset=utf-8><a href=/é>", "utf-8", charset.ByMeta, "a href /%C3%A9"},
		{"meta is believed in the first 1024 octets", "text/html", strings.Repeat(" ", 1024) + "<meta charset=koi8-r>" + link, "windows-1252", charset.ByGuess, "a href /%C3%A9"},
		{"unknown in meta falls back to a guess", "text/html", "<meta charset=nonsense>" + link, "windows-1252", charset.ByGuess, "a href /%C3%A9"},
		{"guess UTF-8", "", "<p>é<a href=/é>", "utf-8", charset.ByGuess, "a href /%C3%A9"},
		{"guess windows-1252", "", link, "windows-1252", charset.ByGuess, "a href /%C3%A9"},
		{"guess, plain ASCII", "", "<a href=/x>", "windows-1252", charset.ByGuess, "a href /x"},
		{"guess, empty", "", "", "windows-1252", charset.ByGuess, ""},
		{"octets that are not UTF-8 stay as the site wrote them", "text/html; charset=utf-8", link, "utf-8", charset.ByHeader, "a href /%E9"},
		{"gb18030", "text/html; charset=gbk", "<a href=/\xc4\xe3>", "gbk", charset.ByHeader, "a href /%E4%BD%A0"},
	} {
		page := extractAs(t, tt.contentType, tt.body)
		if got := lines(page); page.Charset != tt.name || page.CharsetBy != tt.by || got != tt.want {
			t.Errorf("%s:\n got %s by %s, %q\nwant %s by %s, %q", tt.rule, page.Charset, page.CharsetBy, got, tt.name, tt.by, tt.want)
		}
	}
}

func TestCharset_UTF16ByItsMark(t *testing.T) {
	for name, order := range map[string]unicode.Endianness{"utf-16le": unicode.LittleEndian, "utf-16be": unicode.BigEndian} {
		body, err := unicode.UTF16(order, unicode.UseBOM).NewEncoder().String("<title>é</title><a href=/é>" + strings.Repeat("<p>long enough for several reads", 1000))
		require.NoError(t, err)
		page := extractAs(t, "text/html; charset=utf-8", body)
		if page.Charset != name || page.CharsetBy != charset.ByMark || page.Title != "é" || lines(page) != "a href /%C3%A9" {
			t.Errorf("%s: %s by %s, title %q, %q", name, page.Charset, page.CharsetBy, page.Title, lines(page))
		}
	}
}

// HTML Standard 13.2.3.2, prescan a byte stream to determine its encoding; XML 1.0 F.1.
func TestCharset_UTF16ByItsDeclaration(t *testing.T) {
	const page = `<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>é</title></head><body><a href="/日"/></body></html>`
	for name, order := range map[string]unicode.Endianness{"utf-16le": unicode.LittleEndian, "utf-16be": unicode.BigEndian} {
		body, err := unicode.UTF16(order, unicode.IgnoreBOM).NewEncoder().String(page)
		require.NoError(t, err)
		for _, contentType := range []string{"text/html", xhtmlType} {
			p := extractAs(t, contentType, body)
			if p.Charset != name || p.CharsetBy != charset.ByXML || p.Title != "é" || lines(p) != "a href /%E6%97%A5" || p.Unparsed != "" {
				t.Errorf("%s, %s: %s by %s, title %q, %q, %q", name, contentType, p.Charset, p.CharsetBy, p.Title, lines(p), p.Unparsed)
			}
		}
	}
	// UTF-16 that only a meta element or the declaration claims means UTF-8 (13.2.3.2).
	for contentType, body := range map[string]string{"text/html": "<meta charset=utf-16be><a href=/日>", xhtmlType: page} {
		if p := extractAs(t, contentType, body); p.Charset != "utf-8" || lines(p) != "a href /%E6%97%A5" {
			t.Errorf("%s: %s, %q", contentType, p.Charset, lines(p))
		}
	}
}
