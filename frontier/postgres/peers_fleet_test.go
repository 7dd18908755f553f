//go:build peers

package postgres

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/frontiertest"
)

// fleet is a crawl of two members, each on its own stage. Their sums are checked after each step.
type fleet struct {
	*frontiertest.Stage // the first member
	second              *frontiertest.Stage
	join                func() *frontiertest.Stage
}

func member(s *frontiertest.Stage) *Frontier { return s.Frontier.(*Frontier) }

// freeze stops the heartbeat of a member, as a SIGSTOP would, until thaw is called.
func freeze(s *frontiertest.Stage) (thaw func()) {
	m := member(s)
	<-m.beats.free
	thaw = sync.OnceFunc(func() { m.beats.free <- struct{}{} })
	s.Cleanup(thaw)
	return thaw
}

func hostOf(s *frontiertest.Stage, nth int) string {
	s.Helper()
	for i := range 10000 {
		name := fmt.Sprintf("h%d", i)
		f := member(s)
		f.mu.Lock()
		own := f.own[s.Authority(name).Slot()] != 0
		f.mu.Unlock()
		if own {
			if nth--; nth < 0 {
				return name
			}
		}
	}
	s.Fatal("the member owns nothing")
	return ""
}

func TestPeers_Fleet(t *testing.T) {
	server := frontiertest.Start(t)
	for _, r := range []struct {
		name string
		test func(f fleet)
	}{
		{"a host has one owner, and every page is claimed once", fleetOwner},
		{"a member that joins has its share within a second", fleetShare},
		{"Drained only when nothing is pending anywhere", fleetDrained},
		{"a candidate of one member wakes a claim of the other within a second", fleetWakes},
		{"one key from two members is new once", fleetNewOnce},
		{"a Finish of an expired member is stale and changes nothing", fleetExpired},
		{"a member that cannot reach the server stops sending soon, and continues later", fleetSilent},
		{"an outage of the server expires no member", fleetOutage},
		{"a member that is to end stops waiting for the server", fleetHurry},
		{"the repeat of a committed Finish is nil", fleetRepeat},
		{"a host that has moved has no robots state, and Moved is set", fleetMoved},
		{"a Finish of a host's owner counts even if the previous owner began later", fleetOlder},
		{"no host of a slot that was taken is claimed before its pace is over", fleetGate},
		{"a member that is resumed after a kill has its hosts again at once, when their pace is over", fleetResumed},
		{"a slot is used after Shared has recorded it, and given after Shared has recorded that", fleetShared},
		{"the totals are the same for all", fleetStats},
		{"a member learns an extension of the scope by another with its next turn", fleetExtends},
	} {
		t.Run(r.name, func(t *testing.T) {
			locator, dirs := server.Locator(), t.TempDir()
			require.NoError(t, Create(t.Context(), Member{Locator: locator}, []byte("settings"), nil))
			quick := timing{ttl: 15 * time.Second, beat: 500 * time.Millisecond, poll: 500 * time.Millisecond, now: still.now}
			ids := map[string]Dir{}
			h := frontiertest.Harness{
				Open: func(t testing.TB, dir string, o frontier.Options) frontier.Frontier {
					t.Helper()
					id, ok := ids[dir]
					if !ok {
						rand.Read(id[:])
						ids[dir] = id
					}
					f, err := open(Member{Locator: locator, Dir: id, Name: dir}, o, quick)
					require.NoError(t, err)
					return f
				},
				Crash: func(_ testing.TB, f frontier.Frontier) { f.(*Frontier).kill() },
			}
			synctest.Test(t, func(t *testing.T) {
				f := fleet{Stage: frontiertest.NewStage(t, h, dirs+"/w1", frontier.Options{Pace: time.Second})}
				f.join = func() *frontiertest.Stage {
					s := frontiertest.NewStage(t, h, dirs+"/w2", frontier.Options{Pace: time.Second})
					s.Sleep(time.Second)
					return s
				}
				f.second = f.join()
				r.test(f)
			})
		})
	}
}

func fleetOwner(f fleet) {
	var us []string
	for i := range 60 {
		us = append(us, frontiertest.Pages(fmt.Sprintf("h%d", i), 2)...)
	}
	f.Add(f.Links(us...))
	claimed := map[string]int{}
	owners := map[string]*frontiertest.Stage{}
	for range 3 {
		for _, s := range []*frontiertest.Stage{f.Stage, f.second} {
			for _, t := range s.Claim(100, 1).Turns {
				host := t.Authority.Host()
				o := owners[host]
				require.Truef(f, o == nil || o == s, "%s has two owners", host)
				owners[host] = s
				for _, x := range t.Tasks {
					claimed[frontiertest.Short(x.URL)]++
				}
				s.Finish(frontiertest.Fetched(t))
			}
		}
	}
	frontiertest.Want(f.Stage, "pages", len(claimed), 120)
	for u, n := range claimed {
		frontiertest.Want(f.Stage, u, n, 1)
	}
}

func fleetShare(f fleet) {
	for _, s := range []*frontiertest.Stage{f.Stage, f.second} {
		m := member(s)
		m.mu.Lock()
		n := len(m.own)
		m.mu.Unlock()
		frontiertest.Want(f.Stage, "slots", n, canon.Slots/2)
	}
}

func fleetDrained(f fleet) {
	f.Add(f.Links(hostOf(f.Stage, 0) + "/0"))
	t := f.Turn(1)
	answer := f.second.Waiting(frontier.Want{})
	r := frontiertest.Fetched(t)
	there := hostOf(f.second, 0) + "/1"
	r.Found = f.Links(there)
	f.Finish(r)
	f.Sleep(time.Second)
	c, err := answer()
	require.Truef(f, err == nil && len(c.Turns) == 1 && frontiertest.Names(c.Turns[0].Tasks) == there, "Claim: %+v, error %v; want %s", c, err, there)
	waits := f.Waiting(frontier.Want{})
	f.second.Finish(frontiertest.Fetched(c.Turns[0]))
	f.Sleep(time.Second)
	if c, err := waits(); err != nil || c.State != frontier.Drained {
		f.Fatalf("Claim: %+v, error %v; want Drained", c, err)
	}
}

func fleetWakes(f fleet) {
	f.Add(f.Links(hostOf(f.Stage, 0) + "/0"))
	f.Turn(1)
	answer := f.second.Waiting(frontier.Want{MaxWait: time.Hour})
	f.Add(f.Links(hostOf(f.second, 0) + "/0"))
	f.Sleep(time.Second)
	c, err := answer()
	require.Truef(f, err == nil && len(c.Turns) == 1, "Claim: %+v, error %v; want a turn", c, err)
}

func fleetNewOnce(f fleet) {
	us := frontiertest.Pages("a", 50)
	forward := f.Links(us...)
	slices.Reverse(us)
	backward := f.Links(us...)
	first := make(chan frontier.Added)
	go func() {
		n, err := f.Frontier.Add(f.Context(), forward)
		assert.NoError(f, err)
		first <- n
	}()
	b, err := f.second.Frontier.Add(f.Context(), backward)
	require.NoError(f, err)
	a := <-first
	frontiertest.Want(f.Stage, "New, Known", [2]int{a.New + b.New, a.Known + b.Known}, [2]int{50, 50})
	frontiertest.Want(f.Stage, "Queued", f.Stats().Queued, 50)
}

func fleetExpired(f fleet) {
	name := hostOf(f.Stage, 0)
	f.Add(f.Links(name+"/0", name+"/1"))
	t := f.Turn(1)
	thaw := freeze(f.Stage)
	f.Sleep(10 * time.Second)
	require.True(f, member(f.Stage).MayAsk() != nil, "it may send requests although its last heartbeat is two thirds of the TTL ago")
	f.Sleep(7 * time.Second)
	before := f.second.Picture()
	fs, err := f.Frontier.Finish(f.Context(), []frontier.Result{frontiertest.FullResult(f.Stage, t)})
	require.Truef(f, err == nil && errors.Is(fs[0].Err, frontier.ErrStale), "Finish: %+v, error %v; want ErrStale", fs, err)
	diff := before.Diff(f.second.Picture())
	require.Truef(f, diff == "", "something has changed: %s", diff)
	frontiertest.Want(f.Stage, "tasks of the next owner", frontiertest.Names(f.second.Turn(5).Tasks), name+"/0 "+name+"/1")
	thaw()
	f.Sleep(time.Second)
	_, err = f.Frontier.Claim(f.Context(), frontier.Want{})
	require.ErrorIs(f, err, frontier.ErrLost, "Claim")
}

func fleetSilent(f fleet) {
	m := member(f.Stage)
	ctx, cancel := m.Asking(f.Context())
	defer cancel()
	thaw := freeze(f.Stage)
	f.Sleep(9 * time.Second)
	frontiertest.Want(f.Stage, "MayAsk after 9 s", m.MayAsk(), nil)
	f.Sleep(1100 * time.Millisecond)
	frontiertest.Want(f.Stage, "MayAsk after 10.1 s", m.MayAsk(), errSilent)
	frontiertest.Want(f.Stage, "the exchange under way has ended", ctx.Err() != nil, true)
	thaw()
	f.Sleep(time.Second)
	frontiertest.Want(f.Stage, "MayAsk with a heartbeat", m.MayAsk(), nil)
}

func fleetOutage(f fleet) {
	for _, s := range [][2]*frontiertest.Stage{{f.Stage, f.second}, {f.second, f.Stage}} {
		early, late := freeze(s[0]), freeze(s[1])
		f.Sleep(time.Minute)
		early()
		f.Sleep(2 * time.Second)
		late()
		f.Sleep(time.Second)
		frontiertest.Want(f.Stage, "MayAsk", [2]error{member(s[0]).MayAsk(), member(s[1]).MayAsk()}, [2]error{})
	}
}

func fleetHurry(f fleet) {
	name := hostOf(f.Stage, 0)
	f.Add(f.Links(name + "/0"))
	t, m := f.Turn(1), member(f.Stage)
	<-m.writes.free // the server takes no commits
	ended := make(chan error)
	go func() {
		_, err := m.Finish(f.Context(), []frontier.Result{frontiertest.Fetched(t)})
		ended <- err
	}()
	f.Sleep(time.Minute)
	m.Hurry(10 * time.Second)
	m.Hurry(time.Second)
	begin := time.Now()
	err := <-ended
	require.Truef(f, errors.Is(err, errAway) && time.Since(begin) == time.Second, "Finish after %v: %v", time.Since(begin), err)
	m.writes.free <- struct{}{}
	f.Close()
	f.Sleep(time.Minute)
	frontiertest.Want(f.Stage, "tasks of the next owner", frontiertest.Names(f.second.Turn(5).Tasks), name+"/0")
}

func fleetRepeat(f fleet) {
	name := hostOf(f.Stage, 0)
	f.Add(f.Links(name + "/0"))
	r := frontiertest.Fetched(f.Turn(1))
	r.Found = f.Links("z/0")
	f.Finish(r)
	frontiertest.Want(f.Stage, "Added of the repeat", f.Finish(r).Added, frontier.Added{})
	frontiertest.Want(f.Stage, "Fetched", f.second.Stats().Outcomes[frontier.Fetched], 1)
}

func fleetMoved(f fleet) {
	name := hostOf(f.Stage, 0)
	f.Add(f.Links(name+"/0", name+"/1"))
	t := f.Turn(1)
	frontiertest.Want(f.Stage, "moved", t.Host.Moved, false)
	r := frontiertest.Fetched(t)
	r.Host = &frontier.HostUpdate{Robots: []byte("robots"), Memory: []byte("memory"), Pace: time.Second}
	f.Finish(r)
	h, ok, err := f.second.Frontier.Host(f.Context(), f.Authority(name))
	require.Truef(f, err == nil && ok && h.Elsewhere, "Host: %+v, known %v, error %v; want it elsewhere", h, ok, err)
	f.second.NotDue("it is another's", name)
	f.Close()
	f.Sleep(3 * time.Second)
	h = f.second.Turn(1).Host
	frontiertest.Want(f.Stage, "robots state, memory", string(h.Robots)+string(h.Memory), "memory")
	frontiertest.Want(f.Stage, "moved", h.Moved, true)
}

func fleetOlder(f fleet) {
	name := hostOf(f.second, 0)
	f.Add(f.Links(name+"/0", name+"/1"))
	f.second.Finish(frontiertest.Fetched(f.second.Turn(1)))
	f.second.Close()
	f.Sleep(3 * time.Second)
	f.Finish(frontiertest.Fetched(f.Turn(1)))
	frontiertest.Want(f.Stage, "Fetched", f.Stats().Outcomes[frontier.Fetched], 2)
}

func fleetGate(f fleet) {
	name := hostOf(f.Stage, 0)
	f.Add(f.Links(name+"/0", name+"/1"))
	r := frontiertest.Fetched(f.Turn(1))
	r.Host = &frontier.HostUpdate{Pace: 3 * time.Second}
	f.Finish(r)
	f.Turn(1) // is out at the kill
	f.Kill()
	begin := time.Now()
	f.join = nil
	c := f.second.ClaimWithin(1, 1, time.Hour)
	frontiertest.Want(f.Stage, "turns", len(c.Turns), 1)
	d := time.Since(begin)
	require.Truef(f, d >= 15*time.Second+3*time.Second && d <= 20*time.Second, "claimed %v after the kill: want the TTL and the pace", d)
}

func fleetResumed(f fleet) {
	name := hostOf(f.Stage, 0)
	f.Add(f.Links(name + "/0"))
	f.Turn(1) // is out at the kill
	begin := time.Now()
	f.Crash()
	frontiertest.Want(f.Stage, "tasks", frontiertest.Names(f.ClaimWithin(1, 1, time.Hour).Turns[0].Tasks), name+"/0")
	d := time.Since(begin)
	require.Truef(f, d >= time.Second && d <= 12*time.Second, "claimed %v after the kill: want the pace, and not the TTL", d)
}

func fleetExtends(f fleet) {
	var known []string
	member(f.second).OnSeed(func(u canon.URL) { known = append(known, frontiertest.Short(u)) })
	here, there := hostOf(f.Stage, 0), hostOf(f.second, 0)
	f.Add(f.Seeds(here+"/0", there+"/0"))
	f.second.Finish(frontiertest.Fetched(f.second.Turn(1)))
	r := frontiertest.Fetched(f.Turn(1))
	r.Extend = []frontier.Seed{{URL: f.URL("z/0"), From: "http://a.test/"}}
	r.Found = f.Links(there + "/1")
	f.Finish(r)
	f.Sleep(2 * time.Second)
	f.second.Finish(frontiertest.Fetched(f.second.Turn(1)))
	frontiertest.Want(f.Stage, "known to the other", fmt.Sprint(known), fmt.Sprint([]string{here + "/0", there + "/0", "z/0"}))
}

func fleetShared(f fleet) {
	f.second.Close()
	var mu sync.Mutex // of these three
	ready, used := false, map[int]bool{}
	var known map[string]string
	second, err := open(Member{Locator: member(f.Stage).member.Locator, Name: "there/w3"}, frontier.Options{Shared: func(s frontier.Share) bool {
		mu.Lock()
		defer mu.Unlock()
		if !ready {
			return false
		}
		for _, id := range s.Taken {
			used[id] = true
		}
		for _, id := range s.Given {
			delete(used, id)
		}
		known = s.Members
		return true
	}}, member(f.Stage).t)
	require.NoError(f, err)
	defer second.Close()
	own := func(m *Frontier) map[int]bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		all := map[int]bool{}
		for id := range m.own {
			all[id] = true
		}
		return all
	}
	f.Sleep(5 * time.Second)
	frontiertest.Want(f.Stage, "unrecorded slots", len(own(second)), 0)
	mu.Lock()
	ready = true
	mu.Unlock()
	f.Sleep(time.Second)
	frontiertest.Want(f.Stage, "slots", len(own(second)), canon.Slots/2)
	mu.Lock()
	frontiertest.Want(f.Stage, "members", fmt.Sprint(slices.Sorted(maps.Values(known))), "[w1 w2 w3]")
	mu.Unlock()
	f.second = f.join()
	f.Sleep(time.Second)
	mu.Lock()
	defer mu.Unlock()
	frontiertest.Want(f.Stage, "slots of three", len(used) < 90, true)
	frontiertest.Want(f.Stage, "recorded slots", maps.Equal(used, own(second)), true)
}

func fleetStats(f fleet) {
	for i, s := range []*frontiertest.Stage{f.Stage, f.second} {
		name := hostOf(s, i)
		s.Add(s.Seeds(name+"/0", name+"/1"), s.Refused("trap", name+"/2"))
		s.Finish(frontiertest.FullResult(s, s.Turn(1)))
	}
	a, b := f.Stats(), f.second.Stats()
	a.Restarts = b.Restarts
	frontiertest.Want(f.Stage, "the totals", fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b))
	frontiertest.Want(f.Stage, "Fetched, Hosts", [2]int64{a.Outcomes[frontier.Fetched], a.Hosts}, [2]int64{2, 4})
}
