package sink

import (
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
)

// boundLength is how many bytes of a string stand in the statistics of a column. The library would keep the least and
// the greatest string of each row group whole, in memory and at the end of the file: of texts, the largest of the crawl.
const boundLength = 256

// bounded is the type of strings whose statistics are short: bounds that are no values of the column, as Parquet allows.
type bounded struct{ parquet.Type }

// NewColumnBuffer implements parquet.Type.
func (b bounded) NewColumnBuffer(column, values int) parquet.ColumnBuffer {
	return boundedBuffer{b.Type.NewColumnBuffer(column, values)}
}

type boundedBuffer struct{ parquet.ColumnBuffer }

// Page implements parquet.ColumnBuffer.
func (b boundedBuffer) Page() parquet.Page { return boundedPage{b.ColumnBuffer.Page()} }

type boundedPage struct{ parquet.Page }

// Bounds implements parquet.Page.
func (b boundedPage) Bounds() (least, greatest parquet.Value, ok bool) {
	least, greatest, ok = b.Page.Bounds()
	if !ok {
		return least, greatest, false
	}
	above, ok := atMost(greatest.ByteArray())
	return parquet.ByteArrayValue(atLeast(least.ByteArray())), parquet.ByteArrayValue(above), ok
}

// atLeast is a short string that is not above s.
func atLeast(s []byte) []byte {
	if len(s) <= boundLength {
		return s
	}
	return s[:boundary(s)]
}

// atMost is a short string that is not below s, if there is one: s up to a character that has a next one.
func atMost(s []byte) (above []byte, ok bool) {
	if len(s) <= boundLength {
		return s, true
	}
	for end := boundary(s); end > 0; {
		r, n := utf8.DecodeLastRune(s[:end])
		end -= n
		switch {
		case r == utf8.MaxRune:
			continue
		case r == 0xd7ff: // what follows is half of a pair, and no character
			r = 0xdfff
		}
		return utf8.AppendRune(append([]byte(nil), s[:end]...), r+1), true
	}
	return nil, false
}

// boundary is where the last character ends that fits.
func boundary(s []byte) int {
	end := boundLength
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return end
}
