package bolt

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// A record gives back what was put into it: every entry, with its host.
func FuzzRecord_RoundTrip(f *testing.F) {
	f.Add("a", "/b?c", "http://via.example/", "http://seed.example/", "tag", 3, 1, 2, uint8(100))
	f.Add("xn--bcher-kva", "/%7e//..;/%zz?%%", "", "", "", math.MaxInt, 0, -1, uint8(1))
	f.Add("[::1]", "/"+strings.Repeat("x", 8000), strings.Repeat("v", 9000), "s", "\x00\xff", 0, 0, 0, uint8(200))
	zip, unzip, err := newZip()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, host, target, via, seed, tag string, depth, hops, embeds int, n uint8) {
		var r record
		var hosts []canon.Authority
		for i := 0; i < int(n) && !r.full(); i++ {
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
			if place := r.add(uint32(id), c, 1); place != len(r.entries)-1 {
				t.Fatalf("place %d of entry %d", place, len(r.entries)-1)
			}
		}
		if len(r.entries) == 0 {
			return
		}
		b, err := parseBlock(r.appendTo(nil, zip), unzip)
		if err != nil {
			t.Fatal(err)
		}
		if b.len() != len(r.entries) {
			t.Fatalf("%d entries, want %d", b.len(), len(r.entries))
		}
		for place, want := range r.entries {
			id, ok := b.host(place)
			if !ok || hosts[id] != want.URL.Authority() {
				t.Fatalf("entry %d: host %d, %v", place, id, ok)
			}
			got, err := b.entry(place, hosts[id])
			if err != nil || got != want {
				t.Fatalf("entry %d: %+v, error %v; want %+v", place, got, err, want)
			}
		}
		if _, ok := b.host(b.len()); ok {
			t.Fatal("there is a host beyond the last entry")
		}
	})
}

// Whatever the octets, reading them ends in an error or an answer, and asks for no more memory than there is.
func FuzzParsers_NeverPanic(f *testing.F) {
	zip, unzip, err := newZip()
	if err != nil {
		f.Fatal(err)
	}
	var r record
	r.add(0, frontier.Candidate{URL: mustURL(f, "http://a.example/x"), Via: "v", Seed: "s"}, 1)
	f.Add(r.appendTo(nil, zip))
	f.Add(zip.block(&r))
	f.Add(newTotals().appendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, _ := canon.ParseAuthority("http://a.example:80")
		if k, err := parseBlock(b, unzip); err == nil {
			for place := range k.len() {
				k.entry(place, a)
			}
		}
		if k := (&block{spans: []span{{n: 3}}}); k.index(b) == nil {
			for place := range 3 {
				k.entry(place, a)
			}
		}
		parseTotals(b)
		parseRetry(b, clock{})
		parseFlight(b)
		(&host{}).parseState(b, clock{})
		eachCell(b, func(cell) {})
		(&parser{b: b}).endings(make([]ending, 100))
	})
}

func TestTotals_RoundTrip(t *testing.T) {
	a := newTotals()
	for o := frontier.Fetched; o <= frontier.Dropped; o++ {
		for _, reason := range []string{"", "status 500", "trap", "", "\x00é"} {
			a.close(o, reason)
		}
	}
	a.capped, a.strangers, a.counts = map[string]int64{frontier.ReasonCapHost: 7, frontier.ReasonCapSize: 1}, 3, map[string]int64{"octets": 1 << 60, "below": -5, "": 1}
	b, ok := parseTotals(a.appendTo(nil))
	if !ok || !reflect.DeepEqual(a, b) {
		t.Fatalf("%+v, %v; want %+v", b, ok, a)
	}
	if !bytes.Equal(a.appendTo(nil), b.appendTo(nil)) {
		t.Fatal("equal totals are not equal octets")
	}
	if a.closed() != 30 {
		t.Fatalf("closed %d, want 30", a.closed())
	}
}

// A crawler that puts free text into reasons costs counts, not memory, and no count is lost.
func TestTotals_ReasonsAreBounded(t *testing.T) {
	a := newTotals()
	for i := range 2000 {
		e := a.close(frontier.Failed, strings.Repeat("x", i+1))
		if e.outcome() != frontier.Failed || e.reason() == 0 || e.reason() > maxReasons {
			t.Fatalf("ending %d of reason %d", e, i)
		}
	}
	m := a.byReason()[frontier.Failed]
	if len(m) != maxReasons || m["xxx"] != 1 || m[otherReasons] != 2000-(maxReasons-1) {
		t.Fatalf("%d reasons, %d others", len(m), m[otherReasons])
	}
	b, ok := parseTotals(a.appendTo(nil))
	if !ok || b.close(frontier.Failed, "one more").reason() != maxReasons || b.number("xxx") != a.number("xxx") {
		t.Fatal("reasons have other numbers after a reopen")
	}
}

func TestState_RoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := clock{began: time.Now()}
		time.Sleep(time.Hour)
		h := &host{
			id: 7, condition: frontier.Parked, width: 3, pace: 1500 * time.Millisecond, refused: 9,
			finished: 5<<32 | 77, reason: "status 503", notBefore: after(before.now(), 10*time.Minute),
		}
		c := h.state(before, before.now())
		r := &retry{attempts: 4, reason: "status 500", url: "http://a.example/", due: after(before.now(), time.Minute)}
		rc := r.cell(99, before, before.now())
		time.Sleep(20 * time.Second)
		now := clock{began: time.Now()}
		got := &host{id: 7}
		if !got.parseState(c.data, now) {
			t.Fatal("not a state")
		}
		want := *h
		want.notBefore = int64(9*time.Minute + 40*time.Second)
		if !reflect.DeepEqual(*got, want) {
			t.Fatalf("%+v, want %+v", *got, want)
		}
		wantRetry := *r
		wantRetry.due = int64(40 * time.Second)
		if gotRetry, ok := parseRetry(rc.data, now); !ok || *gotRetry != wantRetry {
			t.Fatalf("%+v, want %+v", gotRetry, wantRetry)
		}
	})
}

// politeness rule 17: no park is forgotten. And none lasts longer than it was to.
func TestWait_WhateverTheClockDoesBetweenRuns(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name             string
		wait, step, left time.Duration // step: what the wall clock says has passed
	}{
		{"time counts while nothing runs", day, time.Hour, day - time.Hour},
		{"over", day, 2 * day, 0},
		{"over to the moment", day, day, 0},
		{"the clock was set back: the whole wait, not more", day, -400 * day, day},
		{"none", 0, -day, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wrote := clock{began: time.Now()}
				p := parser{b: wrote.appendWait(nil, 1000, after(1000, c.wait))}
				read := clock{began: wrote.began.Add(c.step)}
				if got := time.Duration(read.parseWait(&p)); !p.done() || got != c.left {
					t.Fatalf("%v left, want %v", got, c.left)
				}
			})
		})
	}
}

// A wait without end does not run over the end of time.
func TestWait_WithoutEnd(t *testing.T) {
	now := clock{began: time.Now()}
	p := parser{b: now.appendWait(nil, 5, after(5, frontier.Never))}
	if left := time.Duration(now.parseWait(&p)); !p.done() || left < 100*365*24*time.Hour {
		t.Fatalf("%v left", left)
	}
}

func FuzzEndings_RoundTrip(f *testing.F) {
	f.Add([]byte{0, 1, 1, 1, 2}, uint8(3))
	f.Fuzz(func(t *testing.T, raw []byte, spread uint8) {
		if len(raw) == 0 || len(raw) > maxPlaces {
			return
		}
		es := make([]ending, len(raw))
		for i, b := range raw {
			es[i] = ending(b) * ending(spread) % (maxReasons<<outcomeBits | 7)
		}
		p := parser{b: append(appendEndings(nil, es), "behind it"...)}
		got := make([]ending, len(es))
		if !p.endings(got) || !slices.Equal(got, es) || string(p.b) != "behind it" {
			t.Fatalf("%v, %q left; want %v", got, p.b, es)
		}
	})
}
