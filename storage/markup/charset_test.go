package markup

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html/charset"
)

func encoded(t testing.TB, name, text string) []byte {
	t.Helper()
	e, canonical := charset.Lookup(name)
	require.Truef(t, e != nil, "no encoding %s", name)
	out, err := e.NewEncoder().Bytes([]byte(text))
	require.NoError(t, err)
	switch canonical {
	case "utf-16le":
		return append([]byte("\xFF\xFE"), out...)
	case "utf-16be":
		return append([]byte("\xFE\xFF"), out...)
	}
	return out
}

func TestCharset_RewritingCommutesWithEncoding(t *testing.T) {
	for _, tt := range []struct{ charset, word string }{
		{"utf-8", "日本語é"}, {"iso-8859-1", "Äéß"}, {"windows-1250", "čžŁ"}, {"windows-1251", "Привет"}, {"windows-1253", "Ελλά"}, {"koi8-r", "Мир"},
		{"shift_jis", "表示ソ予十能ポ日本"}, {"euc-jp", "表示ソ日本"}, {"iso-2022-jp", "表示日本"}, {"gbk", "中国俓俙"}, {"gb18030", "中国俓㐀"}, {"big5", "功許蓋"}, {"euc-kr", "한국어"},
		{"utf-16le", "日本語é𝄞"}, {"utf-16be", "日本語é𝄞"},
	} {
		t.Run(tt.charset, func(t *testing.T) {
			text := strings.ReplaceAll(`<!doctype html><title>W</title><p title="W">W<a href="W/x?W">W</a><img alt='W' srcset="W 1x, b 2x"><p style="font-family:'W';background:url('W')">W<style>/*W*/ a{b:url(W);content:"W"}</style><a title=W href=W>W`, "W", tt.word)
			replaceAll := func(in []byte, contentType string) (out []byte, raws []string) {
				o := options(t)
				o.ContentType = contentType
				out, err := HTML(in, o, func(r Ref) (string, bool) {
					raws = append(raws, r.Raw)
					return fmt.Sprintf("r%d", len(raws)), true
				})
				require.NoError(t, err)
				return out, raws
			}
			plain, want := replaceAll([]byte(text), "text/html; charset=utf-8")
			got, raws := replaceAll(encoded(t, tt.charset, text), "text/html; charset="+tt.charset)
			assert.Truef(t, strings.Join(raws, "\n") == strings.Join(want, "\n") && len(want) == 6, "%q; want %q", raws, want)
			text2 := string(plain)
			back := decodedAs(t, tt.charset, got)
			assert.Equalf(t, text2, back, "\n got %s\nwant %s", back, text2)
			assert.Falsef(t, tt.charset != "iso-2022-jp" && !bytes.Equal(got, encoded(t, tt.charset, text2)), "octets\n got %q", got)
		})
	}
}

func decodedAs(t testing.TB, name string, in []byte) string {
	t.Helper()
	e, canonical := charset.Lookup(name)
	if strings.HasPrefix(canonical, "utf-16") {
		in = in[2:]
	}
	out, err := e.NewDecoder().Bytes(in)
	require.NoError(t, err)
	return string(out)
}

func TestCharset_StyleSheets(t *testing.T) {
	for _, tt := range []struct{ rule, contentType, in, want string }{
		{"mark", "text/css; charset=koi8-r", "\xEF\xBB\xBFa{b:url(\xC3\xA9)}", "é"},
		{"field", "text/css; charset=iso-8859-1", "@charset \"utf-8\";a{b:url(\xE9)}", "é"},
		{"@charset", "text/css", "@charset \"iso-8859-1\";a{b:url(\xE9)}", "é"},
		{"UTF-8", "text/css", "a{b:url(\xC3\xA9)}", "é"},
		{"UTF-16 cannot be declared in ASCII", "text/css", "@charset \"utf-16\";a{b:url(\xC3\xA9)}", "é"},
	} {
		o := options(t)
		o.ContentType = tt.contentType
		var got []string
		err := Find(CSS, []byte(tt.in), o, func(r Ref) { got = append(got, r.Raw) })
		assert.Truef(t, err == nil && len(got) == 1 && got[0] == tt.want, "%s: %q, %v", tt.rule, got, err)
	}
}

func TestDeclare(t *testing.T) {
	for _, tt := range []struct {
		rule        string
		rewrite     rewriter
		contentType string
		in, want    string
	}{
		{"in the head", HTML, "text/html; charset=iso-8859-1", "<!doctype html><html lang=x><head><title>\xE9", "<!doctype html><html lang=x><head><meta charset=\"windows-1252\"><title>\xE9"},
		{"before a meta element that the header overruled", HTML, "text/html; charset=koi8-r", "<head><meta charset=utf-8>\xE9", "<head><meta charset=\"koi8-r\"><meta charset=utf-8>\xE9"},
		{"behind the doctype", HTML, "text/html; charset=koi8-r", " <!-- x --><!DOCTYPE html>\n\xE9", " <!-- x --><!DOCTYPE html><meta charset=\"koi8-r\">\n\xE9"},
		{"not if the page declares it", HTML, "text/html; charset=koi8-r", "<meta http-equiv=content-type content='text/html;charset=koi8-r'>\xE9", "<meta http-equiv=content-type content='text/html;charset=koi8-r'>\xE9"},
		{"not of ASCII", HTML, "text/html; charset=koi8-r", "<p>x", "<p>x"},
		{"a guess", HTML, "text/html", "<p>\xC3\xA9 x", "<meta charset=\"utf-8\"><p>\xC3\xA9 x"},
		{"a mark for UTF-16", HTML, "text/html; charset=utf-16le", "<\x00p\x00>\x00", "\xFF\xFE<\x00p\x00>\x00"},
		{"a mark for UTF-16 that matches its declaration", SVG, "image/svg+xml", "<\x00?\x00x\x00m\x00l\x00", "\xFF\xFE<\x00?\x00x\x00m\x00l\x00"},
		{"a mark for a page like that", HTML, "text/html", "\x00<\x00?\x00x\x00m\x00l", "\xFE\xFF\x00<\x00?\x00x\x00m\x00l"},
		{"a style sheet", CSS, "text/css; charset=koi8-r", "@charset \"utf-8\";\xE9", "@charset \"koi8-r\";@charset \"utf-8\";\xE9"},
		{"a style sheet that declares it", CSS, "text/css; charset=koi8-r", "@charset \"koi8-r\";\xE9", "@charset \"koi8-r\";\xE9"},
		{"SVG without a declaration", SVG, "image/svg+xml; charset=koi8-r", "<svg>\xE9", "<?xml version=\"1.0\" encoding=\"koi8-r\"?><svg>\xE9"},
		{"SVG with another", SVG, "image/svg+xml; charset=koi8-r", "<?xml version='1.0' encoding='utf-8' ?><svg>\xE9", "<?xml version='1.0' encoding=\"koi8-r\" ?><svg>\xE9"},
		{"SVG in UTF-8", SVG, "image/svg+xml; charset=utf-8", "<svg>\xC3\xA9", "<svg>\xC3\xA9"},
	} {
		o := options(t)
		o.ContentType, o.Declare = tt.contentType, true
		got, err := tt.rewrite([]byte(tt.in), o, func(Ref) (string, bool) { return "", false })
		require.NoError(t, err)
		assert.Equalf(t, tt.want, string(got), "%s:\n got %q", tt.rule, got)
		o.ContentType, _, _ = strings.Cut(tt.contentType, ";")
		again, err := tt.rewrite(got, o, func(Ref) (string, bool) { return "", false })
		assert.Truef(t, err == nil && bytes.Equal(again, got), "%s: declared twice: %q %v", tt.rule, again, err)
	}
}
