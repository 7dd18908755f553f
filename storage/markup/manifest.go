package markup

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// members are the references of a web manifest by their path; "[]" is an element of an array.
var members = map[string]Role{
	"start_url":                   Link,
	"scope":                       Service,
	"icons[].src":                 Embed,
	"screenshots[].src":           Embed,
	"shortcuts[].url":             Link,
	"shortcuts[].icons[].src":     Embed,
	"splash_pages":                Embed,
	"share_target.action":         Service,
	"file_handlers[].action":      Service,
	"file_handlers[].icons[].src": Embed,
	"protocol_handlers[].url":     Service,
	"note_taking.new_note_url":    Service,
	"widgets[].icons[].src":       Embed,
	"widgets[].screenshots[].src": Embed,
}

// maxNested bounds the nesting of a manifest.
const maxNested = 64

// manifest finds the references of a web manifest.
type manifest struct {
	doc
	text string
	dec  *json.Decoder
	path []step
	to   sink
}

// step is an open object or array.
type step struct {
	object bool
	key    string // of the current member
	value  bool   // a value comes next, in an object
}

var errNested = errors.New("nested too deep")

func (m *manifest) run() error {
	m.self = true
	m.dec = json.NewDecoder(strings.NewReader(m.text))
	m.dec.UseNumber()
	for m.err == nil {
		before := int(m.dec.InputOffset())
		token, err := m.dec.Token()
		if err == io.EOF && len(m.path) > 0 {
			return io.ErrUnexpectedEOF
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := m.token(token, before); err != nil {
			return err
		}
	}
	return nil
}

func (m *manifest) token(token json.Token, before int) error {
	switch d, _ := token.(json.Delim); d {
	case '{', '[':
		if len(m.path) == maxNested {
			return errNested
		}
		m.path = append(m.path, step{object: d == '{'})
		return nil
	case '}', ']':
		m.path = m.path[:len(m.path)-1]
		m.valueRead()
		return nil
	}
	text, isText := token.(string)
	if n := len(m.path); n > 0 && m.path[n-1].object && !m.path[n-1].value {
		m.path[n-1].key, m.path[n-1].value = text, true
		return nil
	}
	if isText {
		m.str(text, before)
	}
	m.valueRead()
	return nil
}

func (m *manifest) valueRead() {
	if n := len(m.path); n > 0 {
		m.path[n-1].value = false
	}
}

// str visits a string value, whose token begins after before.
func (m *manifest) str(text string, before int) {
	path := m.where()
	role, ok := members[path]
	if !ok {
		return
	}
	end := int(m.dec.InputOffset())
	start := before + strings.IndexByte(m.text[before:end], '"')
	if new, replace := m.replace(Ref{Raw: text, Element: path, Attr: path[strings.LastIndexByte(path, '.')+1:],
		Role: role}); replace {
		m.to(edit{start, end, jsonString(new)})
	}
}

func (m *manifest) where() string {
	if len(m.path) > 6 {
		return "" // deeper than any reference
	}
	var b strings.Builder
	for i, s := range m.path {
		switch {
		case !s.object:
			b.WriteString("[]")
		case i > 0:
			b.WriteByte('.')
			fallthrough
		default:
			b.WriteString(s.key)
		}
	}
	return b.String()
}

func jsonString(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
