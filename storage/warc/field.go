package warc

import "strings"

// Field is a named field of a record, or of the block of a warcinfo record.
type Field struct{ Name, Value string }

// Fields are named fields in their order. Names are compared without regard to case (WARC 1.1, 4).
type Fields []Field

// Get returns the value of the first field of that name, or "".
func (fs Fields) Get(name string) string {
	for _, f := range fs {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Values returns the values of all fields of that name.
func (fs Fields) Values(name string) []string {
	var vs []string
	for _, f := range fs {
		if strings.EqualFold(f.Name, name) {
			vs = append(vs, f.Value)
		}
	}
	return vs
}

// names are those that most records have: they need no memory of their own.
var names = func() map[string]string {
	all := map[string]string{}
	for _, name := range []string{
		"WARC-Type", "WARC-Record-ID", "WARC-Date", "WARC-Filename", "WARC-Target-URI", "WARC-Warcinfo-ID",
		"WARC-Concurrent-To",
		"WARC-Profile", "WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-IP-Address",
		"WARC-Protocol",
		"WARC-Block-Digest", "WARC-Payload-Digest", "WARC-Truncated", "Content-Type", "Content-Length",
	} {
		all[name] = name
	}
	return all
}()

// nameOf returns a field's name as it is written.
func nameOf(b []byte) string {
	if name, ok := names[string(b)]; ok {
		return name
	}
	return string(b)
}

// token reports whether s can be a field name: the token of WARC 1.1, 4.
func token(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// solid reports whether s is free of white space and control characters, so that it cannot end its line.
func solid(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f {
			return false
		}
	}
	return true
}
