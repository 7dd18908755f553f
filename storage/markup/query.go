package markup

import (
	"fmt"
	"strings"

	"curtsy/storage/charset"

	"golang.org/x/text/encoding"
)

// EncodeQuery returns a reference of a document in that charset with its query as a browser sends it: what is no ASCII
// is encoded in the document's charset, not in UTF-8, and what the charset lacks becomes a character reference (URL
// Standard 5.1, percent-encode after encoding; HTML Standard 2.4.3, encoding-parse a URL). UTF-16 counts as UTF-8, and
// so does "". All else of a URL is UTF-8 whatever the document is in, and so are the references of style sheets.
func EncodeQuery(ref, charsetName string) string {
	from := strings.IndexByte(ref, '?')
	if charsetName == "" || charsetName == "utf-8" || from < 0 || isASCII(ref[from:]) {
		return ref
	}
	query, fragment := ref[from+1:], ""
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		if i < from {
			return ref // the question mark is the fragment's
		}
		query, fragment = ref[from+1:i], ref[i:]
	}
	c, ok := charset.Of(charsetName)
	if !ok || c.Encoding == nil || strings.HasPrefix(c.Name, "utf-16") || c.Name == "replacement" {
		return ref
	}
	if r := japanese[c.Name]; r != nil {
		query = r.Replace(query)
	}
	return ref[:from+1] + encodedQuery(query, c.Encoding) + fragment
}

// japanese has what the encoders of the Encoding Standard (12.2.2, 12.3.2, 13.2) write for characters that x/text
// refuses: the minus sign is the full-width one, and yen sign and overline stand where ASCII has "\\" and "~".
var japanese = map[string]*strings.Replacer{
	"shift_jis":   strings.NewReplacer("\u2212", "\uFF0D", "\u00A5", "\\", "\u203E", "~"),
	"euc-jp":      strings.NewReplacer("\u2212", "\uFF0D", "\u00A5", "\\", "\u203E", "~"),
	"iso-2022-jp": strings.NewReplacer("\u2212", "\uFF0D"),
}

// encodedQuery encodes runs of what the charset has at once: some charsets shift between states.
func encodedQuery(query string, e encoding.Encoding) string {
	var b strings.Builder
	run := 0
	flush := func(to int) {
		octets, _ := e.NewEncoder().String(query[run:to]) // each of its characters was encoded once already
		appendQuery(&b, octets)
	}
	one := e.NewEncoder()
	for i, r := range query {
		if r < 0x80 {
			continue
		}
		one.Reset()
		// The package writes character references itself, with bytes that would end a parameter.
		if s, err := one.String(string(r)); err != nil || strings.HasPrefix(s, "&#") {
			flush(i)
			fmt.Fprintf(&b, "%%26%%23%d%%3B", r)
			run = i + len(string(r))
		}
	}
	flush(len(query))
	return b.String()
}

// appendQuery percent-encodes what is no ASCII or in the query percent-encode set (URL Standard 1.3, for special
// schemes).
func appendQuery(b *strings.Builder, octets string) {
	for i := range len(octets) {
		if c := octets[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"#<>'`, c) >= 0 {
			fmt.Fprintf(b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
