package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

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
