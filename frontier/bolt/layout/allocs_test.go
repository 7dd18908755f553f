package layout

import (
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

func TestChecksum_IsThatOfTheThreeTogether(t *testing.T) {
	for _, body := range []string{"", "x", "a body of some length, over sixteen octets"} {
		key := []byte{0, 0, 0, 0, 0, 0, 1, 2}
		want := crc32.Checksum([]byte("records"+string(key)+body), crc32.MakeTable(crc32.Castagnoli))
		assert.Equal(t, want, checksum("records", key, []byte(body)), body)
	}
	key, body := make([]byte, 8), make([]byte, 2000)
	few(t, "checksum", 0, func() { checksum("records", key, body) })
}

// A record is unpacked into the memory of the previous one: an entry of a new record allocates only its strings, as one
// of a cached record does.
func TestAllocs_ColdRecord(t *testing.T) {
	if racing {
		t.Skip("allocations are more under the race detector")
	}
	zip, unzip, err := NewZip()
	require.NoError(t, err)
	var a canon.Authority
	db := makeDB(t)
	err = db.Update(func(tx *bbolt.Tx) error {
		for n := range 3 {
			r := Record{ID: uint64(n) + 1}
			for i := 0; !r.Full(); i++ {
				u := mustURL(t, fmt.Sprintf("http://a.test/%d/%d", n, i))
				a = u.Authority()
				r.Add(0, frontier.Candidate{URL: u, Kind: frontier.KindLink}, 1)
			}
			if _, err := RecordJournal.Append(tx, r.AppendTo(nil, zip)); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	tx, err := db.Begin(false)
	require.NoError(t, err)
	defer tx.Rollback()
	blocks := Blocks{Zip: unzip}
	from := NewLookups(tx)
	read := func(record uint64) {
		if _, err := blocks.Entry(&from.Records, MakeRef(record, 0), a); err != nil {
			t.Fatal(err)
		}
	}
	read(2)
	warm := testing.AllocsPerRun(500, func() { read(2) })
	few(t, "cold", warm, func() {
		blocks.slots[2].id = 0
		read(2)
	})
	if body, err := from.Records.Get(2); err != nil || len(body) == 0 {
		t.Fatalf("record 2: %d octets, error %v", len(body), err)
	}
	few(t, "look up a value", 0, func() { from.Records.Get(2) })
}

func TestAllocs_Print(t *testing.T) {
	if racing {
		t.Skip("allocations are more under the race detector")
	}
	p := NewPrinter(make([]byte, 32))
	u := mustURL(t, "https://www.site-000123.example/archive/products/category-library-1234567.html")
	few(t, "print", 0, func() { p.Print(u) })
}

func few(t *testing.T, name string, most float64, step func()) {
	t.Helper()
	step() // allocates the parts that are made once
	if n := testing.AllocsPerRun(500, step); n > most {
		t.Errorf("%s: %v allocations, want %v at most", name, n, most)
	}
}

func mustURL(t testing.TB, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	require.NoError(t, err)
	return u
}
