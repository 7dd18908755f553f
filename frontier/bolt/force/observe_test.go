package force_test

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/frontier/bolt/repair"
	"curtsy/frontier/canon"
)

// sight is what a file holds.
type sight struct {
	seen        map[string]bool
	pending     map[string]int // attempts
	outcomes    frontier.Outcomes
	quarantined int64
	hosts       map[string]frontier.Host // as they are stored
	from, to    int64                    // around the look at the hosts
}

// clean fails the test when Check finds something.
func clean(t testing.TB, file string) {
	t.Helper()
	found, err := repair.Check(file)
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	if len(found) > 0 {
		t.Fatalf("Check found %q", found)
	}
}

// look returns what the file holds about URLs. The file stays as it is: a copy is emptied, in virtual time.
func look(t *testing.T, file string, urls []string) *sight {
	t.Helper()
	s := &sight{seen: map[string]bool{}, pending: map[string]int{}, hosts: map[string]frontier.Host{}}
	s.lookAtHosts(t, file)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(other, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { s.empty(t, other, urls) })
	clean(t, other)
	os.Remove(other)
	return s
}

func (s *sight) lookAtHosts(t *testing.T, file string) {
	t.Helper()
	f, err := bolt.OpenReadOnly(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s.from = now()
	hosts, err := f.Hosts(t.Context(), canon.Authority{}, 10_000)
	s.to = now()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts {
		s.hosts[h.Authority.String()] = h
	}
}

// empty claims all that is pending.
func (s *sight) empty(t *testing.T, file string, urls []string) {
	ctx := context.Background()
	f, err := bolt.Open(file, frontier.Options{Pace: longestPace})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parsed := make([]canon.URL, len(urls))
	for i, u := range urls {
		parsed[i] = parse(u)
	}
	seen, err := f.Seen(ctx, parsed)
	if err != nil {
		t.Fatal(err)
	}
	for i, u := range urls {
		s.seen[u] = seen[i]
	}
	st, err := f.Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.outcomes, s.quarantined = st.Outcomes, st.Reasons[frontier.Failed][frontier.ReasonQuarantined]
	for {
		c, err := f.Claim(ctx, frontier.Want{Hosts: 100, Tasks: 10_000, MaxWait: math.MaxInt64 - 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Turns) == 0 {
			if c.State != frontier.Drained {
				t.Errorf("at the end the frontier is in state %d", c.State)
			}
			break
		}
		var rs []frontier.Result
		for _, turn := range c.Turns {
			rs = append(rs, s.take(t, turn))
		}
		if _, err := f.Finish(ctx, rs); err != nil {
			t.Fatal(err)
		}
	}
	if n := int64(len(s.pending)); n != st.Queued+st.Deferred {
		t.Errorf("%d URLs were given, and %d were pending", n, st.Queued+st.Deferred)
	}
}

// take closes the tasks of a turn.
func (s *sight) take(t *testing.T, turn frontier.Turn) frontier.Result {
	r := frontier.Result{Authority: turn.Authority, Token: turn.Token}
	for _, x := range turn.Tasks {
		u := x.URL.String()
		if _, twice := s.pending[u]; twice {
			t.Errorf("%s was given, closed, and given again", u)
		}
		s.pending[u] = x.Attempts
		r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Fetched})
	}
	return r
}

func parse(url string) canon.URL {
	u, err := canon.Parse(url)
	if err != nil {
		panic(err)
	}
	return u
}

// same reports whether two files hold the same.
func (s *sight) same(o *sight) bool {
	if len(s.hosts) != len(o.hosts) {
		return false
	}
	for name, h := range s.hosts {
		g := o.hosts[name]
		if h.Condition != g.Condition || h.Reason != g.Reason || h.Pace != g.Pace || h.Outcomes != g.Outcomes ||
			string(h.Robots) != string(g.Robots) || string(h.Memory) != string(g.Memory) {
			return false
		}
	}
	return maps.Equal(s.seen, o.seen) && maps.Equal(s.pending, o.pending) && s.outcomes == o.outcomes
}

// compare checks what the child left in the file, and takes it as what is so.
func (m *model) compare(t *testing.T, file string, killed int64) {
	t.Helper()
	clean(t, file)
	urls := slices.Sorted(maps.Keys(m.pages))
	s := look(t, file, urls)
	known := int64(0)
	for _, p := range m.pages {
		if p.quarantined && p.last().outcome != 0 {
			known++
		}
	}
	newly := s.quarantined - known
	for _, url := range urls {
		newly = m.settle(m.pages[url], s, newly)
	}
	for url := range s.pending {
		if m.pages[url] == nil {
			m.fault("%s is pending, and nobody found it", url)
		}
	}
	for name, x := range m.sites {
		m.settleSite(name, x, s, killed)
	}
	m.ops = map[int]*op{}
	m.tally.cycles++
}

// settle finds the state in which p is among those in which it may be.
func (m *model) settle(p *page, s *sight, newly int64) int64 {
	attempts, pending := s.pending[p.url]
	flight := p.claimed || p.sent
	if flight {
		m.tally.inFlight++
		if pending {
			m.tally.repeated++
		}
	}
	p.claimed, p.sent = false, false
	for i := len(p.may) - 1; i >= 0; i-- {
		x := p.may[i]
		if x.exists == s.seen[p.url] && (x.exists && x.outcome == 0) == pending && (!pending || x.attempts == attempts) {
			p.may = []state{x}
			return newly
		}
	}
	first, last := p.may[0], p.last()
	switch {
	case newly > 0 && s.seen[p.url] && !pending:
		newly--
		m.tally.quarantined++
		p.quarantined = true
	case !s.seen[p.url], !pending && first.exists && first.outcome == 0:
		m.tally.lost++
		m.fault("%s is lost: it was acknowledged as %+v", p.url, first)
	case pending && first.outcome != 0:
		m.tally.resurrected++
		m.fault("%s comes again: it was acknowledged as %+v", p.url, first)
	default:
		m.fault("%s: pending %v with %d attempts, and may be %+v", p.url, pending, attempts, p.may)
	}
	last.exists, last.attempts = s.seen[p.url], attempts
	if !pending {
		last.outcome = frontier.Failed
	} else {
		last.outcome = 0
	}
	p.may = []state{last}
	return newly
}

// settleSite does so for a host.
func (m *model) settleSite(name string, x *site, s *sight, killed int64) {
	h := s.hosts[name]
	if x.out {
		x.out, x.end = false, max(x.end, killed) // its exchange went on until then
	}
	i := slices.IndexFunc(x.may, func(c shut) bool { return c.reason == h.Reason })
	if i < 0 {
		m.fault("%s is %d for %q, and may be %+v", name, h.Condition, h.Reason, x.may)
		return
	}
	c := x.may[i]
	x.may, x.pace = []shut{c}, int64(h.Pace)
	until := s.to + int64(h.Wait)
	if until < c.min-allowance && c.min > s.to {
		m.fault("%s was parked for %s longer", name, time.Duration(c.min-until))
	}
	bound := max(c.max, m.openedAt+int64(longestPace), x.end+int64(longestPace))
	if c.max != 0 && h.Wait > 0 && s.from+int64(h.Wait) > bound+allowance {
		m.fault("%s is parked for %s beyond its length", name, time.Duration(s.from+int64(h.Wait)-bound))
	}
	hold := h.Hold.Reason
	i = slices.IndexFunc(x.holds, func(c shut) bool { return c.reason == hold || hold == "" && c.min <= s.to })
	if i < 0 {
		m.fault("%s is held for %q, and may be %+v", name, hold, x.holds)
		return
	}
	x.holds = []shut{x.holds[i]}
	if hold != "" {
		x.holds[0].max = s.to // it stands in the file, so it has been obeyed
	}
}
