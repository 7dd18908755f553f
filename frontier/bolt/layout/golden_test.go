package layout

import (
	"encoding/hex"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Under one format number no byte of the format changes: later versions read every file. A line that differs here is
// another format.
func TestFormat2_EveryByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is midnight, and the year 2000 begins
		c := Clock{Began: time.Now()}
		host := HostState{
			Condition: frontier.Parked, Width: 2, Pace: 1500 * time.Millisecond, Refused: 300, Finished: 5<<32 | 77,
			NotBefore: int64(time.Minute), Reason: "status 503",
			Hold: &Hold{Act: frontier.Park, Until: int64(time.Hour), Reason: "asked", Closing: true},
		}
		retry := Retry{Attempts: 3, Stops: 2, Alone: 1, Reason: "timeout", URL: "http://a.test/x", Due: int64(time.Second), Dropped: true}
		seed := frontier.Seed{URL: mustURL(t, "http://a.test/"), Tag: "t", From: "http://b.test/"}
		sums := NewTotals()
		sums.Close(frontier.Fetched, "")
		sums.Close(frontier.Failed, "status 500")
		sums.Capped, sums.Counts = map[string]int64{"cap: host": 7}, map[string]int64{"below": -5}
		flight := InFlight{Leases: 2, Refs: []Ref{MakeRef(1, 0), MakeRef(9, 127)}}
		text := func(s *StateRecord) []byte { return s.AppendTo(nil) }
		key := []byte{0, 0, 0, 0, 0, 0, 0, 1}
		zip, _, err := NewZip()
		require.NoError(t, err)
		var r Record
		r.Add(7, frontier.Candidate{URL: mustURL(t, "http://a.test/x"), Kind: frontier.KindLink, Depth: 2, Via: "v", Seed: "s", Tag: "t"}, 1)
		for _, x := range []struct {
			name string
			got  []byte
			want string
		}{
			{"state of a host", text(host.StateRecord(9, c, 0)), "02093f010280dea0cb05ac02cd8080805080b0a9d4d49bd3910d80b09dc2df010a73746174757320" +
				"353033010380c0ee97d882d4910d80c0e285e3680561736b6564"},
			{"retry", text(retry.StateRecord(MakeRef(1, 5), c, 0)), "0585012a038094f7eef899d3910d8094ebdc030774696d656f75740f687474703a2f2f612e746573" +
				"742f78020101"},
			{"seed", AppendSeed(nil, seed), "0e687474703a2f2f612e746573742f01740e687474703a2f2f622e746573742f"},
			{"totals", sums.AppendTo(nil), "000100000100000000010a73746174757320353030010c0101096361703a20686f73740e010562656c6f7709"},
			{"in flight", flight.AppendTo(nil), "028001ff08"},
			{"block of a record, unpacked", zip.block(&r), "0301010102020000010203027673742f78"},
			{"endings of a record", appendEndings(nil, []Ending{0, 0, MakeEnding(frontier.Failed, 1), 1}), "00020c010101"},
			{"sealed for a journal", sealFor(string(DoneJournal), key, []byte("body")), "626f6479bfffc5d3"},
			{"sealed", seal([]byte("body")), "626f6479263fc950"},
		} {
			assert.Equal(t, x.want, hex.EncodeToString(x.got), x.name)
		}
	})
}

func TestFormat2_Names(t *testing.T) {
	db := makeDB(t)
	var got []string
	err := db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			got = append(got, string(name))
			return b.ForEach(func(k, _ []byte) error { got = append(got, "  "+string(k)); return nil })
		})
	})
	want := []string{
		"blobs", "cells", "done", "flight", "folded", "meta", "  clean", "  epoch", "  format", "  secret", "  stamp", "  totals",
		"  wall", "records", "seeds", "seen",
	}
	assert.Truef(t, err == nil && slices.Equal(got, want), "%q, error %v", got, err)
	assert.EqualValues(t, 0x150000000000184, uint64(MakeDone(MakeRef(3, 4), MakeEnding(frontier.Gone, 2))), "a word of the done journal")
	u, err := canon.Parse("http://a.test/")
	p := NewPrinter(make([]byte, 32)).Print(u)
	assert.Truef(t, err == nil && p == frontier.Print(make([]byte, 32), u), "the fingerprint is %x", p)
}
