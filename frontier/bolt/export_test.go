package bolt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// busy does something of everything with e, so that no field of an export is empty. It is the same for the same seed.
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

// exported is an export taken apart. The order is checked on the way.
type exported struct {
	head    frontier.Head
	seeds   []frontier.Seed
	blobs   [][]byte
	hosts   []frontier.Host
	urls    []frontier.Entry
	refused []frontier.Fingerprint
	totals  frontier.Totals
}

func export(t testing.TB, path string) (x exported, st frontier.Stats) {
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
		require.GreaterOrEqualf(t, at, place, "%+v comes after what should follow it", i)
		place = at
		return nil
	})
	if err != nil || place != 6 {
		t.Fatalf("Export: ended at %d, %v", place, err)
	}
	if st, err = f.Stats(context.Background()); err != nil {
		t.Fatal(err)
	}
	return x, st
}

// What the contract shows follows from an export.
func TestExport_OfABusyFrontierSaysWhatTheContractShows(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			e := newEngine(t, t.TempDir(), frontier.Options{MaxURLs: 700})
			e.busy(seed, 150)
			e.shut()
			x, st := export(t, e.file)
			x.agrees(t, st)
			e.start()
			x.seen(t, e)
			for _, b := range x.blobs {
				if got, err := e.Blob(context.Background(), sha256.Sum256(b)); err != nil || string(got) != string(b) {
					t.Errorf("blob of %d octets: %v", len(b), err)
				}
			}
			if seeds, err := frontier.SeedsOf(context.Background(), e); err != nil || !slices.Equal(seeds, x.seeds) || len(seeds) < 2 {
				t.Errorf("seeds %v, want %v, %v", x.seeds, seeds, err)
			}
			for _, h := range x.hosts {
				got := e.look(h.Authority)
				if h.Condition == frontier.Retired {
					h.Condition, h.Reason = frontier.Open, ""
				}
				got.Wait, h.Wait = 0, 0 // the pace is waited anew
				if !reflect.DeepEqual(got, h) {
					t.Errorf("host %+v, want %+v", h, got)
				}
			}
			x.tasks(t, e)
		})
	}
}

// agrees compares x with the totals.
func (x exported) agrees(t testing.TB, st frontier.Stats) {
	t.Helper()
	var sum frontier.Outcomes
	reasons := map[frontier.Outcome]map[string]int64{frontier.Dropped: maps.Clone(x.totals.Reasons)}
	var queued, deferred, released int64
	for _, u := range x.urls {
		switch {
		case u.Outcome != 0:
			sum[u.Outcome]++
			if u.Reason != "" {
				if reasons[u.Outcome] == nil {
					reasons[u.Outcome] = map[string]int64{}
				}
				reasons[u.Outcome][u.Reason]++
			}
		case u.Deferred:
			deferred++
			if u.Reason == "" || u.Attempts == 0 && u.Replaced.IsZero() {
				t.Errorf("deferred: %+v", u)
			}
		default:
			queued++
			if u.Reason == frontier.ReasonReleased {
				released++
			}
		}
	}
	sum[frontier.Dropped] += x.totals.Strange
	n := x.totals.Strange
	for _, k := range x.totals.Refused {
		sum[frontier.Dropped] += k
		n += k
	}
	if sum != st.Outcomes || queued != st.Queued || deferred != st.Deferred || !reflect.DeepEqual(reasons, st.Reasons) {
		t.Errorf("%v, %d, %d, %v\nof %+v", sum, queued, deferred, reasons, st)
	}
	if int64(len(x.refused)) != n || n == 0 || released == 0 || deferred == 0 || x.totals.Strange == 0 || len(x.totals.Refused) == 0 {
		t.Errorf("%d refused, %d by the totals, %d released, %d deferred", len(x.refused), n, released, deferred)
	}
	if !maps.Equal(x.totals.Counts, st.Counts) || !maps.Equal(x.totals.Capped, st.Capped) || st.Capped[frontier.ReasonCapCrawl] == 0 {
		t.Errorf("%+v", x.totals)
	}
	if x.head.Openings != st.Restarts+1 || x.head.Unclean || len(x.head.Secret) != 32 {
		t.Errorf("%+v", x.head)
	}
}

// seen checks that the seen-set is what URLs and refused fingerprints say.
func (x exported) seen(t testing.TB, e *engine) {
	t.Helper()
	all := slices.Clone(x.refused)
	for _, u := range x.urls {
		require.Equalf(t, u.Print, frontier.Print(x.head.Secret, u.URL), "%s has the print", u.URL)
		all = append(all, u.Print)
	}
	once := map[frontier.Fingerprint]bool{}
	for _, p := range all {
		if once[p] || !e.Frontier.seen.Has(p) {
			t.Errorf("%x is twice, or not seen", p)
		}
		once[p] = true
	}
	if len(once) != e.Frontier.seen.Len() {
		t.Errorf("%d fingerprints, and %d are seen", len(once), e.Frontier.seen.Len())
	}
}

// tasks claims everything and compares it with the pending URLs of x, host by host in their order.
func (x exported) tasks(t testing.TB, e *engine) {
	t.Helper()
	want := map[canon.Authority][]frontier.Task{}
	for _, u := range x.urls {
		if u.Outcome != 0 {
			continue
		}
		k := frontier.Task{Candidate: u.Candidate, Print: u.Print, Attempts: u.Attempts, Reason: u.Reason, Replaced: !u.Replaced.IsZero()}
		if k.Replaced {
			k.URL = u.Replaced
		}
		want[u.URL.Authority()] = append(want[u.URL.Authority()], k)
	}
	for _, tasks := range want { // what was tried before comes last
		slices.SortStableFunc(tasks, func(a, b frontier.Task) int { return cmp.Compare(min(a.Attempts, 1), min(b.Attempts, 1)) })
	}
	for _, h := range x.hosts {
		e.steer(frontier.Steering{Act: frontier.Resume, Authority: h.Authority})
	}
	time.Sleep(24 * time.Hour)
	for {
		c, err := e.Claim(context.Background(), frontier.Want{Tasks: 5000, Hosts: 50})
		require.NoError(t, err)
		if len(c.Turns) == 0 {
			break
		}
		for _, turn := range c.Turns {
			assert.Equalf(t, want[turn.Authority], turn.Tasks, "tasks of %s", turn.Authority)
			delete(want, turn.Authority)
			e.finish(fetched(turn))
		}
	}
	assert.Empty(t, want, "hosts gave nothing")
}

func TestExport_OfACrawlIsRefusedAndAnErrorEndsIt(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 300))
	none := func(frontier.Item) error { return nil }
	if err := e.Export(context.Background(), none); err == nil || errors.Is(err, frontier.ErrReadOnly) {
		t.Errorf("of a running crawl: %v", err)
	}
	e.stats() // it goes on
	e.shut()
	f := reader(t, e.file)
	defer f.Close()
	full := errors.New("disk full")
	items := 0
	err := f.Export(context.Background(), func(frontier.Item) error {
		if items++; items == 100 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) || items != 100 {
		t.Errorf("%v after %d items", err, items)
	}
	ctx, cancel := context.WithCancel(context.Background())
	items = 0
	err = f.Export(ctx, func(frontier.Item) error {
		if items++; items == 50 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || items != 50 {
		t.Errorf("%v after %d items", err, items)
	}
	assert.NoError(t, f.Export(context.Background(), none), "and after that")
}
