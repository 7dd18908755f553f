package export

import "strings"

// spelt are the names of the Encoding Standard that IANA spells otherwise than in capitals alone, or calls by another
// name.
var spelt = map[string]string{
	"gb18030": "GB18030", "gbk": "GBK", "big5": "Big5", "euc-jp": "EUC-JP", "euc-kr": "EUC-KR", "shift_jis": "Shift_JIS",
	"koi8-r": "KOI8-R", "koi8-u": "KOI8-U", "macintosh": "macintosh", "ibm866": "IBM866", "x-mac-cyrillic": "x-mac-cyrillic",
	"x-user-defined": "x-user-defined", "replacement": "replacement", "iso-8859-8-i": "ISO-8859-8-I",
}

// ianaName is a charset, named by the Encoding Standard, as IANA spells it and Common Crawl has it.
func ianaName(name string) string {
	switch iana, ok := spelt[name]; {
	case ok:
		return iana
	case strings.HasPrefix(name, "windows-"):
		return name
	}
	return strings.ToUpper(name)
}
