package sink

const hexDigits = "0123456789abcdef"

// jsonText hands on s as a string of JSON (RFC 8259 7), in parts: a text of any length is not held a second time. What
// JavaScript takes for the end of a line (U+2028, U+2029) is escaped, too.
func jsonText(s string, put func(part string)) {
	put(`"`)
	begin := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= ' ' && c != '"' && c != '\\' && c != 0xe2 {
			continue
		}
		part, n := escaped(s[i:])
		if part == "" {
			continue
		}
		put(s[begin:i])
		put(part)
		i += n - 1
		begin = i + 1
	}
	put(s[begin:])
	put(`"`)
}

// jsonList hands on an array of strings, as jsonText does.
func jsonList(list []string, put func(part string)) {
	put("[")
	for i, s := range list {
		if i > 0 {
			put(",")
		}
		jsonText(s, put)
	}
	put("]")
}

// escaped is what stands for the first n bytes of s, or empty if they stand for themselves.
func escaped(s string) (part string, n int) {
	switch c := s[0]; {
	case c == '"':
		return `\"`, 1
	case c == '\\':
		return `\\`, 1
	case c == '\n':
		return `\n`, 1
	case c == '\r':
		return `\r`, 1
	case c == '\t':
		return `\t`, 1
	case c < ' ':
		return string([]byte{'\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15]}), 1
	case c == 0xe2 && len(s) >= 3 && s[1] == 0x80 && s[2] == 0xa8:
		return `\u2028`, 3
	case c == 0xe2 && len(s) >= 3 && s[1] == 0x80 && s[2] == 0xa9:
		return `\u2029`, 3
	}
	return "", 1
}
