package extract

import (
	"iter"
	"strconv"
	"strings"
)

const space = " \t\n\f\r" // ASCII white space (Infra Standard 4.6)

func isSpace(r rune) bool { return strings.ContainsRune(space, r) }

// srcset goes through the URLs of the image candidates in a srcset attribute (HTML Standard 4.8.4.3.10, "parse a
// srcset attribute"). A comma may be part of a URL; candidates with descriptors that a browser rejects are left out.
func srcset(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			s = strings.TrimLeft(s, space+",")
			if s == "" {
				return
			}
			end := strings.IndexAny(s, space)
			if end < 0 {
				end = len(s)
			}
			ref := s[:end]
			s = s[end:]
			ok := true
			if bare := strings.TrimRight(ref, ","); bare != ref {
				ref = bare
			} else {
				var list string
				list, s = cutDescriptors(s)
				ok = validDescriptors(list)
			}
			if ok && !yield(ref) {
				return
			}
		}
	}
}

// cutDescriptors splits off the descriptors of a candidate, which end at a comma outside of parentheses.
func cutDescriptors(s string) (list, rest string) {
	inside := false
	for i := range len(s) {
		switch {
		case s[i] == '(':
			inside = true
		case s[i] == ')':
			inside = false
		case s[i] == ',' && !inside:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// validDescriptors is the descriptor parser: at most one width or density; a height, for future compatibility, only
// along with a width. White space in parentheses splits here what the Standard keeps together; a descriptor with
// parentheses is invalid either way.
func validDescriptors(list string) bool {
	var width, density, height bool
	for d := range strings.FieldsFuncSeq(list, isSpace) {
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
	if s == "" || strings.Trim(s, "0123456789.eE+-") != "" || s[0] == '+' || strings.HasSuffix(s, ".") || strings.Contains(strings.ToLower(s), ".e") {
		return false
	}
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && f >= 0
}
