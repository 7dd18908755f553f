package force_test

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/frontier/canon"
)

// sight is the content of a file.
type sight struct {
	seen     map[string]bool
	pending  map[string]int // attempts
	outcomes frontier.Outcomes
	hosts    map[string]frontier.Host // as they are stored
}

func clean(t testing.TB, file string) {
	t.Helper()
	found, err := bolt.Check(file)
	require.NoError(t, err, "Check")
	require.Empty(t, found, "Check found damage")
}

// look returns the content of the file about URLs. It empties a copy, in virtual time.
func look(t *testing.T, file string, urls []string) *sight {
	t.Helper()
	s := &sight{seen: map[string]bool{}, pending: map[string]int{}, hosts: map[string]frontier.Host{}}
	s.lookAtHosts(t, file)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	other := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, os.WriteFile(other, whole, 0o600))
	synctest.Test(t, func(t *testing.T) { s.empty(t, other, urls) })
	clean(t, other)
	os.Remove(other)
	return s
}

func (s *sight) lookAtHosts(t *testing.T, file string) {
	t.Helper()
	f, err := bolt.OpenReadOnly(file)
	require.NoError(t, err)
	defer f.Close()
	hosts, err := f.Hosts(t.Context(), canon.Authority{}, 10_000)
	require.NoError(t, err)
	for _, h := range hosts {
		s.hosts[h.Authority.String()] = h
	}
}

func (s *sight) empty(t *testing.T, file string, urls []string) {
	ctx := context.Background()
	f := mustOpen(t, file)
	defer f.Close()
	parsed := make([]canon.URL, len(urls))
	for i, u := range urls {
		parsed[i] = parse(u)
	}
	seen, err := f.Seen(ctx, parsed)
	require.NoError(t, err)
	for i, u := range urls {
		s.seen[u] = seen[i]
	}
	st, err := f.Stats(ctx)
	require.NoError(t, err)
	s.outcomes = st.Outcomes
	for {
		c, err := f.Claim(ctx, frontier.Want{Hosts: 100, Tasks: 10_000, MaxWait: math.MaxInt64 - 1})
		require.NoError(t, err)
		if len(c.Turns) == 0 {
			assert.Equal(t, frontier.Drained, c.State, "the state at the end")
			break
		}
		var rs []frontier.Result
		for _, turn := range c.Turns {
			rs = append(rs, s.take(t, turn))
		}
		_, err = f.Finish(ctx, rs)
		require.NoError(t, err)
	}
	n := int64(len(s.pending))
	assert.Truef(t, n == st.Queued+st.Deferred, "%d URLs were given, and %d were pending", n, st.Queued+st.Deferred)
}

func (s *sight) take(t *testing.T, turn frontier.Turn) frontier.Result {
	r := frontier.Result{Authority: turn.Authority, Token: turn.Token}
	for _, x := range turn.Tasks {
		u := x.URL.String()
		_, twice := s.pending[u]
		assert.Falsef(t, twice, "%s was given, closed, and given again", u)
		s.pending[u] = x.Attempts
		r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Fetched})
	}
	return r
}

func (s *sight) same(o *sight) bool {
	if len(s.hosts) != len(o.hosts) {
		return false
	}
	for name, h := range s.hosts {
		g := o.hosts[name]
		if h.Condition != g.Condition || h.Reason != g.Reason || h.Pace != g.Pace || h.Outcomes != g.Outcomes || h.Hold.Act != g.Hold.Act || h.Hold.Reason != g.Hold.Reason ||
			string(h.Robots) != string(g.Robots) || string(h.Memory) != string(g.Memory) {
			return false
		}
	}
	return maps.Equal(s.seen, o.seen) && maps.Equal(s.pending, o.pending) && s.outcomes == o.outcomes
}
