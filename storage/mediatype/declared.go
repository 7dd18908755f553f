package mediatype

import (
	"bytes"
	"regexp"
	"strings"
)

// Declared returns the charset that the XML declaration in the first octets of a document names, and "" if there is
// none. Octets that spell it in UTF-16 are that, whatever it names (HTML Standard 13.2.3.2, prescan; XML 1.0 F.1), and
// those that spell it in ASCII are not, though it names it. A page of HTML is held to the former, and not to the
// latter: see Wide.
func Declared(head []byte) string {
	if wide := Wide(head); wide != "" {
		return wide
	}
	m := declaredEncoding.FindSubmatch(head[:min(len(head), maxDeclaration)])
	switch {
	case m == nil:
		return ""
	case strings.HasPrefix(strings.ToLower(string(m[1])), "utf-16"):
		return "utf-8"
	}
	return string(m[1])
}

// Wide returns utf-16le or utf-16be for a document that has no byte order mark and begins with "<?x" in one of them;
// else "".
func Wide(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("<\x00?\x00x\x00")):
		return "utf-16le"
	case bytes.HasPrefix(head, []byte("\x00<\x00?\x00x")):
		return "utf-16be"
	}
	return ""
}

const maxDeclaration = 1024 // octets in which a declaration is looked for

var declaredEncoding = regexp.MustCompile(`^<\?xml\s[^>]*?encoding\s*=\s*["']([-_.:A-Za-z0-9]+)["']`)
