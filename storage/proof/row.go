package proof

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage"
	"curtsy/storage/ledger"
)

// Row is an entry of a log: its index, and its line in the public form.
type Row struct {
	Index  int64
	Public []byte
}

// The parts of a row as lines.jsonl and marks.jsonl have it: {"index":N,"line":OBJECT}.
var (
	rowStart = []byte(`{"index":`)
	rowLine  = []byte(`,"line":`)
	saltKey  = []byte(`,"salt":"`) // what follows leads to other sites, and no bundle has it
)

func (r Row) append(b []byte) []byte {
	b = strconv.AppendInt(append(b, rowStart...), r.Index, 10)
	return append(append(append(b, rowLine...), r.Public...), "}\n"...)
}

var errRow = errors.New(`not a row of the form {"index":N,"line":{…}}`)

// parseRow reads what append wrote, in that one way. The line is a part of b.
func parseRow(b []byte) (r Row, err error) {
	digits, line, ok := bytes.Cut(bytes.TrimPrefix(b, rowStart), rowLine)
	if !ok || !bytes.HasPrefix(b, rowStart) || !bytes.HasSuffix(line, []byte("}")) {
		return r, errRow
	}
	r.Index, err = strconv.ParseInt(string(digits), 10, 64)
	r.Public = line[:len(line)-1]
	if err != nil || r.Index < 0 || strconv.FormatInt(r.Index, 10) != string(digits) || !json.Valid(r.Public) || !utf8.Valid(r.Public) {
		return r, errRow
	}
	if bytes.Contains(r.Public, saltKey) {
		return r, fmt.Errorf("entry %d is not in its public form", r.Index)
	}
	if err := storage.CheckForm(r.Public); err != nil {
		return r, fmt.Errorf("entry %d: %w", r.Index, err)
	}
	return r, nil
}

// hash is the entry hash, which a stub states.
func (r Row) hash() (tlog.Hash, error) {
	_, _, err := ledger.ParseStub(r.Public)
	return hashOf(r.Public), err
}

// mark is a mark of a log, and the index of its entry.
type mark struct {
	*ledger.Mark
	index int64
}

func parseMark(r Row) (*mark, error) {
	m, err := ledger.ParseMark(r.Public)
	if err != nil {
		return nil, fmt.Errorf("not a mark of the ledger: %w", err)
	}
	return &mark{m, r.Index}, nil
}

// eachRow reads rows up to the end. Their indexes ascend, and are those of a tree of that size.
func eachRow(in io.Reader, name string, size int64, f func(Row) error) error {
	before, n := int64(-1), 0
	return eachJSONL(in, name, func(b []byte) error {
		r, err := parseRow(b)
		switch n++; {
		case err != nil:
			return err
		case n > maxRows:
			return fmt.Errorf("there are more than %d", maxRows)
		case r.Index <= before:
			return fmt.Errorf("index %d does not follow %d: indexes ascend", r.Index, before)
		case r.Index >= size:
			return fmt.Errorf("index %d is not in a log of %d entries", r.Index, size)
		}
		before = r.Index
		return f(r)
	})
}

// eachJSONL calls f with each line of a member. The bytes are valid until it returns.
func eachJSONL(in io.Reader, name string, f func([]byte) error) error {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 64<<10), maxRow)
	s.Split(whole)
	n := 0
	for s.Scan() {
		n++
		if err := f(s.Bytes()); err != nil {
			return fmt.Errorf("%s line %d: %w", name, n, err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s after line %d: %w", name, n, err)
	}
	return nil
}

var errNoEnd = errors.New("its last line has no end")

// whole splits at newlines, and takes nothing behind the last one.
func whole(data []byte, end bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if end && len(data) > 0 {
		return 0, nil, errNoEnd
	}
	return 0, nil, nil
}

// indexed are the hashes of entries, by their indexes, which ascend.
type indexed struct {
	indexes []int64
	hashes  []tlog.Hash
}

func (x *indexed) add(r Row) (tlog.Hash, error) {
	h, err := r.hash()
	x.indexes, x.hashes = append(x.indexes, r.Index), append(x.hashes, h)
	return h, err
}

// with merges two lists. An index that both have is an error.
func (x *indexed) with(y *indexed) (*indexed, error) {
	n := len(x.indexes) + len(y.indexes)
	all := &indexed{make([]int64, 0, n), make([]tlog.Hash, 0, n)}
	for i, j := 0, 0; i < len(x.indexes) || j < len(y.indexes); {
		from, k := x, &i
		switch {
		case i == len(x.indexes):
			from, k = y, &j
		case j < len(y.indexes) && x.indexes[i] == y.indexes[j]:
			return nil, fmt.Errorf("entry %d is a mark and a line at once", x.indexes[i])
		case j < len(y.indexes) && y.indexes[j] < x.indexes[i]:
			from, k = y, &j
		}
		all.indexes, all.hashes = append(all.indexes, from.indexes[*k]), append(all.hashes, from.hashes[*k])
		*k++
	}
	return all, nil
}

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
