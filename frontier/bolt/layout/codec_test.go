package layout

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

func FuzzRecord_RoundTrip(f *testing.F) {
	f.Add("a", "/b?c", "http://via.example/", "http://seed.example/", "tag", 3, 1, 2, uint8(100))
	f.Add("xn--bcher-kva", "/%7e//..;/%zz?%%", "", "", "", math.MaxInt, 0, -1, uint8(1))
	f.Add("[::1]", "/"+strings.Repeat("x", 8000), strings.Repeat("v", 9000), "s", "\x00\xff", 0, 0, 0, uint8(200))
	zip, unzip, err := NewZip()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, host, target, via, seed, tag string, depth, hops, embeds int, n uint8) {
		var r Record
		var hosts []canon.Authority
		for i := 0; i < int(n) && !r.Full(); i++ {
			raw := "http://" + strings.Repeat("h", i/7) + host + target + strings.Repeat("/", i)
			if i%5 == 3 {
				raw = "https://other.example:444/" + strings.Repeat("z", i)
			}
			u, err := canon.Parse(raw)
			if err != nil {
				continue
			}
			c := frontier.Candidate{
				URL: u, Kind: frontier.Kind(i), Via: via, Depth: depth, Hops: hops + i, Embeds: embeds, Away: i % 7, Seed: seed, Tag: tag,
			}
			if i%3 == 0 {
				c.Via, c.Tag = seed, ""
			}
			id := slices.Index(hosts, u.Authority())
			if id < 0 {
				id, hosts = len(hosts), append(hosts, u.Authority())
			}
			place := r.Add(uint32(id), c, 1)
			require.Truef(t, place == len(r.Entries)-1, "place %d of entry %d", place, len(r.Entries)-1)
		}
		if len(r.Entries) == 0 {
			return
		}
		b, err := ParseBlock(r.AppendTo(nil, zip), unzip)
		require.NoError(t, err)
		require.Truef(t, b.Len() == len(r.Entries), "%d entries, want %d", b.Len(), len(r.Entries))
		for place, want := range r.Entries {
			id, ok := b.Host(place)
			require.Truef(t, ok && hosts[id] == want.URL.Authority(), "entry %d: host %d, %v", place, id, ok)
			got, err := b.Entry(place, hosts[id])
			require.NoError(t, err)
			require.Equalf(t, want, got, "entry %d: %+v, error %v; want %+v", place, got, err, want)
		}
		_, ok := b.Host(b.Len())
		require.False(t, ok, "there is a host beyond the last entry")
	})
}

// Reading arbitrary bytes ends in an error or an answer, and takes bounded memory.
func FuzzParsers_NeverPanic(f *testing.F) {
	zip, unzip, err := NewZip()
	require.NoError(f, err)
	var r Record
	r.Add(0, frontier.Candidate{URL: mustURL(f, "http://a.example/x"), Via: "v", Seed: "s"}, 1)
	f.Add(r.AppendTo(nil, zip))
	f.Add(zip.block(&r))
	f.Add(NewTotals().AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, _ := canon.ParseAuthority("http://a.example:80")
		if k, err := ParseBlock(b, unzip); err == nil {
			for place := range k.Len() {
				k.Entry(place, a)
			}
		}
		if k := (&Block{Spans: []Span{{N: 3}}}); k.index(b) == nil {
			for place := range 3 {
				k.Entry(place, a)
			}
		}
		ParseTotals(b)
		ParseRetry(b, Clock{})
		parseInFlight(b)
		ParseHostState(b, Clock{})
		ParseFold(b)
		for range Seeds(b) {
		}
		EachState(b, func(StateRecord) error { return nil })
		(&parser{b: b}).endings(make([]Ending, 100))
	})
}

func TestTotals_RoundTrip(t *testing.T) {
	a := NewTotals()
	for o := frontier.Fetched; o <= frontier.Dropped; o++ {
		for _, reason := range []string{"", "status 500", "trap", "", "\x00é"} {
			a.Close(o, reason)
		}
	}
	a.Capped, a.Strangers, a.Counts = map[string]int64{frontier.ReasonCapHost: 7, frontier.ReasonCapSize: 1}, 3, map[string]int64{"octets": 1 << 60, "below": -5, "": 1}
	b, ok := ParseTotals(a.AppendTo(nil))
	require.Truef(t, ok && reflect.DeepEqual(a, b), "%+v, %v; want %+v", b, ok, a)
	require.Equal(t, b.AppendTo(nil), a.AppendTo(nil), "equal totals are not equal octets")
	require.Truef(t, a.Closed() == 30, "closed %d, want 30", a.Closed())
}

// Free text in reasons costs counts, not memory, and no count is lost.
func TestTotals_ReasonsAreBounded(t *testing.T) {
	a := NewTotals()
	for i := range 2000 {
		e := a.Close(frontier.Failed, strings.Repeat("x", i+1))
		require.Truef(t, e.Outcome() == frontier.Failed && e.Reason() != 0 && e.Reason() <= maxReasons, "ending %d of reason %d", e, i)
	}
	m := a.ByReason()[frontier.Failed]
	require.Truef(t, len(m) == maxReasons && m["xxx"] == 1 && m[otherReasons] == 2000-(maxReasons-1), "%d reasons, %d others", len(m), m[otherReasons])
	b, ok := ParseTotals(a.AppendTo(nil))
	require.True(t, ok && b.Close(frontier.Failed, "one more").Reason() == maxReasons && b.Number("xxx") == a.Number("xxx"), "reasons have other numbers after a reopen")
}

// politeness rule 17: no park is forgotten, and none lasts longer than its length.
func TestWait_ClockStepsBetweenRuns(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name             string
		wait, step, left time.Duration // step: the change of the wall clock
	}{
		{"time counts while nothing runs", day, time.Hour, day - time.Hour},
		{"over", day, 2 * day, 0},
		{"over to the moment", day, day, 0},
		{"the clock was set back: the whole wait, not more", day, -400 * day, day},
		{"none", 0, -day, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wrote := Clock{Began: time.Now()}
				p := parser{b: wrote.appendWait(nil, 1000, After(1000, c.wait))}
				read := Clock{Began: wrote.Began.Add(c.step)}
				got := time.Duration(read.parseWait(&p))
				require.Truef(t, p.done() && got == c.left, "%v left, want %v", got, c.left)
			})
		})
	}
}

func TestWait_WithoutEnd(t *testing.T) {
	now := Clock{Began: time.Now()}
	p := parser{b: now.appendWait(nil, 5, After(5, frontier.Never))}
	left := time.Duration(now.parseWait(&p))
	require.Truef(t, p.done() && left >= 100*365*24*time.Hour, "%v left", left)
}

func FuzzEndings_RoundTrip(f *testing.F) {
	f.Add([]byte{0, 1, 1, 1, 2}, uint8(3))
	f.Fuzz(func(t *testing.T, raw []byte, spread uint8) {
		if len(raw) == 0 || len(raw) > MaxPlaces {
			return
		}
		es := make([]Ending, len(raw))
		for i, b := range raw {
			es[i] = Ending(b) * Ending(spread) % (maxReasons<<outcomeBits | 7)
		}
		p := parser{b: append(appendEndings(nil, es), "behind it"...)}
		got := make([]Ending, len(es))
		require.Truef(t, p.endings(got) && slices.Equal(got, es) && string(p.b) == "behind it", "%v, %q left; want %v", got, p.b, es)
	})
}
func TestRef_OrderIsRecordThenPlace(t *testing.T) {
	var last Ref
	for record := uint64(1); record < 4; record++ {
		for place := range MaxPlaces {
			r := MakeRef(record, place)
			require.Truef(t, r.Record() == record && r.Place() == place, "makeRef(%d, %d) is (%d, %d)", record, place, r.Record(), r.Place())
			require.Greaterf(t, r, last, "makeRef(%d, %d) = %d, not beyond %d", record, place, r, last)
			last = r
		}
	}
	r := MakeRef(1<<(refBits-placeBits)-1, MaxPlaces-1)
	require.Truef(t, r == 1<<refBits-1, "the last reference is %x", uint64(r))
}

func TestDone_PacksReferenceAndEnding(t *testing.T) {
	for _, r := range []Ref{MakeRef(1, 0), MakeRef(77, 127), 1<<refBits - 1} {
		for _, e := range []Ending{MakeEnding(1, 0), MakeEnding(6, maxReasons), MakeEnding(5, 1)} {
			d := MakeDone(r, e)
			assert.Truef(t, d.Ref() == r && d.Ending() == e, "done of (%d, %d) is (%d, %d)", r, e, d.Ref(), d.Ending())
		}
	}
}

func TestFlight_RoundTrip(t *testing.T) {
	for _, r := range []InFlight{
		{}, {Leases: 1}, {Leases: 1, Refs: []Ref{MakeRef(1, 0)}},
		{Leases: 900, Refs: []Ref{MakeRef(1, 0), MakeRef(1, 1), MakeRef(1, 127), MakeRef(2, 0), MakeRef(1<<40, 5)}},
	} {
		got, ok := parseInFlight(r.AppendTo(nil))
		assert.Truef(t, ok && got.Leases == r.Leases && slices.Equal(got.Refs, r.Refs), "%+v, %v; want %+v", got, ok, r)
	}
	for _, b := range [][]byte{{}, {1, 0}, {1, 0x80}} {
		r, ok := parseInFlight(b)
		assert.Falsef(t, ok, "%x is read as %+v", b, r)
	}
}

func TestRow_EqualsEightNumbers(t *testing.T) {
	for _, want := range [][8]uint64{{}, {1, 2, 3, 4, 5, 6, 7, 127}, {1, 2, 3, 4, 5, 6, 7, 128}, {1 << 40, 0, 0, 0, 0, 0, 0, 9}} {
		for more := range 3 { // octets behind the row
			var b []byte
			for _, n := range want {
				b = binary.AppendUvarint(b, n)
			}
			p := parser{b: append(b, make([]byte, more)...)}
			var got [8]uint64
			if p.row(&got); got != want || p.bad || len(p.b) != more {
				t.Errorf("%v: got %v, bad %v, %d octets left, want %d", want, got, p.bad, len(p.b), more)
			}
		}
	}
	if p := (parser{b: make([]byte, 7)}); true {
		if p.row(new([8]uint64)); !p.bad {
			t.Error("seven octets are a row")
		}
	}
}
