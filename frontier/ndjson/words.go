package ndjson

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"curtsy/frontier"
)

// text is a string that need not be UTF-8: JSON would alter it.
type text string

type octets struct {
	Octets []byte `json:"octets"`
}

func (t text) MarshalJSON() ([]byte, error) {
	if !utf8.ValidString(string(t)) {
		return json.Marshal(octets{[]byte(t)})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(string(t))
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var o octets
		err := json.Unmarshal(b, &o)
		*t = text(o.Octets)
		return err
	}
	var s string
	err := json.Unmarshal(b, &s)
	*t = text(s)
	return err
}

// span is a duration, written as Go writes it: exact, and readable.
type span time.Duration

func (d span) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *span) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = span(v)
	return err
}

// print is a fingerprint in hexadecimal: JSON numbers above 2⁵³ are not safe with every reader.
type print frontier.Fingerprint

func (p print) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(p)), nil }

func (p *print) UnmarshalText(b []byte) error {
	var raw [8]byte
	if n, err := hex.Decode(raw[:], b[:min(len(b), 16)]); err != nil || n != 8 || len(b) != 16 {
		return fmt.Errorf("fingerprint %.40q is not 16 hexadecimal digits", b)
	}
	*p = 0
	for _, o := range raw {
		*p = *p<<8 | print(o)
	}
	if *p == 0 {
		return errors.New("no fingerprint is zero")
	}
	return nil
}

func (s state) MarshalText() ([]byte, error) {
	switch {
	case s.deferred && s.outcome == 0:
		return []byte("deferred"), nil
	case s.outcome == 0:
		return []byte("queued"), nil
	case s.deferred:
		return nil, fmt.Errorf("no state %+v", s)
	}
	return s.outcome.MarshalText()
}

func (s *state) UnmarshalText(b []byte) error {
	switch string(b) {
	case "queued":
		*s = state{}
		return nil
	case "deferred":
		*s = state{deferred: true}
		return nil
	}
	*s = state{}
	if s.outcome.UnmarshalText(b) != nil {
		return fmt.Errorf("no state %.40q", b)
	}
	return nil
}

// sums are numbers by name, where the name may be any bytes: a list, in the order of the names.
type sums map[string]int64

type sum struct {
	Name text  `json:"name"`
	N    int64 `json:"n"`
}

func (s sums) MarshalJSON() ([]byte, error) {
	list := make([]sum, 0, len(s))
	for name, n := range s {
		list = append(list, sum{text(name), n})
	}
	slices.SortFunc(list, func(a, b sum) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return json.Marshal(list)
}

func (s *sums) UnmarshalJSON(b []byte) error {
	var list []sum
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*s = sums{}
	for _, one := range list {
		(*s)[string(one.Name)] += one.N
	}
	return nil
}
