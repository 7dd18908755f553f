package tables

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestCheck_RejectsInvalidRows(t *testing.T) {
	table := &Table{Name: "x", Columns: []Column{{Name: "a", Required: true}, {Name: "b", Kind: Int64}}}
	for rule, c := range map[string]struct {
		r    Row
		says string
	}{
		"too short":     {Row{Text("")}, "1 values"},
		"too long":      {Row{Text(""), Null(), Null()}, "3 values"},
		"null":          {Row{Null(), Null()}, "x.a is null"},
		"another kind":  {Row{Text(""), Int(1)}, "x.b is a int32"},
		"the zero kind": {Row{Text(""), {}}, "x.b is a string"},
	} {
		err := table.Check(c.r)
		assert.Truef(t, err != nil && strings.Contains(err.Error(), c.says), "%s: %v", rule, err)
	}
	for _, r := range []Row{{Text(""), Null()}, {Text("x"), Long(1)}} {
		assert.NoError(t, table.Check(r))
	}
}

func TestRowsAreOrderedByTheirKey(t *testing.T) {
	keys := []int{2, 0}
	rows := []Row{
		{Long(1), Text("z"), Null()},
		{Long(2), Text("y"), Null()},
		{Long(-1), Text("x"), Text("")},
		{Long(math.MinInt64), Text("w"), Text("B")},
		{Long(math.MaxInt64), Text("v"), Text("B")},
		{Long(0), Text("u"), Text("a")},
		{Long(0), Text("t"), Text("é")},
		{Long(0), Text("s"), Text("\U0001d11e")},
	}
	for i, a := range rows {
		for k, b := range rows {
			got := Keyed(keys, a, b)
			assert.Truef(t, (got < 0) == (i < k) && (got > 0) == (i > k), "row %d to row %d: %d", i, k, got)
		}
	}
	assert.Equal(t, 0, Keyed(nil, rows[0], rows[1]), "a table without a key has an order")
}

func TestValues_FitEveryFormat(t *testing.T) {
	for rule, v := range map[string]Value{
		"NaN": Float(math.NaN()), "infinity": Float(math.Inf(-1)), "no instant": Instant(time.Time{}),
		"a year of five digits": Instant(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)),
		"a year before 0":       Instant(time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)),
		"a year that UTC has":   Instant(time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200))),
		"nothing":               Some(""),
	} {
		assert.Truef(t, v.IsNull(), "%s is %v", rule, v)
	}
	assert.Equal(t, "a\uFFFDb\uFFFD", Text("a\xffb\xed\xa0\x80").Text())
	list := Texts([]string{"\xff", "x"}).List()
	assert.Truef(t, list[0] == "\uFFFD" && list[1] == "x", "%q", list)
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901999, time.FixedZone("", 3600))
	got := Instant(at).Time()
	assert.True(t, got.Equal(at.Truncate(time.Microsecond)) && got.Location() == time.UTC, got)
}
