package robots

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sampleStates() []State {
	all := []State{{}}
	s := State{}
	at := noon
	long := "/" + strings.Repeat("x", maxURL-60)
	for _, ex := range []Exchange{
		moveTo("https://a.test" + long),
		moveTo("http://b.test" + long),
		{Status: 200, Body: append([]byte(byteOrderMark), rules...), Header: fields("Etag", strings.Repeat("e", maxValidator), "Last-Modified", strings.Repeat("m", maxValidator))},
		{Failure: strings.Repeat("f", 1000)},
		moveTo("https://c.test" + long),
		moveTo("https://d.test" + long),
		{Status: 503, Header: fields("Retry-After", "86400")},
		{Status: 404},
		{Status: 999},
	} {
		s, _ = Next(s, site, ex, at)
		all = append(all, s)
		at = at.Add(25 * time.Hour / 2)
	}
	draft := Terms{Standard: Draft1996}
	for i := range maxHops {
		s, _ = draft.Next(s, site, moveTo(fmt.Sprintf("https://h%d.test%s", i, long)), at)
	}
	all = append(all, s)
	s, _ = draft.Next(s, site, Exchange{Status: 403}, at)
	return append(all, s)
}

func TestStateComesBackFromStorage(t *testing.T) {
	for i, s := range sampleStates() {
		b, err := s.AppendBinary([]byte("before"))
		require.NoError(t, err)
		require.Truef(t, bytes.HasPrefix(b, []byte("before")), "state %d: %q", i, b)
		b = b[len("before"):]
		assert.LessOrEqualf(t, len(b), MaxState, "state %d: %d octets, want at most %d", i, len(b), MaxState)
		var back State
		err = back.UnmarshalBinary(b)
		assert.Truef(t, err == nil && back == s, "state %d: %+v came back as %+v, %v", i, s, back, err)
		for n := 1; n < len(b); n++ {
			require.Errorf(t, back.UnmarshalBinary(b[:n]), "state %d: the first %d of %d octets are accepted", i, n, len(b))
		}
		assert.Errorf(t, back.UnmarshalBinary(append(b, 0)), "state %d: an octet too many is accepted", i)
	}
}

func TestStateRefusesGarbage(t *testing.T) {
	good, _ := sampleStates()[3].AppendBinary(nil)
	for name, change := range map[string]func(b []byte) []byte{
		"another version":      func(b []byte) []byte { b[0]++; return b },
		"an unknown kind":      func(b []byte) []byte { b[1] = byte(kinds); return b },
		"unknown flags":        func(b []byte) []byte { b[2] = byte(flagsEnd); return b },
		"unknown bits":         func(b []byte) []byte { b[3] |= 4; return b },
		"rules without a body": func(b []byte) []byte { b[3] &^= 1; return b[:len(b)-32] },
		"text":                 func([]byte) []byte { return []byte("\x01state of mind") },
	} {
		var s State
		err := s.UnmarshalBinary(change(bytes.Clone(good)))
		assert.Truef(t, err != nil && s == (State{}), "%s: %v, %+v", name, err, s)
	}
	s := sampleStates()[3]
	err := s.UnmarshalBinary(nil)
	assert.Truef(t, err == nil && s == (State{}), "nothing at all is the zero State: %+v, %v", s, err)
}
