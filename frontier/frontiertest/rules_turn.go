package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// orderRules are about which task comes next.
var orderRules = []rule{
	{Name: "order: hosts that are due take turns, however long their queues", Test: func(s *Stage) {
		hosts := []string{"big", "a", "b", "c", "d"}
		s.Add(s.Links(Pages("big", 100)...))
		for _, h := range hosts[1:] {
			s.Add(s.Links(Pages(h, 4)...))
		}
		var last []string
		for range 4 * len(hosts) {
			t := s.Turn(1)
			h := t.Authority.Host()
			n := min(len(last), len(hosts)-1)
			require.NotContains(s, last[len(last)-n:], h, "another host was due for longer")
			last = append(last, h)
			s.Sleep(10 * time.Millisecond)
			s.Finish(Fetched(t))
		}
		Want(s, "what is left to big", s.Host("big").Queued, 96)
		Want(s, "what is left in all", s.Stats().Queued, 96)
	}},
	{Name: "order: one owner per authority under many claimers, every task once", Test: func(s *Stage) {
		const hosts, each, workers = 7, 30, 16
		for i := range hosts {
			s.Add(s.Links(Pages(string(rune('a'+i)), each)...))
		}
		type answer struct {
			t   frontier.Turn
			err error
		}
		begun, ended := make(chan answer), make(chan frontier.Turn)
		for w := range workers {
			go func() {
				for n := 0; ; n++ {
					c, err := s.Frontier.Claim(s.Context(), frontier.Want{Tasks: 3, MaxWait: time.Hour})
					if err != nil || len(c.Turns) != 1 {
						begun <- answer{err: err}
						return
					}
					begun <- answer{t: c.Turns[0]}
					time.Sleep(time.Duration((w*7+n*3)%11) * time.Millisecond)
					ended <- c.Turns[0] // before Finish: from then on another may own it
					r := Fetched(c.Turns[0])
					r.Wait = time.Duration(n%3) * 5 * time.Millisecond
					if fs, err := s.Frontier.Finish(s.Context(), []frontier.Result{r}); err != nil || fs[0].Err != nil {
						s.Errorf("Finish: %v, %v", fs, err)
					}
				}
			}()
		}
		owned, tokens, tasks := map[string]bool{}, map[frontier.Token]bool{}, map[string]int{}
		for working := workers; working > 0; {
			select {
			case a := <-begun:
				if len(a.t.Tasks) == 0 {
					working--
					if a.err != nil {
						s.Errorf("Claim: %v", a.err)
					}
					continue
				}
				if h := a.t.Authority.String(); owned[h] || tokens[a.t.Token] || a.t.Token == 0 {
					s.Errorf("%s, token %x: owned already %v, token used already %v", h, a.t.Token, owned[h], tokens[a.t.Token])
				}
				owned[a.t.Authority.String()], tokens[a.t.Token] = true, true
				for _, x := range a.t.Tasks {
					tasks[Short(x.URL)]++
				}
			case t := <-ended:
				owned[t.Authority.String()] = false
			}
		}
		synctest.Wait()
		Want(s, "tasks", len(tasks), hosts*each)
		for u, n := range tasks {
			Want(s, "times that "+u+" was claimed", n, 1)
		}
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], hosts*each)
	}},
	// Of a host with some good URLs and many that fail each time, at random places, and with links found on the way, each good one is given within as many turns with the host as there are URLs, whatever the waits.
	{Name: "deferral: any mix of bad URLs leaves all good ones their turn", Test: func(s *Stage) {
		r := rand.New(rand.NewPCG(5, 2))
		for round := range 20 {
			host := "h" + strconv.Itoa(round)
			n := 2 + r.IntN(60)
			bad, settled := map[string]bool{}, map[string]bool{}
			var us []string
			for i := range n {
				u := host + "/" + strconv.Itoa(i)
				us, bad[u] = append(us, u), r.IntN(3) > 0
			}
			later := r.IntN(n)
			s.Add(s.Links(us[later:]...))
			good := 0
			for turns := 0; good < n-len(keys(bad)); turns++ {
				require.LessOrEqualf(s, turns, n, "turns for %d of %d good URLs", good, n-len(keys(bad)))
				c := s.ClaimWithin(1, 1+r.IntN(4), 2*time.Hour)
				t := c.Turns[0]
				x := t.Tasks[0]
				res := resultOf(t)
				res.Wait = time.Duration(r.IntN(60)) * time.Second
				if turns == 0 {
					res.Found = s.Links(us[:later]...)
				}
				switch u := Short(x.URL); {
				case settled[u]:
					s.Fatalf("%s is given again", u)
				case bad[u]:
					res.Deferred = []frontier.Deferral{{Print: x.Print, After: time.Duration(r.IntN(120)) * time.Second, Reason: "incomplete"}}
				default:
					settled[u] = true
					good++
					res.Done = []frontier.Done{{Print: x.Print, Outcome: frontier.Fetched}}
				}
				s.Finish(res)
			}
			for s.Stats().Queued+s.Stats().Deferred > 0 { // what is bad is given up
				t := s.ClaimWithin(1, 10, 2*time.Hour).Turns[0]
				res := resultOf(t)
				for _, x := range t.Tasks {
					res.Done = append(res.Done, frontier.Done{Print: x.Print, Outcome: frontier.Failed})
				}
				s.Finish(res)
			}
		}
	}},
}

// keys are those of m that are true.
func keys(m map[string]bool) (ks []string) {
	for k, yes := range m {
		if yes {
			ks = append(ks, k)
		}
	}
	return ks
}

// leaseRules are about turns, tokens and waking up.
var leaseRules = []rule{
	{Name: "lease: its end is noticed by whichever call comes first", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		calls := map[string]func(t frontier.Turn) bool{
			"Finish": func(t frontier.Turn) bool {
				fs, err := s.Frontier.Finish(s.Context(), []frontier.Result{Fetched(t)})
				return err == nil && errors.Is(fs[0].Err, frontier.ErrStale)
			},
			"ClaimAuthority": func(t frontier.Turn) bool {
				next, err := s.Frontier.ClaimAuthority(s.Context(), t.Authority)
				if err == nil {
					s.Finish(resultOf(next))
				}
				return err == nil
			},
			"Claim": func(frontier.Turn) bool {
				c := s.Claim(1, 1)
				if len(c.Turns) == 1 {
					s.Finish(resultOf(c.Turns[0]))
				}
				return len(c.Turns) == 1
			},
			"Host":  func(frontier.Turn) bool { h := s.Host("a"); return !h.Leased && h.InFlight == 0 && h.Queued == 1 },
			"Hosts": func(frontier.Turn) bool { h := s.Hosts(1)[0]; return !h.Leased && h.InFlight == 0 && h.Queued == 1 },
			"Stats": func(frontier.Turn) bool { st := s.Stats(); return st.Leases == 0 && st.InFlight == 0 && st.Queued == 1 },
		}
		for name, noticed := range calls {
			t := s.Turn(1)
			s.Outlast()
			Want(s, name+" notices", noticed(t), true)
		}
	}},
	{Name: "claim: ends when its context does", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Turn(1)
		ctx, cancel := context.WithTimeoutCause(s.Context(), time.Second, errors.New("not this one"))
		defer cancel()
		begin := time.Now()
		c, err := s.Frontier.Claim(ctx, frontier.Want{MaxWait: time.Hour})
		require.ErrorIs(s, err, context.DeadlineExceeded)
		require.Empty(s, c.Turns)
		require.Equal(s, time.Second, time.Since(begin))
		Want(s, "Leases", s.Stats().Leases, 1)
		s.Add(s.Links("b/0")) // a cancelled call is no poison
		s.Turn(1)
	}},
	// Crawls a binary tree of pages, each on another host than its parent: page n links to 2n+1 and 2n+2, and to its parent.
	{Name: "end: many workers follow links to the end, each page once, and all see Drained", Test: func(s *Stage) {
		const size, workers = 300, 8
		page := func(n int) string { return fmt.Sprintf("h%d/%d", n%7, n) }
		s.Add(s.Seeds(page(0)))
		var mu sync.Mutex
		visits := map[string]int{}
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for {
					c, err := s.Frontier.Claim(s.Context(), frontier.Want{MaxWait: time.Second})
					if err != nil || len(c.Turns) == 0 {
						if err != nil || c.State != frontier.Drained {
							s.Errorf("Claim ends with state %d, error %v; want Drained", c.State, err)
						}
						return
					}
					u := Short(c.Turns[0].Tasks[0].URL)
					mu.Lock()
					visits[u]++
					mu.Unlock()
					_, path, _ := strings.Cut(u, "/")
					n, err := strconv.Atoi(path)
					if err != nil {
						s.Errorf("task %s was never added", u)
					}
					time.Sleep(time.Duration(n%5) * time.Millisecond)
					r := Fetched(c.Turns[0])
					r.Wait = time.Duration(n%3) * time.Millisecond
					for _, link := range []int{2*n + 1, 2*n + 2, (n - 1) / 2} {
						if link < size {
							r.Found = append(r.Found, s.Links(page(link))...)
						}
					}
					if fs, err := s.Frontier.Finish(s.Context(), []frontier.Result{r}); err != nil || fs[0].Err != nil {
						s.Errorf("Finish: %v, %v", fs, err)
					}
				}
			})
		}
		wg.Wait()
		s.CheckSums()
		Want(s, "pages visited", len(visits), size)
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], size)
	}},
	{Name: "wake: every claim that waits is woken at the end", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		t := s.Turn(1)
		var answers []func() (frontier.Claimed, error)
		for range 5 {
			answers = append(answers, s.Waiting(frontier.Want{MaxWait: time.Hour}))
		}
		s.Finish(Fetched(t))
		for _, answer := range answers {
			c, err := answer()
			require.NoError(s, err)
			require.Equal(s, frontier.Claimed{State: frontier.Drained}, c)
		}
	}},
}

// unchanged calls f and fails if it changes anything that can be seen.
func unchanged(s *Stage, f func()) {
	before := s.Picture()
	f()
	require.Empty(s, before.Diff(s.Picture()), "something has changed")
	_, err := s.Frontier.Blob(s.Context(), digest("a body"))
	require.ErrorIs(s, err, frontier.ErrNoBlob)
	Want(s, "Seen", s.Seen("a/90") || s.Seen("a/91") || s.Seen("z/0"), false)
}

// operatorRules are about what an operator commands.
var operatorRules = []rule{
	{Name: "retry: Fetched, Redirected, and nothing at all are refused, and no poison", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.CloseAll()
		for _, r := range []frontier.Retrial{
			{}, {Robots: true}, {Outcome: frontier.Fetched}, {Outcome: frontier.Redirected, Hosts: true}, {Outcome: frontier.Held + 1},
		} {
			_, err := s.Frontier.Retry(s.Context(), r)
			require.Errorf(s, err, "Retry %+v", r)
		}
		Want(s, "Add afterwards", s.Add(s.Links("a/1")), frontier.Added{New: 1})
		Want(s, "tasks", s.Pending(), "a/1")
	}},
	{Name: "steer: a command that makes no sense is refused, and no poison", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		for why, c := range map[string]frontier.Steering{
			"no act":             {Authority: s.Authority("a")},
			"an unknown act":     {Act: 9, Authority: s.Authority("a")},
			"no host":            {Act: frontier.Park},
			"a negative time":    {Act: frontier.Park, Authority: s.Authority("a"), For: -1},
			"a time with Drop":   {Act: frontier.Drop, Authority: s.Authority("a"), For: time.Hour},
			"URLs with Park":     {Act: frontier.Park, Authority: s.Authority("a"), URLs: []canon.URL{s.URL("a/0")}},
			"a URL of another":   {Act: frontier.Drop, Authority: s.Authority("a"), URLs: []canon.URL{s.URL("b/0")}},
			"a URL that is none": {Act: frontier.Drop, Authority: s.Authority("a"), URLs: []canon.URL{{}}},
		} {
			_, err := s.Frontier.Steer(s.Context(), c)
			require.Error(s, err, why)
		}
		Want(s, "what is still there", s.Pending(), "a/0")
	}},
	{Name: "tell: a Drop that cannot be told is an error, and drops nothing untold", Crash: true, Test: func(s *Stage) {
		d := operatorTold{fail: errDeaf}
		s.Reopen(d.options())
		s.Add(s.Links("a/0"))
		_, err := s.Frontier.Steer(s.Context(), frontier.Steering{Act: frontier.Drop, Authority: s.Authority("a")})
		require.ErrorIs(s, err, d.fail)
		d.hears(nil)
		s.Crash()
		// The death may come behind a commit that has the command. The opening finishes it then, and tells first.
		if s.Pending() == "a/0" {
			Want(s, "the calls of Tell and Barrier after the death", d.since(), "")
		} else {
			s.Sleep(2 * frontier.GroupDelay)
			Want(s, "the calls of Tell and Barrier after the death", d.since(), "a/0 of tag, barrier")
			dropped(s, 1)
		}
	}},
}

// dropped fails unless so many URLs are Dropped by the operator.
func dropped(s *Stage, n int64) {
	st := s.Stats()
	Want(s, "Dropped", st.Outcomes[frontier.Dropped], n)
	Want(s, "Dropped by the operator", st.Reasons[frontier.Dropped][frontier.ReasonOperator], n)
}

// operatorTold collects what Options.Tell and Options.Barrier are called with, in order.
type operatorTold struct {
	mu   sync.Mutex
	all  []string
	fail error
}

func (d *operatorTold) options() frontier.Options {
	return frontier.Options{
		LeaseLength: turnLength,
		Tell: func(_ context.Context, l frontier.Closings) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, c := range l.URLs {
				d.all = append(d.all, Short(c.URL)+" of "+c.Tag)
			}
			for a, n := range l.Hosts {
				d.all = append(d.all, fmt.Sprint(n, " of ", a))
			}
			return d.fail
		},
		Barrier: func(context.Context) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			if n := len(d.all); n > 0 && d.all[n-1] != "barrier" {
				d.all = append(d.all, "barrier")
			}
			return nil
		},
	}
}

// errDeaf is the error of an operator who cannot be told.
var errDeaf = errors.New("no room")

// hears has the calls of Tell from now on fail with that error, and forgets those of before.
func (d *operatorTold) hears(fail error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail, d.all = fail, nil
}

// since returns what was told since the last time.
func (d *operatorTold) since() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := strings.Join(d.all, ", ")
	d.all = nil
	return all
}
