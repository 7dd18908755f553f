package frontiertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/model"
)

// Stage is one test of a rule: a directory, the frontier that is open in it, and calls that fail the test when the
// engine answers with an error. URLs are written short: "a/1" is http://a.test/1.
type Stage struct {
	testing.TB
	Harness  Harness
	dir      string
	Options  frontier.Options
	Frontier frontier.Frontier // nil when closed
}

// NewStage opens a frontier in dir, which is closed at the end of the test.
func NewStage(t testing.TB, h Harness, dir string, o frontier.Options) *Stage {
	s := &Stage{TB: t, Harness: h, dir: dir, Options: o}
	t.Cleanup(s.leave)
	s.Open(o)
	return s
}

// Open opens the frontier, as it was left.
func (s *Stage) Open(o frontier.Options) {
	s.Options = o
	s.Frontier = s.Harness.Open(s, s.dir, o)
}

// leave closes what the rule has left open, and has the directory examined.
func (s *Stage) leave() {
	if s.Frontier != nil {
		_ = s.Frontier.Close() // after a failed commit it has an error to give, and the rule has seen it
	}
	s.Check()
}

// Check has the directory examined.
func (s *Stage) Check() {
	if s.Harness.Check != nil {
		s.Harness.Check(s, s.dir)
	}
}

// Close closes the frontier, cleanly.
func (s *Stage) Close() {
	f := s.Frontier
	s.Frontier = nil
	require.NoError(s, f.Close(), "Close")
	s.Check()
}

// Reopen closes the frontier cleanly and opens it again, with other options if some are given.
func (s *Stage) Reopen(o ...frontier.Options) {
	s.Close()
	s.Open(append(o, s.Options)[0])
}

// Restart closes the frontier cleanly and opens it again, as it was.
func (s *Stage) Restart() { s.Reopen() }

// Outlast lets the time of a lease of turnLength pass.
func (s *Stage) Outlast() { s.Sleep(turnLength + time.Millisecond) }

// Same fails if what can be seen changes with a restart, except that there was one.
func (s *Stage) Same(restart func()) {
	before := s.Picture()
	restart()
	after := s.Picture()
	for _, p := range []model.Picture{before, after} {
		delete(p, "Unclean")
		delete(p, "Restarts")
	}
	require.Empty(s, before.Diff(after), "something has changed")
}

// Crash kills the frontier and opens it again.
func (s *Stage) Crash() {
	s.Kill()
	s.Open(s.Options)
}

// Kill ends the frontier as kill -9 would.
func (s *Stage) Kill() {
	f := s.Frontier
	s.Frontier = nil
	s.Harness.Crash(s, f)
	s.Check()
}

// URL reads a short URL.
func (s *Stage) URL(short string) canon.URL {
	a, path, _ := strings.Cut(short, "/")
	u, err := canon.Parse("http://" + a + ".test/" + path)
	require.NoError(s, err)
	return u
}

// Authority returns the authority of a short name.
func (s *Stage) Authority(name string) canon.Authority {
	return s.URL(name + "/").Authority()
}

// Short is the inverse of url.
func Short(u canon.URL) string {
	return strings.TrimSuffix(u.Host(), ".test") + u.Path()
}

// Links returns candidates as a page at via.test would name them.
func (s *Stage) Links(urls ...string) []frontier.Candidate {
	var cs []frontier.Candidate
	for _, u := range urls {
		cs = append(cs, frontier.Candidate{
			URL: s.URL(u), Kind: frontier.KindLink, Via: "http://via.test/", Depth: 1, Seed: "http://seed.test/", Tag: "tag",
		})
	}
	return cs
}

// Seeds returns candidates as a user would give them.
func (s *Stage) Seeds(urls ...string) []frontier.Candidate {
	cs := s.Links(urls...)
	for i := range cs {
		cs[i].Kind, cs[i].Via, cs[i].Depth, cs[i].Seed = frontier.KindSeed, "", 0, cs[i].URL.String()
	}
	return cs
}

// Refused returns candidates that the scope refuses for ever.
func (s *Stage) Refused(reason string, urls ...string) []frontier.Candidate {
	cs := s.Links(urls...)
	for i := range cs {
		cs[i].Refused = reason
	}
	return cs
}

// Pages returns n short URLs of a host: name/0, name/1, …
func Pages(name string, n int) []string {
	us := make([]string, n)
	for i := range us {
		us[i] = fmt.Sprintf("%s/%d", name, i)
	}
	return us
}

// Result returns an empty result of a turn.
func resultOf(t frontier.Turn) frontier.Result {
	return frontier.Result{Authority: t.Authority, Token: t.Token}
}

// Fetched returns a result that closes tasks of a turn as Fetched: the given ones, or all.
func Fetched(t frontier.Turn, tasks ...frontier.Task) frontier.Result {
	if tasks == nil {
		tasks = t.Tasks
	}
	return frontier.Result{Authority: t.Authority, Token: t.Token, Done: done(tasks...)}
}

// Names returns the short URLs of tasks.
func Names(ts []frontier.Task) string {
	var us []string
	for _, t := range ts {
		us = append(us, Short(t.URL))
	}
	return strings.Join(us, " ")
}

// Want fails unless got is what is wanted.
func Want[T any](s *Stage, what string, got, want T) {
	require.Equal(s, want, got, what)
}

// Parse reads a whole URL.
func (s *Stage) Parse(raw string) canon.URL {
	u, err := canon.Parse(raw)
	require.NoError(s, err)
	return u
}
