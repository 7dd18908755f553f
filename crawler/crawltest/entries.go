package crawltest

import (
	"iter"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Entry is a part of a web that is written as text: a site after "== ", a resource after "-- ". The words of that line
// are followed by lines "Name: value", by an empty line, and by the body, up to the next entry. Lines that begin with
// "#" in front of the body are comments.
type Entry struct {
	Site   bool
	Words  []string
	Fields [][2]string
	Body   string
}

// Entries returns the entries of a text, in its order.
func Entries(text string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		var e Entry
		in := false // the body
		for line := range strings.Lines(text) {
			mark, words, _ := strings.Cut(strings.TrimSpace(line), " ")
			name, value, field := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch {
			case mark == "==" || mark == "--":
				if e.Words != nil && !yield(e) {
					return
				}
				e, in = Entry{Site: mark == "==", Words: strings.Fields(words)}, false
			case in:
				e.Body += line
			case line == "\n":
				in = true
			case field && !strings.HasPrefix(line, "#"):
				e.Fields = append(e.Fields, [2]string{name, value})
			}
		}
		if e.Words != nil {
			yield(e)
		}
	}
}

// Field returns the value of a field, the quotes of a Go string taken off, or nothing.
func (e *Entry) Field(name string) string {
	for _, f := range e.Fields {
		if f[0] == name {
			return unquoted(f[1])
		}
	}
	return ""
}

func unquoted(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

// Page returns the resource that e describes.
func (e *Entry) Page() Page {
	p := Page{Body: e.Body}
	e.Fill(&p)
	return p
}

// Fill sets the fields of a struct by their names. Lists are separated by blanks. It panics on a value that does not
// fit: the texts are ours.
func (e *Entry) Fill(to any) {
	for _, f := range e.Fields {
		field := reflect.ValueOf(to).Elem().FieldByName(f[0])
		if !field.IsValid() {
			continue
		}
		value, err := unquoted(f[1]), error(nil)
		switch at := field.Addr().Interface().(type) {
		case *string:
			*at = value
		case *[]string:
			*at = append(*at, strings.Fields(value)...)
		case *map[string]string:
			name, text, _ := strings.Cut(value, ": ")
			if *at == nil {
				*at = map[string]string{}
			}
			(*at)[name] = text
		case *bool:
			*at, err = strconv.ParseBool(value)
		case *int:
			*at, err = strconv.Atoi(value)
		case *int64:
			*at, err = strconv.ParseInt(value, 10, 64)
		case *time.Duration:
			*at, err = time.ParseDuration(value)
		}
		if err != nil {
			panic(err)
		}
	}
}
