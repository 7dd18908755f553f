package sorted

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// Rows sorts values by their keys, which contain no zero byte. Those of one key keep the order in which they were added.
// A value is encoded as JSON.
type Rows[T any] struct {
	*Sorter
	n   uint64
	buf []byte
}

// Row is a value under its key.
type Row[T any] struct {
	Key   string
	Value T
}

// keySize is the length of the separator of a key and its value: a zero byte and the number of the row.
const keySize = 1 + 8

// NewRows returns Rows that hold limit bytes in memory, and the rest in files in dir, as New does.
func NewRows[T any](dir string, limit int) *Rows[T] { return &Rows[T]{Sorter: New(dir, limit)} }

// Add adds a value. A key with a zero byte is an error.
func (r *Rows[T]) Add(key string, v T) error {
	if strings.IndexByte(key, 0) >= 0 {
		return fmt.Errorf("sorted: key %.200q contains a zero byte", key)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("sorted: %w", err)
	}
	r.buf = append(append(r.buf[:0], key...), 0)
	r.buf = binary.BigEndian.AppendUint64(r.buf, r.n)
	r.n++
	return r.Sorter.Add(append(r.buf, b...))
}

// All returns all values in order. An error is the last.
func (r *Rows[T]) All() iter.Seq2[Row[T], error] {
	return func(yield func(Row[T], error) bool) {
		for b, err := range r.Sorter.All() {
			var row Row[T]
			if err == nil {
				end := bytes.IndexByte(b, 0)
				row.Key = string(b[:end])
				err = json.Unmarshal(b[end+keySize:], &row.Value)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}
