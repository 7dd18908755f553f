package ledger

import (
	"fmt"
	"iter"
)

// Text is a line as it stands, without its newline, and the index of its entry. It is valid until the next.
type Text struct {
	Index int64
	Line  []byte
}

// Texts are all lines of the ledger in dir, marks and stubs among them. Nothing is parsed but the marks that segments begin
// with, and nothing is checked: it is for those who hold the lines against a checkpoint themselves. An unfinished last
// line is not there. An error is the last.
func Texts(dir string) iter.Seq2[Text, error] {
	return func(yield func(Text, error) bool) {
		numbers, err := segments(dir)
		more := true
		for i := 0; err == nil && i < len(numbers); i++ {
			err = eachLine(dir, numbers[i], func(index int64, line []byte) error {
				if more = yield(Text{index, line}, nil); !more {
					return errEnough
				}
				return nil
			})
		}
		if err != nil && more {
			yield(Text{}, fmt.Errorf("ledger: read: %w", err))
		}
	}
}
