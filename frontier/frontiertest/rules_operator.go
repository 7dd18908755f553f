package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

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
