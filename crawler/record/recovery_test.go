package record

import (
	"context"
	"errors"
	"iter"
	"maps"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/budget"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

func authority(t *testing.T) canon.Authority {
	t.Helper()
	u, err := canon.Parse("http://a.test/")
	require.NoError(t, err)
	return u.Authority()
}

// lines yields lines, and then an error unless that is nil.
func lines(all []storage.Line, err error) iter.Seq2[storage.Line, error] {
	return func(yield func(storage.Line, error) bool) {
		for _, l := range all {
			if !yield(l, nil) {
				return
			}
		}
		if err != nil {
			yield(storage.Line{}, err)
		}
	}
}

// throttled is the line of an exchange that took a second, ended that long ago, and asked for that rest.
func throttled(ago, rest time.Duration) storage.Line {
	began := time.Now().Add(-ago - time.Second)
	return storage.Line{
		Time: began, URL: "http://a.test/x", Attempt: 1, Began: began, Took: time.Second, Status: 429, Rest: rest,
		RestBy: storage.ByRetryAfter,
	}
}

// Politeness rule 17: the back-off that ends last counts, from the end of its exchange.
func TestRule17_TheRestThatIsOverLastIsLeft(t *testing.T) {
	const m, h = time.Minute, time.Hour
	type exchange struct{ ago, rest time.Duration }
	for _, c := range []struct {
		name      string
		exchanges []exchange
		want      time.Duration
	}{
		{"none", []exchange{{m, 0}}, 0},
		{"one", []exchange{{10 * m, h}}, 50 * m},
		{"one that is over", []exchange{{h, h}}, 0},
		{"the later exchange", []exchange{{10 * m, h}, {m, h}}, 59 * m},
		{"the longer rest", []exchange{{10 * m, h}, {m, 5 * m}}, 50 * m},
		{"in any order", []exchange{{m, 5 * m}, {10 * m, h}}, 50 * m},
		{"a clock set back", []exchange{{-5 * h, h}}, h},
		{"longer than any", []exchange{{0, host.LongestAfter + 1}}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			all := []storage.Line{{URL: "no URL", Rest: h, Time: time.Now()}}
			for _, x := range c.exchanges {
				all = append(all, throttled(x.ago, x.rest))
			}
			rests, _, err := ReadRests(lines(all, nil))
			got, ok := rests.Left(authority(t), &host.State{}, Start())
			if err != nil || got.Wait != c.want || ok != (c.want > 0) {
				t.Errorf("%s: %v is left, %v, %v; want %v", c.name, got.Wait, ok, err, c.want)
			}
		})
	}
}

// Politeness rule 11: more than a day retires the host for the run.
func TestRule11_WhatARestOfTheLedgerIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unreached := storage.Line{
			Time: time.Now(), URL: "http://a.test/", Rest: time.Hour, RestBy: storage.ByErrors, Reason: "dns",
		}
		const more, why = host.Day + time.Second, "status 429 before the kill"
		for _, c := range []struct {
			line storage.Line
			want host.Rest
		}{
			{throttled(0, host.Day), host.Rest{
				Wait: host.Day, By: storage.ByRetryAfter, Condition: frontier.Parked, Reason: why,
			}},
			{throttled(0, more), host.Rest{
				Wait: more, By: storage.ByRetryAfter, Condition: frontier.Retired, Reason: why,
			}},
			{unreached, host.Rest{
				Wait: time.Hour, By: storage.ByErrors, Condition: frontier.Parked, Reason: "dns before the kill",
			}},
		} {
			rests, _, err := ReadRests(lines([]storage.Line{c.line}, nil))
			if got, ok := rests.Left(authority(t), &host.State{}, Start()); got != c.want || !ok || err != nil {
				t.Errorf("%+v, %v, %v; want %+v", got, ok, err, c.want)
			}
		}
	})
}

// Ledger and frontier may differ by some microseconds.
func TestARestIsOverOnceItsHostWasAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, a := Start(), authority(t)
		rests, _, err := ReadRests(lines([]storage.Line{throttled(time.Minute, time.Hour)}, nil))
		require.NoError(t, err)
		end := clock.Micros(time.Now().Add(-time.Minute))
		for _, c := range []struct {
			name       string
			last       int64
			left, told bool
		}{
			{"the frontier does not know of it", end - 1_000_000, true, true},
			{"the host is new", 0, true, true},
			{"the frontier knows of it", end, true, false},
			{"it is rounded down", end - rounding, true, false},
			{"it is rounded up", end + rounding, true, false},
			{"the host was asked again", end + 1_000_000, false, false},
		} {
			memory := host.State{LastEnd: c.last, Due: host.Pace{Pause: time.Second}}
			if _, ok := rests.Left(a, &memory, clock); ok != c.left {
				t.Errorf("%s: a rest is left: %v, want %v", c.name, ok, c.left)
			}
			want := memory
			if c.told {
				want.LastEnd, want.Due = end, host.Pace{Pause: time.Hour, By: storage.ByRetryAfter}
			}
			if rests.Recollect(a, &memory, clock); !reflect.DeepEqual(memory, want) {
				t.Errorf("%s: the host remembers %+v, want %+v", c.name, memory, want)
			}
		}
		if rests, _, err = ReadRests(lines([]storage.Line{throttled(-time.Hour, time.Minute)}, nil)); err != nil {
			t.Fatal(err)
		}
		var ahead host.State // of a host whose exchange came before the clock was set back
		if rests.Recollect(a, &ahead, clock); ahead.LastEnd != clock.Micros(time.Now()) {
			t.Errorf("an exchange of the future ended at %d", ahead.LastEnd)
		}
		memory := host.State{LastEnd: 5}
		Rests(nil).Recollect(a, &memory, clock)
		if _, ok := Rests(nil).Left(a, &memory, clock); ok || !reflect.DeepEqual(memory, host.State{LastEnd: 5}) {
			t.Error("no rests change something")
		}
	})
}

// Pages of the ledger that the frontier has not counted.
func TestPages_MissingInTheFrontier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, a, now := Start(), authority(t), time.Now()
		fetched := storage.Line{
			Time: now, URL: a.Origin() + "/", Began: now.Add(-time.Minute), Took: time.Second, Status: 200, Type: "text/html",
			Outcome: storage.OutcomeFetched, Record: "urn:uuid:1", Tag: "x",
		}
		end := clock.Micros(now.Add(-59 * time.Second))
		with := func(change func(*storage.Line)) storage.Line {
			l := fetched
			change(&l)
			return l
		}
		for _, c := range []struct {
			name  string
			line  storage.Line
			since time.Time
			known int64
			want  int64
			next  []storage.Line // follow it
		}{
			{"the host is new", fetched, time.Time{}, 0, 1, nil},
			{"the frontier knows an exchange before", fetched, now, end - 1_000_000, 1, nil},
			{"the frontier knows it", fetched, now, end, 0, nil},
			{"it is rounded", fetched, now, end - rounding, 0, nil},
			{"the frontier knows one after it", fetched, now, end + 1, 0, nil},
			{"it is of a generation before", fetched, now.Add(1), 0, 0, nil},
			{"dates ran ahead after the computer slept", with(func(l *storage.Line) { l.Began, l.Ahead = l.Began.Add(time.Hour), time.Hour }), now, end, 0, nil},
			{"an image", with(func(l *storage.Line) { l.Type = "image/png" }), now, 0, 0, nil},
			{"no media type", with(func(l *storage.Line) { l.Type = "" }), now, 0, 1, nil},
			{"a page with status 404", with(func(l *storage.Line) { l.Status, l.Outcome = 404, storage.OutcomeGone }), now, 0, 0, nil},
			{"an exchange that was cut", with(func(l *storage.Line) { l.Outcome = storage.OutcomeDeferred }), now, 0, 0, nil},
			{"the clock was set back before the next, which the frontier knows", with(func(l *storage.Line) { l.Began = l.Began.Add(time.Hour) }), now, end, 0,
				[]storage.Line{with(func(l *storage.Line) { l.Type = "image/png" })}},
		} {
			var p Pages
			memory := host.State{LastEnd: c.known}
			f := remembered{memory: memory.Append(nil)}
			if err := p.Read(t.Context(), lines(append([]storage.Line{c.line}, c.next...), nil), c.since, f, clock); err != nil || p.Total() != c.want {
				t.Errorf("%s: %d pages, %v; want %d", c.name, p.Total(), err, c.want)
			}
			counts := map[string]int64{}
			if p.AddTo(counts, false); counts[budget.Pages] != c.want || counts[budget.OfTag("x")] != 0 {
				t.Errorf("%s: without tags %v", c.name, counts)
			}
			clear(counts)
			p.Recollect(a, &memory, clock, counts, true)
			if memory.Pages != uint64(c.want) || counts[budget.Pages] != c.want || counts[budget.OfTag("x")] != c.want {
				t.Errorf("%s: the host's turn counts %d pages, %v", c.name, memory.Pages, counts)
			}
			f.memory = memory.Append(nil) // another kill: the frontier counts it
			if err := p.Read(t.Context(), lines(append([]storage.Line{c.line}, c.next...), nil), c.since, f, clock); err != nil || p.Total() != 0 {
				t.Errorf("%s: it is missed again, %v", c.name, err)
			}
		}
	})
}

// remembered is a frontier that remembers one host.
type remembered struct {
	frontier.Reader
	memory []byte
}

func (r remembered) Host(context.Context, canon.Authority) (h frontier.Host, ok bool, err error) {
	h.Memory = r.memory
	return h, true, nil
}

func TestRead_ReportsAnyResponse(t *testing.T) {
	silent, answer := storage.Line{URL: "http://a.test/"}, storage.Line{URL: "http://b.test/", Status: 200}
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		lines iter.Seq2[storage.Line, error]
		want  bool
		err   error
	}{
		{"no ledger", nil, false, nil},
		{"no lines", lines(nil, nil), false, nil},
		{"no answer", lines([]storage.Line{silent}, nil), false, nil},
		{"an answer before", lines([]storage.Line{answer, silent}, nil), true, nil},
		{"an answer that asks for no rest", lines([]storage.Line{silent, answer}, nil), true, nil},
		{"a broken ledger", lines([]storage.Line{answer}, broken), false, broken},
	} {
		if _, got, err := ReadRests(c.lines); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, got, err, c.want, c.err)
		}
	}
}

// Costs that only the ledger has are carried until one turn is applied with them.
func TestCostsOfAKilledRunAreCountedOnce(t *testing.T) {
	counted := map[string]int64{budget.Exchanges: 10, budget.Answers: 9, budget.Bytes: 1000, budget.Pages: 4}
	was := maps.Clone(counted)
	var c Costs
	all, err := c.Recover(func() (storage.Asked, error) {
		return storage.Asked{Exchanges: 13, Answers: 9, Robots: 1, Octets: 900}, nil
	}, counted)
	want := map[string]int64{
		budget.Exchanges: 13, budget.Answers: 9, budget.Robots: 1, budget.Bytes: 1000, budget.Pages: 4,
	}
	if err != nil || !maps.Equal(all, want) || !maps.Equal(counted, was) {
		t.Fatalf("%v, %v, want %v; the frontier's own are %v", all, err, want, counted)
	}
	for lost := range 3 { // a turn that is lost takes them with it, and gives them back without its pages
		turn := map[string]int64{budget.Exchanges: 1, budget.Pages: 1, budget.PrefixFailures + "dns": 1}
		c.Give(turn)
		if turn[budget.Exchanges] != int64(4+lost) || turn[budget.Robots] != 1 || c.All()[budget.Exchanges] != 0 {
			t.Fatalf("turn %d takes %v, %d are left", lost, turn, c.All()[budget.Exchanges])
		}
		c.Keep(turn)
	}
	turn := map[string]int64{}
	c.Give(turn)
	want = map[string]int64{budget.Exchanges: 6, budget.Robots: 1, budget.PrefixFailures + "dns": 3}
	maps.DeleteFunc(turn, func(_ string, n int64) bool { return n == 0 })
	if !maps.Equal(turn, want) {
		t.Errorf("the turn that is applied counts %v, want %v", turn, want)
	}
	again := map[string]int64{}
	if c.Give(again); len(again) != 0 {
		t.Errorf("the next one counts %v again", again)
	}
}

func TestRecoverWithoutALedger(t *testing.T) {
	var c Costs
	counted := map[string]int64{budget.Exchanges: 10}
	all, err := c.Recover(nil, counted)
	if err != nil || !maps.Equal(all, counted) || c.All()[budget.Exchanges] != 0 {
		t.Errorf("%v, %v", all, err)
	}
	for range 2 { // turns of this run may be lost all the same
		c.Keep(map[string]int64{budget.Exchanges: 2})
	}
	assert.EqualValues(t, 4, c.All()[budget.Exchanges], "a lost turn's cost is lost")
	broken := errors.New("broken")
	_, err = c.Recover(func() (storage.Asked, error) { return storage.Asked{}, broken }, counted)
	assert.ErrorIsf(t, err, broken, "%v, want %v", err, broken)
}
