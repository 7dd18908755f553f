package proof

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
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

	markStart = []byte(`{"mark":"`)
	stubStart = []byte(`{"redacted":`)
	saltKey   = []byte(`,"salt":"`) // what follows leads to other sites, and no bundle has it
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

// isMark reports whether a line is a mark of the ledger.
func (r Row) isMark() bool { return bytes.HasPrefix(r.Public, markStart) }

// isStub reports whether a line stands in the place of one that was forgotten.
func (r Row) isStub() bool { return bytes.HasPrefix(r.Public, stubStart) }

// hash is the entry hash, which a stub states.
func (r Row) hash() (h tlog.Hash, err error) {
	if !r.isStub() {
		return tree.EntryHash(r.Public), nil
	}
	var s struct {
		Redacted string `json:"redacted"`
	}
	if json.Unmarshal(r.Public, &s) != nil || len(s.Redacted) != 2*len(h) || string(r.Public) != `{"redacted":"`+s.Redacted+`"}` {
		return h, errors.New("not a stub of a line")
	}
	if _, err := hex.Decode(h[:], []byte(s.Redacted)); err != nil {
		return h, errors.New("not a stub of a line")
	}
	return h, nil
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

// parseHash reads a hash in lower case digits.
func parseHash(s string) (h hostmap.Hash, err error) {
	if !isDigest(s) {
		return h, fmt.Errorf("%.80q is not a SHA-256 in hexadecimal", s)
	}
	_, err = hex.Decode(h[:], []byte(s))
	return h, err
}

// isDigest reports whether s is a SHA-256 in hexadecimal digits.
func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

func hexes[H ~[32]byte](hs []H) []string {
	all := make([]string, len(hs)) // an empty list is [] in JSON
	for i, h := range hs {
		all[i] = hex.EncodeToString(h[:])
	}
	return all
}
