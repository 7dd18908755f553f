package frontiertest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// stage is one test of a rule: a directory, the frontier that is open in it, and calls that fail the test when the
// engine answers with an error. URLs are written short: "a/1" is http://a.test/1.
type stage struct {
	testing.TB
	h   Harness
	dir string
	o   frontier.Options
	f   frontier.Frontier // nil when closed
}

// newStage opens a frontier in dir, which is closed at the end of the test.
func newStage(t testing.TB, h Harness, dir string, o frontier.Options) *stage {
	s := &stage{TB: t, h: h, dir: dir, o: o}
	t.Cleanup(s.end)
	s.open(o)
	return s
}

func (s *stage) open(o frontier.Options) {
	s.Helper()
	s.o = o
	s.f = s.h.Open(s, s.dir, o)
}

// end closes what the rule has left open, and has the directory examined.
func (s *stage) end() {
	if s.f != nil {
		_ = s.f.Close() // after a failed commit it has an error to give, and the rule has seen it
	}
	s.check()
}

func (s *stage) check() {
	if s.h.Check != nil {
		s.h.Check(s, s.dir)
	}
}

// close closes the frontier, cleanly.
func (s *stage) close() {
	s.Helper()
	f := s.f
	s.f = nil
	if err := f.Close(); err != nil {
		s.Fatalf("Close: %v", err)
	}
	s.check()
}

// reopen closes the frontier cleanly and opens it again.
func (s *stage) reopen() {
	s.Helper()
	s.close()
	s.open(s.o)
}

// crash kills the frontier and opens it again.
func (s *stage) crash() {
	s.Helper()
	s.kill()
	s.open(s.o)
}

// kill ends the frontier as kill -9 would.
func (s *stage) kill() {
	s.Helper()
	f := s.f
	s.f = nil
	s.h.Crash(s, f)
	s.check()
}

// url reads a short URL.
func (s *stage) url(short string) canon.URL {
	s.Helper()
	a, path, _ := strings.Cut(short, "/")
	u, err := canon.Parse("http://" + a + ".test/" + path)
	if err != nil {
		s.Fatal(err)
	}
	return u
}

// auth returns the authority of a short name.
func (s *stage) auth(name string) canon.Authority {
	s.Helper()
	return s.url(name + "/").Authority()
}

// short is the inverse of url.
func short(u canon.URL) string {
	return strings.TrimSuffix(u.Host(), ".test") + u.Path()
}

// links returns candidates as a page at via.test would name them.
func (s *stage) links(urls ...string) []frontier.Candidate {
	s.Helper()
	var cs []frontier.Candidate
	for _, u := range urls {
		cs = append(cs, frontier.Candidate{
			URL: s.url(u), Kind: frontier.KindLink, Via: "http://via.test/", Depth: 1, Seed: "http://seed.test/", Tag: "tag",
		})
	}
	return cs
}

// seeds returns candidates as a user would give them.
func (s *stage) seeds(urls ...string) []frontier.Candidate {
	s.Helper()
	cs := s.links(urls...)
	for i := range cs {
		cs[i].Kind, cs[i].Via, cs[i].Depth, cs[i].Seed = frontier.KindSeed, "", 0, cs[i].URL.String()
	}
	return cs
}

// refused returns candidates that the scope refuses for ever.
func (s *stage) refused(reason string, urls ...string) []frontier.Candidate {
	s.Helper()
	cs := s.links(urls...)
	for i := range cs {
		cs[i].Refused = reason
	}
	return cs
}

// pages returns n short URLs of a host: name/0, name/1, …
func pages(name string, n int) []string {
	us := make([]string, n)
	for i := range us {
		us[i] = fmt.Sprintf("%s/%d", name, i)
	}
	return us
}

// result returns an empty result of a turn.
func result(t frontier.Turn) frontier.Result {
	return frontier.Result{Authority: t.Authority, Token: t.Token}
}

// fetched returns a result that closes tasks of a turn as Fetched: the given ones, or all.
func fetched(t frontier.Turn, tasks ...frontier.Task) frontier.Result {
	if tasks == nil {
		tasks = t.Tasks
	}
	r := result(t)
	for _, x := range tasks {
		r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Fetched})
	}
	return r
}

// names returns the short URLs of tasks.
func names(ts []frontier.Task) string {
	var us []string
	for _, t := range ts {
		us = append(us, short(t.URL))
	}
	return strings.Join(us, " ")
}

// want fails unless got is what is wanted.
func want[T any](s *stage, what string, got, want T) {
	s.Helper()
	if !reflect.DeepEqual(got, want) {
		s.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// parse reads a whole URL.
func (s *stage) parse(raw string) canon.URL {
	s.Helper()
	u, err := canon.Parse(raw)
	if err != nil {
		s.Fatal(err)
	}
	return u
}
