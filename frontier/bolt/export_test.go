package bolt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// busy does something of everything with e, deterministically, so that no field of an export is empty.
func (e *engine) busy(seed uint64, rounds int) {
	e.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	e.add([]frontier.Candidate{{URL: mustURL(e, "http://seed.test/"), Kind: frontier.KindSeed, Seed: "http://seed.test/", Tag: "s"}})
	for h := range 6 {
		e.add(e.links(fmt.Sprint("h", h), 0, 20+rng.IntN(300)))
	}
	for round := range rounds {
		time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
		c, err := e.Claim(context.Background(), frontier.Want{Tasks: 1 + rng.IntN(8), Hosts: 2})
		require.NoError(e, err)
		for _, turn := range c.Turns {
			if rng.IntN(20) > 0 || round == rounds-1 {
				e.finish(e.anything(rng, turn, round))
			}
		}
		a := authority(e, fmt.Sprint("h", rng.IntN(8)))
		switch rng.IntN(12) {
		case 0:
			e.steer(frontier.Steering{Act: frontier.Park, Authority: a, For: time.Duration(rng.IntN(3)) * time.Hour, Reason: "night"})
		case 1:
			e.steer(frontier.Steering{Act: frontier.Resume, Authority: a})
		case 2:
			e.steer(frontier.Steering{Act: frontier.Drop, Authority: a, URLs: []canon.URL{mustURL(e, a.String()+fmt.Sprint("/", rng.IntN(50)))}})
		case 3:
			e.retry(frontier.Retrial{Outcome: frontier.Held, Authority: a})
		}
	}
	e.retry(frontier.Retrial{Outcome: frontier.Held})
	e.steer(frontier.Steering{Act: frontier.Drop, Authority: authority(e, "h0"), Reason: "legal"})
	e.sync()
}

// anything is a result with something of everything.
func (e *engine) anything(rng *rand.Rand, turn frontier.Turn, round int) frontier.Result {
	r := frontier.Result{
		Authority: turn.Authority, Token: turn.Token, Wait: time.Duration(rng.IntN(3)) * time.Second,
		Counts: map[string]int64{"octets": rng.Int64N(1000)},
		Found:  e.links(fmt.Sprint("h", rng.IntN(9)), 1000+round*3, 3),
		Blobs:  [][]byte{make([]byte, rng.IntN(4)*1500)},
		Host:   &frontier.HostUpdate{Pace: time.Second, Robots: fmt.Append(nil, "robots ", round), Memory: fmt.Append(nil, round)},
	}
	if rng.IntN(15) == 0 {
		r.Host.Condition, r.Host.Reason = frontier.Condition(1+rng.IntN(3)), "a reason"
	}
	r.Found[0].Refused = []string{"scope", frontier.ReasonOperator, ""}[rng.IntN(3)]
	r.Found = append(r.Found, frontier.Candidate{URL: mustURL(e, fmt.Sprintf("http://out%d.test/", round)), Kind: frontier.KindLink, Refused: "scope"})
	if rng.IntN(9) == 0 {
		r.Extend = []frontier.Seed{{URL: r.Found[1].URL, From: "http://seed.test/"}}
	}
	for _, x := range turn.Tasks {
		d := frontier.Deferral{Print: x.Print, After: time.Duration(rng.IntN(5)) * time.Minute, Reason: "status 500"}
		switch k := rng.IntN(10); {
		case k < 5:
			o := frontier.Outcome(1 + rng.IntN(7))
			r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: o, Reason: []string{"", "some reason"}[rng.IntN(2)]})
		case k < 7:
			r.Deferred = append(r.Deferred, d)
		case k == 7 && !x.Replaced:
			d.URL = x.URL
			r.Deferred = append(r.Deferred, d)
		}
	}
	return r
}

type exportedItems struct {
	head    frontier.Head
	seeds   []frontier.Seed
	blobs   [][]byte
	hosts   []frontier.Host
	urls    []frontier.Entry
	refused []frontier.Fingerprint
	totals  frontier.Totals
}

func export(t testing.TB, path string) (x exportedItems, st frontier.Stats) {
	t.Helper()
	f := reader(t, path)
	defer f.Close()
	place := 0
	err := f.Export(context.Background(), func(i frontier.Item) error {
		at := 0
		switch {
		case i.Head != nil:
			x.head = *i.Head
		case i.Seed != nil:
			at, x.seeds = 1, append(x.seeds, *i.Seed)
		case i.Blob != nil:
			at, x.blobs = 2, append(x.blobs, i.Blob)
		case i.Host != nil:
			at, x.hosts = 3, append(x.hosts, *i.Host)
		case i.URL != nil:
			at, x.urls = 4, append(x.urls, *i.URL)
		case i.Refused != nil:
			at, x.refused = 5, append(x.refused, i.Refused...)
		case i.Totals != nil:
			at, x.totals = 6, *i.Totals
		}
		require.GreaterOrEqualf(t, at, place, "%+v comes after a later item", i)
		place = at
		return nil
	})
	require.NoError(t, err)
	require.Equalf(t, 6, place, "Export: ended at %d, %v", place, err)
	if st, err = f.Stats(context.Background()); err != nil {
		t.Fatal(err)
	}
	return x, st
}

func TestExport_OfACrawlIsRefusedAndAnErrorEndsIt(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 300))
	none := func(frontier.Item) error { return nil }
	err := e.Export(context.Background(), none)
	assert.Truef(t, err != nil && !errors.Is(err, frontier.ErrReadOnly), "of a running crawl: %v", err)
	e.stats() // it continues
	e.shut()
	f := reader(t, e.file)
	defer f.Close()
	full := errors.New("disk full")
	items := 0
	err = f.Export(context.Background(), func(frontier.Item) error {
		if items++; items == 100 {
			return full
		}
		return nil
	})
	assert.Truef(t, errors.Is(err, full) && items == 100, "%v after %d items", err, items)
	ctx, cancel := context.WithCancel(context.Background())
	items = 0
	err = f.Export(ctx, func(frontier.Item) error {
		if items++; items == 50 {
			cancel()
		}
		return nil
	})
	assert.Truef(t, errors.Is(err, context.Canceled) && items == 50, "%v after %d items", err, items)
	assert.NoError(t, f.Export(context.Background(), none), "and after that")
}
