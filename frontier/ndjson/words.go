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

var (
	kindNames      = []string{"", "seed", "link", "redirect", "embed", "sitemap", "map", "script"}
	conditionNames = []string{"open", "parked", "retired", "refused"}
	actNames       = []string{"", "park", "drop"}
)

// name writes a number that has a name, and number reads it.
func name(names []string, n uint8, what string) ([]byte, error) {
	if int(n) >= len(names) || names[n] == "" {
		return nil, fmt.Errorf("no %s %d", what, n)
	}
	return []byte(names[n]), nil
}

func number(names []string, b []byte, what string) (uint8, error) {
	i := slices.Index(names, string(b))
	if i < 0 || len(b) == 0 {
		return 0, fmt.Errorf("no %s %.40q", what, b)
	}
	return uint8(i), nil
}

type kind frontier.Kind

func (k kind) MarshalText() ([]byte, error) { return name(kindNames, uint8(k), "kind") }
func (k *kind) UnmarshalText(b []byte) error {
	n, err := number(kindNames, b, "kind")
	*k = kind(n)
	return err
}

type condition frontier.Condition

func (c condition) MarshalText() ([]byte, error) { return name(conditionNames, uint8(c), "condition") }
func (c *condition) UnmarshalText(b []byte) error {
	n, err := number(conditionNames, b, "condition")
	*c = condition(n)
	return err
}

type act frontier.Act

func (a act) MarshalText() ([]byte, error) { return name(actNames, uint8(a), "act") }
func (a *act) UnmarshalText(b []byte) error {
	n, err := number(actNames, b, "act")
	*a = act(n)
	return err
}

func (s state) MarshalText() ([]byte, error) {
	switch {
	case s.deferred && s.outcome == 0:
		return []byte("deferred"), nil
	case s.outcome == 0:
		return []byte("queued"), nil
	case int(s.outcome) >= len(frontier.Outcomes{}) || s.deferred:
		return nil, fmt.Errorf("no state %+v", s)
	}
	return []byte(s.outcome.String()), nil
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
	o, err := outcome(string(b))
	*s = state{outcome: o}
	return err
}

// outcome reads what Outcome.String writes.
func outcome(s string) (frontier.Outcome, error) {
	for o := frontier.Outcome(1); int(o) < len(frontier.Outcomes{}); o++ {
		if o.String() == s {
			return o, nil
		}
	}
	return 0, fmt.Errorf("no state %.40q", s)
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
