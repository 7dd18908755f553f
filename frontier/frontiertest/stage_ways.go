package frontiertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// CloseAll closes what is due as its path says: /d… Disallowed, /f… Failed, /g… Gone, /x… Dropped, others Fetched. Each
// outcome has its first letter for a reason.
func (s *Stage) CloseAll() {
	outcomes := map[byte]frontier.Outcome{'d': frontier.Disallowed, 'f': frontier.Failed, 'g': frontier.Gone, 'x': frontier.Dropped}
	for {
		c := s.Claim(9, 9)
		if len(c.Turns) == 0 {
			return
		}
		for _, t := range c.Turns {
			r := resultOf(t)
			for _, x := range t.Tasks {
				letter := x.URL.Path()[1]
				o, ok := outcomes[letter]
				if !ok {
					o = frontier.Fetched
				}
				r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: o, Reason: string(letter)})
			}
			s.Finish(r)
		}
	}
}

// Only takes turns until one with that task comes, and fetches the others.
func (s *Stage) Only(u string) frontier.Turn {
	for {
		t := s.Turn(1)
		if Names(t.Tasks) == u {
			return t
		}
		s.Finish(Fetched(t))
	}
}

// NotDue fails unless a cannot be claimed on its own now.
func (s *Stage) NotDue(why, name string) {
	_, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority(name))
	require.ErrorIs(s, err, frontier.ErrNotDue, why)
	s.CheckSums()
}

// Retry has something tried again.
func (s *Stage) Retry(r frontier.Retrial) frontier.Retried {
	n, err := s.Frontier.Retry(s.Context(), r)
	require.NoErrorf(s, err, "Retry %+v", r)
	s.CheckSums()
	return n
}

// Pending joins what drain returns.
func (s *Stage) Pending() string {
	return strings.Join(s.Drain(0), " ")
}

// Steer gives a command about a host.
func (s *Stage) Steer(act frontier.Act, host string) frontier.Steered {
	return s.Command(frontier.Steering{Act: act, Authority: s.Authority(host), Reason: reasonOf(act)})
}

// reasonOf returns a reason for acts that take one.
func reasonOf(act frontier.Act) string {
	if act == frontier.Resume {
		return ""
	}
	return "an operator says so"
}

// Command steers, and fails the test when that fails.
func (s *Stage) Command(c frontier.Steering) frontier.Steered {
	n, err := s.Frontier.Steer(s.Context(), c)
	require.NoErrorf(s, err, "Steer %+v", c)
	s.CheckSums()
	return n
}

// FullResult returns a result that would change everything there is to change.
func FullResult(s *Stage, t frontier.Turn) frontier.Result {
	r := Fetched(t, t.Tasks[0])
	if len(t.Tasks) > 1 {
		r.Deferred = []frontier.Deferral{{Print: t.Tasks[1].Print, After: time.Hour, Reason: "status 500"}}
	}
	r.Found = slices.Concat(s.Links("a/90", "z/0"), s.Refused("trap", "a/91"))
	r.Extend = []frontier.Seed{{URL: s.URL("z/1"), Tag: "tag", From: "http://a.test/0"}}
	r.Host = &frontier.HostUpdate{Condition: frontier.Parked, Reason: "busy", Pace: time.Minute, Width: 3, Robots: []byte("r"), Memory: []byte("m")}
	r.Wait = time.Hour
	r.Blobs = [][]byte{[]byte("a body")}
	r.Counts = map[string]int64{"octets": 1000}
	return r
}

// lengths returns hosts with the numbers of their pending URLs: "a:3 b:1".
func lengths(hosts []frontier.Host) string {
	var text string
	for _, h := range hosts {
		if n := h.Pending(); n > 0 {
			text += fmt.Sprintf(" %s:%d", h.Authority.Host(), n)
		}
	}
	return text
}

// turnLength is the lease length of the rules that set one.
const turnLength = 10 * time.Minute

var leased = frontier.Options{LeaseLength: turnLength}

// Survey looks at what stands out, n hosts of each kind.
func (s *Stage) Survey(n int) frontier.Survey {
	v, err := s.Frontier.Survey(s.Context(), n)
	require.NoError(s, err, "Survey")
	return v
}

// Alone claims an authority by itself.
func (s *Stage) Alone(a canon.Authority) frontier.Turn {
	t, err := s.Frontier.ClaimAuthority(s.Context(), a)
	require.NoErrorf(s, err, "ClaimAuthority %s", a)
	s.CheckSums()
	return t
}

// end finishes a turn with r, whose lease is filled in.
func (s *Stage) end(t frontier.Turn, r frontier.Result) frontier.Finished {
	r.Authority, r.Token = t.Authority, t.Token
	return s.Finish(r)
}

// done closes tasks as Fetched.
func done(ts ...frontier.Task) (ds []frontier.Done) {
	for _, x := range ts {
		ds = append(ds, frontier.Done{Print: x.Print, Outcome: frontier.Fetched})
	}
	return ds
}
