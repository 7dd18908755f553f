package markup

import "strings"

const space = " \t\n\f\r" // ASCII white space (Infra Standard 4.6)

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' && c != '\v' }

// strip removes the white space that HTML allows around a URL (HTML Standard 2.4.1).
func strip(s string) string { return strings.Trim(s, space) }
