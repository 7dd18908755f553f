package proof

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

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
