package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Head is what an exchange can show without its bodies, byte for byte as archived.
type Head struct {
	Request []byte // the whole request
	Answer  []byte // the head of the answer; empty without a complete one
}

// sum is what a line has as heads_sha256.
func (h Head) sum() string {
	s := sha256.New()
	s.Write(h.Request)
	s.Write(h.Answer)
	return hex.EncodeToString(s.Sum(nil))
}

// headEnd ends a request, which has no body.
var headEnd = []byte("\r\n\r\n")

// headJSON is a row of heads.jsonl. Each byte is one character, U+0000 to U+00FF (ISO 8859-1): people can read it, and
// every byte comes back.
type headJSON struct {
	Index   int64  `json:"index"`
	Request string `json:"request"`
	Answer  string `json:"answer"`
}

func (h Head) append(b []byte, index int64) ([]byte, error) {
	row, err := json.Marshal(headJSON{index, latin1(h.Request), latin1(h.Answer)})
	if err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	return append(append(b, row...), '\n'), nil
}

func parseHead(b []byte) (index int64, h Head, err error) {
	var j headJSON
	if err := plain(b); err != nil {
		return 0, h, err
	}
	if err := json.Unmarshal(b, &j); err != nil || !utf8.Valid(b) {
		return 0, h, errors.New("not a head of a request or response")
	}
	if h.Request, err = octets(j.Request); err != nil {
		return 0, h, err
	}
	if bytes.Index(h.Request, headEnd) != len(h.Request)-len(headEnd) { // the digest does not say where the answer begins
		return 0, h, errors.New("a request does not end with its empty line")
	}
	h.Answer, err = octets(j.Answer)
	return j.Index, h, err
}

func latin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

func octets(s string) ([]byte, error) {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return nil, errors.New("a head has a character above 0xFF")
		}
		b = append(b, byte(r))
	}
	return b, nil
}
