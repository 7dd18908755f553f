package markup

import (
	"strconv"
	"strings"
)

// Candidates calls found with the places of the URLs of the image candidates in a srcset attribute, in order (HTML
// Standard 4.8.4.3.10, "parse a srcset attribute"). A comma may be part of a URL; candidates whose descriptors a
// browser rejects are left out. White space in parentheses splits here what the Standard keeps together; a descriptor
// with parentheses is invalid either way.
func Candidates(s string, found func(start, end int)) {
	at := 0
	for {
		for at < len(s) && (IsSpace(s[at]) || s[at] == ',') {
			at++
		}
		if at == len(s) {
			return
		}
		start := at
		for at < len(s) && !IsSpace(s[at]) {
			at++
		}
		end, ok := at, true
		if bare := len(strings.TrimRight(s[start:at], ",")); start+bare < at {
			end = start + bare
		} else {
			n := descriptorsEnd(s[at:])
			ok = validDescriptors(s[at : at+n])
			at = min(at+n+1, len(s))
		}
		if ok {
			found(start, end)
		}
	}
}

// descriptorsEnd returns where the descriptors of a candidate end: at a comma outside of parentheses.
func descriptorsEnd(s string) int {
	inside := false
	for i := range len(s) {
		switch {
		case s[i] == '(':
			inside = true
		case s[i] == ')':
			inside = false
		case s[i] == ',' && !inside:
			return i
		}
	}
	return len(s)
}

// validDescriptors is the descriptor parser: at most one width or density; a height only along with a width.
func validDescriptors(list string) bool {
	var width, density, height bool
	for d := range strings.FieldsFuncSeq(list, func(r rune) bool { return strings.ContainsRune(Space, r) }) {
		number, unit := d[:len(d)-1], d[len(d)-1]
		ok := false
		switch unit {
		case 'w':
			ok = !width && !density && isPositive(number)
			width = true
		case 'x':
			ok = !width && !density && !height && isDensity(number)
			density = true
		case 'h':
			ok = !height && !density && isPositive(number)
			height = true
		}
		if !ok {
			return false
		}
	}
	return !height || width
}

// isPositive reports whether s is a valid non-negative integer (2.3.4.2) other than zero.
func isPositive(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == "" && strings.Trim(s, "0") != ""
}

// isDensity reports whether s is a valid floating-point number (2.3.4.3) that is not negative.
func isDensity(s string) bool {
	if s == "" || strings.Trim(s, "0123456789.eE+-") != "" || s[0] == '+' || strings.HasSuffix(s, ".") ||
		strings.Contains(strings.ToLower(s), ".e") {
		return false
	}
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && f >= 0
}

// inCandidate writes a URL for a candidate, whose first and last byte cannot be a comma.
func inCandidate(u string) string {
	if strings.HasPrefix(u, ",") {
		u = "%2C" + u[1:]
	}
	if strings.HasSuffix(u, ",") {
		u = u[:len(u)-1] + "%2C"
	}
	return u
}

// RefreshURL finds the URL that a refresh names (HTML Standard 4.2.5.3, shared declarative refresh steps). Named is
// whether "url=" precedes it; ok is false if the value is not valid, or names none, which asks to load the page again.
func RefreshURL(s string) (start, end int, named, ok bool) {
	at := skip(s, 0, Space)
	digits := skip(s, at, "0123456789")
	if digits == at && !strings.HasPrefix(s[at:], ".") {
		return 0, 0, false, false // no time
	}
	at = skip(s, digits, "0123456789.")
	if at == len(s) || !strings.ContainsRune(";,"+Space, rune(s[at])) {
		return 0, 0, false, false
	}
	at = skip(s, at, Space)
	if at < len(s) && (s[at] == ';' || s[at] == ',') {
		at++
	}
	at = skip(s, at, Space)
	if at == len(s) {
		return 0, 0, false, false
	}
	if behind, is := urlSign(s, at); is {
		at, named = behind, true
	} else if s[at]|0x20 == 'u' {
		return at, len(s), false, true // no "url=" after all: a relative URL that begins with a "u"
	}
	end = len(s)
	if at < len(s) && (s[at] == '"' || s[at] == '\'') {
		at++
		if n := strings.IndexByte(s[at:], s[at-1]); n >= 0 {
			end = at + n
		}
		named = true // the quote stands before it
	}
	return at, end, named, true
}

// urlSign returns what is behind "url=" at i, with white space around the sign.
func urlSign(s string, i int) (behind int, ok bool) {
	const word = "url"
	if len(s)-i < len(word) || !strings.EqualFold(s[i:i+len(word)], word) {
		return 0, false
	}
	i = skip(s, i+len(word), Space)
	if i == len(s) || s[i] != '=' {
		return 0, false
	}
	return skip(s, i+1, Space), true
}

// skip returns where, from i on, the first byte stands that is none of those.
func skip(s string, i int, these string) int {
	return len(s) - len(strings.TrimLeft(s[i:], these))
}

// inRefresh writes a URL for a refresh, where a quote would end it.
func inRefresh(u string, named bool) string {
	u = strings.ReplaceAll(strings.ReplaceAll(u, `"`, "%22"), "'", "%27")
	if !named {
		u = "url=" + u
	}
	return u
}
