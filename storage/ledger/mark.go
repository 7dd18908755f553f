package ledger

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Schema is the version of the schema that is written.
const Schema = 2

// The kinds of marks.
const (
	KindBegin = "begin" // a segment begins
	KindRun   = "run"   // a run of the crawl begins
	KindHead  = "head"  // everything up to here, in one hash, signed if there is a key
)

// Why there is a head.
const (
	WhySegment = "segment" // its segment is complete
	WhyEnd     = "end"     // the run ended in good order
)

// Mark is a line that is no decision. Which fields it has depends on its kind.
type Mark struct {
	Kind     string
	Schema   int       // begin
	Segment  int       // begin, head
	Lines    int64     // begin, head: decisions before it, in all chained segments
	Before   Hash      // begin: the running hash before it
	Software string    // begin: name/version; may be empty
	Time     time.Time // run, head
	Cut      int64     // run: bytes that were cut off because a kill had torn a line
	Warcinfo string    // run: the SHA-256 of the block of its warcinfo records, in hexadecimal digits; may be empty
	Why      string    // head

	Key   ed25519.PublicKey // head: nil when it is not signed
	Sig   []byte            // head: of Chain, by Key
	Chain Hash              // the running hash with this mark
}

type markJSON struct {
	Mark     string    `json:"mark"`
	Schema   int       `json:"schema"`
	Segment  int       `json:"segment"`
	Lines    int64     `json:"lines"`
	Before   *Hash     `json:"before"`
	Software string    `json:"software"`
	Time     time.Time `json:"time"`
	Cut      int64     `json:"cut"`
	Warcinfo string    `json:"warcinfo_sha256"`
	Why      string    `json:"why"`
	Key      string    `json:"key"`
}

const timeForm = "2006-01-02T15:04:05.000000Z"

// appendMark appends m as an object without its chain part.
func appendMark(b []byte, m Mark) []byte {
	b = append(append(append(b, `{"mark":"`...), m.Kind...), '"')
	if m.Kind != KindBegin {
		b = m.Time.UTC().AppendFormat(append(b, `,"time":"`...), timeForm)
		b = append(b, '"')
	}
	switch m.Kind {
	case KindBegin:
		b = strconv.AppendInt(append(b, `,"schema":`...), int64(m.Schema), 10)
		b = strconv.AppendInt(append(b, `,"segment":`...), int64(m.Segment), 10)
		b = strconv.AppendInt(append(b, `,"lines":`...), m.Lines, 10)
		b = hex.AppendEncode(append(b, `,"before":"`...), m.Before[:])
		b = append(b, '"')
		if m.Software != "" {
			name, _ := json.Marshal(m.Software) // a string always can
			b = append(append(b, `,"software":`...), name...)
		}
	case KindRun:
		b = strconv.AppendInt(append(b, `,"cut":`...), m.Cut, 10)
		if m.Warcinfo != "" {
			b = append(append(append(b, `,"warcinfo_sha256":"`...), m.Warcinfo...), '"')
		}
	case KindHead:
		b = append(append(append(b, `,"why":"`...), m.Why...), '"')
		b = strconv.AppendInt(append(b, `,"segment":`...), int64(m.Segment), 10)
		b = strconv.AppendInt(append(b, `,"lines":`...), m.Lines, 10)
		if m.Key != nil {
			b = hex.AppendEncode(append(b, `,"key":"`...), m.Key)
			b = append(b, '"')
		}
	}
	return append(b, '}')
}

var markStart = []byte(`{"mark":"`)

// isMark reports whether a line is meant as a mark.
func isMark(line []byte) bool { return bytes.HasPrefix(line, markStart) }

func parseMark(line []byte, s sealed) (*Mark, error) {
	var j markJSON
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, err
	}
	m := &Mark{Kind: j.Mark, Schema: j.Schema, Segment: j.Segment, Lines: j.Lines, Software: j.Software, Time: j.Time,
		Cut: j.Cut, Warcinfo: j.Warcinfo, Why: j.Why, Sig: s.sig}
	if len(s.stated) != len(m.Chain) {
		return nil, fmt.Errorf("a mark states all of the running hash")
	}
	copy(m.Chain[:], s.stated)
	switch {
	case m.Kind == KindBegin && j.Before == nil:
		return nil, fmt.Errorf("before is missing")
	case m.Kind == KindBegin:
		m.Before = *j.Before
	case m.Kind == KindRun:
		if m.Warcinfo != "" && !isDigest(m.Warcinfo) {
			return nil, fmt.Errorf("warcinfo_sha256 is none")
		}
	case m.Kind == KindHead:
		if m.Why != WhySegment && m.Why != WhyEnd {
			return nil, fmt.Errorf("a head of why %.80q is not known", m.Why)
		}
		key, err := hex.DecodeString(j.Key)
		if err != nil || len(key) != 0 && len(key) != ed25519.PublicKeySize || (len(key) == 0) != (m.Sig == nil) {
			return nil, fmt.Errorf("key and signature do not go together")
		}
		if len(key) > 0 {
			m.Key = key
		}
	default:
		return nil, fmt.Errorf("a mark %.80q is not known", m.Kind)
	}
	return m, nil
}

// isDigest reports whether s is a SHA-256 in hexadecimal digits.
func isDigest(s string) bool {
	return len(s) == longHex && strings.Trim(s, "0123456789abcdef") == ""
}

// Signed reports whether m is a head whose signature is right.
func (m *Mark) Signed() bool {
	return len(m.Key) == ed25519.PublicKeySize && len(m.Sig) == ed25519.SignatureSize &&
		ed25519.Verify(m.Key, m.Chain.message(), m.Sig)
}
