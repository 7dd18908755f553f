package status

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The first rows are those of the whole, sorted.
func TestTheFirstRowsAreThoseOfAll(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rows := make([]Row, 500)
	all := make([]*Row, len(rows))
	for i := range rows {
		rows[i] = Row{Host: fmt.Sprintf("http://h%03d.test", i*37%len(rows)), Pending: random.Int64N(20)}
		all[i] = &rows[i]
	}
	for _, q := range []Query{{}, {Sort: "host", Up: true}, {Sort: "pending", Up: true}} {
		want := slices.Clone(all)
		slices.SortFunc(want, q.order())
		for _, most := range []int{1, 7, 50, 499, 500, 501, 2000} {
			f := firsts{most: most, less: q.order()}
			for _, r := range all {
				f.add(r)
			}
			got := f.sorted()
			same := func(a, b *Row) bool { return a.Host == b.Host && a.Pending == b.Pending }
			assert.Truef(t, slices.EqualFunc(got, want[:min(most, len(want))], same), "%+v: the first %d of %d are others", q, most, len(all))
		}
	}
}
