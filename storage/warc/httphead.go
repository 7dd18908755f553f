package warc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"curtsy/storage/mediatype"
)

// AppendHead appends the head of an HTTP message that in begins with to b: all up to the empty line, or, where complete is
// false, the first octets of the message, at most a little more than MaxHTTPHead. An error is one of reading.
func AppendHead(b []byte, in *bufio.Reader) (head []byte, complete bool, err error) {
	for goesOn, from := false, len(b); !complete && len(b)-from < MaxHTTPHead; {
		line, err := in.ReadSlice('\n')
		b = append(b, line...)
		complete = err == nil && !goesOn && len(bytes.TrimRight(line, "\r\n")) == 0
		goesOn = err != nil
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return b, false, err
		}
	}
	return b, complete, nil
}

// EachField calls f with each field of the head of an HTTP message, as far as it is there: its name as written, and its
// value without white space around it. A value that goes on in further lines (RFC 9112 5.2) has a space between them. Lines
// without a colon, and those with white space right behind the first line (RFC 9112 2.2), are passed over. f keeps nothing
// of what it is given.
func EachField(head []byte, f func(name, value []byte)) {
	_, rest, _ := bytes.Cut(head, []byte("\n"))
	for len(rest) > 0 {
		var line []byte
		if line, rest, _ = bytes.Cut(rest, []byte("\n")); len(bytes.TrimRight(line, "\r")) == 0 {
			return
		}
		stray := line[0] == ' ' || line[0] == '\t'
		name, value, ok := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		value = value[:len(value):len(value)] // what is appended leaves the head as it is
		for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
			line, rest, _ = bytes.Cut(rest, []byte("\n"))
			value = append(append(value, ' '), bytes.TrimSpace(line)...)
		}
		if ok && !stray {
			f(name, bytes.TrimSpace(value))
		}
	}
}

// StatusAndType reads the status and the media type of an HTTP response's head, for an index: what is not there or
// cannot be read is 0 and "". It keeps nothing of b.
func StatusAndType(b []byte) (status int, media string) {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	if v, after, ok := bytes.Cut(line, []byte(" ")); ok && bytes.HasPrefix(v, []byte("HTTP/")) {
		if after = bytes.TrimLeft(after, " "); len(after) >= 3 && digits(after[:3]) && (len(after) == 3 || after[3] <= ' ') {
			status = int(after[0]-'0')*100 + int(after[1]-'0')*10 + int(after[2]-'0')
		}
	}
	var types []byte
	EachField(b, func(name, value []byte) {
		switch {
		case !bytes.EqualFold(bytes.TrimRight(name, " \t"), []byte("Content-Type")):
		case types == nil:
			types = value
		default:
			types = slices.Concat(types, []byte(", "), value)
		}
	})
	return status, mediatype.Name(types)
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
