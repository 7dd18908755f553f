package frontiertest

import (
	"math/rand/v2"
	"strconv"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
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
