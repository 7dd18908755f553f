package evidence

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"os"

	"curtsy/robots/naive"
	"curtsy/storage/audit/finding"
)

// Store keeps the texts of robots.txt in a temporary file, each once, and what was read of some of them in memory.
type Store struct {
	f    *os.File
	n    int64
	at   map[[32]byte]Text
	used list.List // of *reading, the last used first
	by   map[readingKey]*list.Element
	size int
	asks map[readingKey]pace // by who reads; by RFC 9309 alone
}

// Text says where a text stands in the temporary file. The zero value is no text.
type Text struct {
	SHA256 [32]byte
	off    int64
	Length int32
	Known  bool
}

// readingKey is a text, and who reads it by which document.
type readingKey struct {
	sha             [32]byte
	token, standard string
}

// reading is what one crawler is told by a text.
type reading struct {
	key   readingKey
	rules *naive.Reading
	size  int
}

// pace is what a text asks for between two requests.
type pace struct {
	Delay float64 // seconds by Crawl-delay; 0 when it asks for none
	Rate  float64 // seconds by Request-rate; 0 when it asks for none
}

// maxReadings bounds the readings in memory, in bytes; maxTexts the texts that can be found by their digest alone.
const (
	maxReadings = 16 << 20
	maxPaces    = 1 << 16
	maxTexts    = 1 << 17
	maxSpill    = 1 << 30 // of the temporary file
)

func NewStore(dir string) (*Store, error) {
	f, err := os.CreateTemp(dir, "curtsy-audit-*")
	if err != nil {
		return nil, fmt.Errorf("audit: make a temporary file: %w", err)
	}
	return &Store{f: f, at: map[[32]byte]Text{}, by: map[readingKey]*list.Element{}, asks: map[readingKey]pace{}}, nil
}

func (t *Store) Close() {
	t.f.Close()           // it holds copies only
	os.Remove(t.f.Name()) // and is in the system's folder for what may be lost
}

// Put keeps a text, unless there are too many: then what it returns is no text.
func (t *Store) Put(body []byte) (Text, error) {
	sha := sha256.Sum256(body)
	if had, ok := t.at[sha]; ok {
		return had, nil
	}
	if t.n+int64(len(body)) > maxSpill {
		return Text{}, nil
	}
	at := Text{sha, t.n, int32(len(body)), true}
	if _, err := t.f.WriteAt(body, t.n); err != nil {
		return at, fmt.Errorf("audit: keep the text of a robots.txt: %w", err)
	}
	t.n += int64(len(body))
	if len(t.at) >= maxTexts {
		for k := range t.at { // any; hosts that it binds know where it is
			delete(t.at, k)
			break
		}
	}
	t.at[sha] = at
	return at, nil
}

// Find returns the text with that digest, unless it was forgotten.
func (t *Store) Find(sha [32]byte) Text { return t.at[sha] }

// body returns the bytes of a text.
func (t *Store) body(at Text) ([]byte, error) {
	b := make([]byte, at.Length)
	if _, err := t.f.ReadAt(b, at.off); err != nil {
		return nil, fmt.Errorf("audit: read the text of a robots.txt again: %w", err)
	}
	return b, nil
}

// reading returns what a crawler is told by a text.
func (t *Store) reading(at Text, token, standard string) (*reading, error) {
	k := readingKey{at.SHA256, token, standard}
	if e := t.by[k]; e != nil {
		t.used.MoveToFront(e)
		return e.Value.(*reading), nil
	}
	b, err := t.body(at)
	if err != nil {
		return nil, err
	}
	r := &reading{key: k, rules: naive.Read(standard, b, token)}
	r.size = r.rules.Size() + 300
	t.by[k] = t.used.PushFront(r)
	for t.size += r.size; t.size > maxReadings && t.used.Len() > 1; {
		last := t.used.Remove(t.used.Back()).(*reading)
		delete(t.by, last.key)
		t.size -= last.size
	}
	return r, nil
}

// Pace returns what a text asks a crawler to wait. It is kept for longer than a reading, for it is small, and asked for
// before each exchange.
func (t *Store) Pace(at Text, token string) (pace, error) {
	k := readingKey{at.SHA256, token, "rfc9309"}
	p, ok := t.asks[k]
	if ok {
		return p, nil
	}
	b, err := t.body(at)
	if err != nil {
		return p, err
	}
	p.Delay, _ = naive.Delay(b, token)
	p.Rate, _ = naive.Rate(b, token)
	if len(t.asks) >= maxPaces {
		clear(t.asks)
	}
	t.asks[k] = p
	return p, nil
}

// Line returns a line of a text, from 1, for the eye.
func (t *Store) Line(at Text, n int) string {
	b, err := t.body(at)
	if err != nil {
		return ""
	}
	for i, start, line := 0, 0, 1; ; i++ {
		if i < len(b) && b[i] != '\n' && b[i] != '\r' {
			continue
		}
		if line == n {
			return finding.Short(string(b[start:i]))
		}
		if i >= len(b) {
			return ""
		}
		if b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n' {
			i++
		}
		start, line = i+1, line+1
	}
}
