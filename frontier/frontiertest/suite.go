package frontiertest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Run tests an engine against the contract of package frontier: one sub-test per rule, each in its own directory and
// synctest bubble.
func Run(t *testing.T, h Harness) {
	lacking := map[string][]rule{}
	for _, r := range slices.Concat(scriptRules(), acceptRules, orderRules, leaseRules, hostRules, stopRules, suspectRules, operatorRules) {
		if i := slices.IndexFunc(h.Lacks, func(name string) bool { return strings.HasPrefix(r.Name, name) }); i >= 0 {
			lacking[h.Lacks[i]] = append(lacking[h.Lacks[i]], r)
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			if r.Crash && h.Crash == nil {
				t.Skip("the engine cannot be crashed")
			}
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { r.Test(NewStage(t, h, dir, r.Options)) })
		})
	}
	for _, name := range h.Lacks {
		t.Run("lacking "+name, func(t *testing.T) {
			for _, r := range lacking[name] {
				dir := t.TempDir()
				failed := false
				synctest.Test(t, func(t *testing.T) {
					failed = fails(t, func(t testing.TB) { r.Test(NewStage(t, h, dir, r.Options)) })
				})
				if failed {
					return
				}
			}
			t.Errorf("listed as lacking, but all of %d rules pass", len(lacking[name]))
		})
	}
}

// Harness is how the suite handles an engine, always inside a testing/synctest bubble: time is virtual, real file I/O
// is fine, and every goroutine of the engine must have ended when Close or Crash returns. The engine must wait with
// timers, channels and conditions: a goroutine that waits for a sync.Mutex held across such a wait stops the virtual
// clock.
type Harness struct {
	// Open opens the frontier in dir: a new one in an empty directory, otherwise the one that is there. It fails the
	// test with t.Fatal. At most one frontier is open in a directory at a time. Required.
	Open func(t testing.TB, dir string, o frontier.Options) frontier.Frontier

	// Crash ends f as kill -9 would: nothing more is committed, nothing is marked clean, files and locks are released,
	// calls that block return an error. The directory is opened again afterwards. Nil skips the rules about crashes.
	Crash func(t testing.TB, f frontier.Frontier)

	// Check examines the directory of a closed frontier, with t.Error for each fault: at the end of every test and
	// after every crash and close of the workload. Nil checks nothing.
	Check func(t testing.TB, dir string)

	// Lacks are prefixes of the names of rules that the engine does not keep yet. At least one rule of each must fail,
	// so that the list stays current.
	Lacks []string
}

type rule struct {
	Name    string           // the sentence
	Options frontier.Options // of the frontier
	Crash   bool             // the test needs Harness.Crash
	Test    func(s *Stage)
}

// CheckSums fails unless the totals of the frontier agree with each other and with those of its hosts, after every step
// of every test.
func (s *Stage) CheckSums() {
	s.Helper()
	synctest.Wait() // a waiting claim that this step has woken must have its turn first
	st := s.Stats()
	for o, n := range st.Outcomes {
		for reason, m := range st.Reasons[frontier.Outcome(o)] {
			if n -= m; reason == "" || m <= 0 || n < 0 {
				s.Fatalf("Stats: %d URLs %v, but reasons %v", st.Outcomes[o], frontier.Outcome(o), st.Reasons)
			}
		}
	}
	sum := sumOf(s.Hosts(64))
	// A refused candidate need not make its authority known: the URLs out of scope are many.
	if more := st.Outcomes[frontier.Dropped] - sum.Outcomes[frontier.Dropped]; more > 0 {
		sum.Outcomes[frontier.Dropped] += more
		sum.Discovered += more
	}
	st.Reasons, st.Capped, st.Counts = nil, nil, nil
	st.Suspects, st.Size, st.State, st.Due, st.Unclean, st.Restarts = 0, 0, 0, 0, false, 0
	Want(s, "the totals, as sums over the hosts", st, sum)
}

// Stage is one test of a rule: a directory, the frontier that is open in it, and calls that fail the test when the
// engine returns an error. URLs are short: "a/1" is http://a.test/1.
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
	t.Cleanup(func() {
		if s.Frontier != nil {
			_ = s.Frontier.Close() // fails after a failed commit, which the rule has seen
		}
		s.Check()
	})
	s.Open(o)
	return s
}

func (s *Stage) Open(o frontier.Options) {
	s.Options = o
	s.Frontier = s.Harness.Open(s, s.dir, o)
}

func (s *Stage) Check() {
	if s.Harness.Check != nil {
		s.Harness.Check(s, s.dir)
	}
}

func (s *Stage) Close() {
	f := s.Frontier
	s.Frontier = nil
	require.NoError(s, f.Close(), "Close")
	s.Check()
}

// Reopen closes the frontier cleanly and opens it again, with other options if given.
func (s *Stage) Reopen(o ...frontier.Options) {
	s.Close()
	s.Open(append(o, s.Options)[0])
}

// Same fails if the visible state changes with a restart, except that there was one.
func (s *Stage) Same(restart func()) {
	before := s.Picture()
	restart()
	after := s.Picture()
	for _, p := range []Picture{before, after} {
		delete(p, "Unclean")
		delete(p, "Restarts")
	}
	require.Empty(s, before.Diff(after), "something has changed")
}

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

func (s *Stage) URL(short string) canon.URL {
	a, path, _ := strings.Cut(short, "/")
	u, err := canon.Parse("http://" + a + ".test/" + path)
	require.NoError(s, err)
	return u
}

func (s *Stage) Authority(name string) canon.Authority {
	return s.URL(name + "/").Authority()
}

// Short is the inverse of Stage.URL.
func Short(u canon.URL) string {
	return strings.TrimSuffix(u.Host(), ".test") + u.Path()
}

// Links returns candidates as found on a page of via.test.
func (s *Stage) Links(urls ...string) []frontier.Candidate {
	var cs []frontier.Candidate
	for _, u := range urls {
		cs = append(cs, frontier.Candidate{
			URL: s.URL(u), Kind: frontier.KindLink, Via: "http://via.test/", Depth: 1, Seed: "http://seed.test/", Tag: "tag",
		})
	}
	return cs
}

// Seeds returns candidates as given by a user.
func (s *Stage) Seeds(urls ...string) []frontier.Candidate {
	cs := s.Links(urls...)
	for i := range cs {
		cs[i].Kind, cs[i].Via, cs[i].Depth, cs[i].Seed = frontier.KindSeed, "", 0, cs[i].URL.String()
	}
	return cs
}

// Refused returns candidates out of scope.
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

func Names(ts []frontier.Task) string {
	return shorts(ts, func(t frontier.Task) canon.URL { return t.URL })
}

func shorts[T any](all []T, url func(T) canon.URL) string {
	us := make([]string, len(all))
	for i, x := range all {
		us[i] = Short(url(x))
	}
	return strings.Join(us, " ")
}

func Want[T any](s *Stage, what string, got, want T) {
	require.Equal(s, want, got, what)
}

func (s *Stage) Add(cs ...[]frontier.Candidate) frontier.Added {
	added, err := s.Frontier.Add(s.Context(), slices.Concat(cs...))
	require.NoError(s, err, "Add")
	s.CheckSums()
	return added
}

// Claim claims hosts that are due now.
func (s *Stage) Claim(hosts, tasks int) frontier.Claimed {
	return s.ClaimWithin(hosts, tasks, 0)
}

// ClaimWithin claims hosts that are due within wait.
func (s *Stage) ClaimWithin(hosts, tasks int, wait time.Duration) frontier.Claimed {
	c, err := s.Frontier.Claim(s.Context(), frontier.Want{Hosts: hosts, Tasks: tasks, MaxWait: wait})
	require.NoError(s, err, "Claim")
	s.CheckSums()
	return c
}

// Turn claims the first due host, and fails when none is due.
func (s *Stage) Turn(tasks int) frontier.Turn {
	c := s.Claim(1, tasks)
	require.Lenf(s, c.Turns, 1, "Claim of one host: state %d, due %v", c.State, c.Due)
	return c.Turns[0]
}

// Blocked claims, and fails unless the call blocks for d.
func (s *Stage) Blocked(d time.Duration) {
	ctx, cancel := context.WithTimeout(s.Context(), d)
	defer cancel()
	c, err := s.Frontier.Claim(ctx, frontier.Want{Hosts: 10, Tasks: 10, MaxWait: frontier.Never})
	require.ErrorIsf(s, err, context.DeadlineExceeded, "Claim for %v does not block: %d turns, state %d, due %v", d, len(c.Turns), c.State, c.Due)
}

// Waiting starts a Claim that has to wait. The returned function returns its answer, and fails when the Claim still
// waits although every goroutine is blocked.
func (s *Stage) Waiting(w frontier.Want) func() (frontier.Claimed, error) {
	s.Helper()
	var c frontier.Claimed
	var err error
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(s.Context())
	s.Cleanup(cancel)
	go func() {
		defer close(done)
		c, err = s.Frontier.Claim(ctx, w)
	}()
	synctest.Wait()
	select {
	case <-done:
		s.Fatalf("Claim does not wait: %d turns, state %d, due %v, error %v", len(c.Turns), c.State, c.Due, err)
	default:
	}
	return func() (frontier.Claimed, error) {
		s.Helper()
		synctest.Wait()
		select {
		case <-done:
		default:
			s.Fatal("Claim still waits")
		}
		return c, err
	}
}

// Finish finishes one turn and fails unless the result is applied.
func (s *Stage) Finish(r frontier.Result) frontier.Finished {
	f := s.finishAll([]frontier.Result{r})[0]
	require.NoErrorf(s, f.Err, "Finish %s", r.Authority)
	return f
}

func (s *Stage) finishAll(rs []frontier.Result) []frontier.Finished {
	fs, err := s.Frontier.Finish(s.Context(), rs)
	require.NoError(s, err, "Finish")
	require.Len(s, fs, len(rs))
	s.CheckSums()
	return fs
}

func (s *Stage) Sync() {
	require.NoError(s, s.Frontier.Sync(s.Context()), "Sync")
}

func (s *Stage) Sleep(d time.Duration) { time.Sleep(d) }

func (s *Stage) Stats() frontier.Stats {
	st, err := s.Frontier.Stats(s.Context())
	require.NoError(s, err, "Stats")
	return st
}

func (s *Stage) Host(name string) frontier.Host {
	h, ok, err := s.Frontier.Host(s.Context(), s.Authority(name))
	require.NoErrorf(s, err, "Host %s", name)
	require.Truef(s, ok, "Host %s is known", name)
	return h
}

func (s *Stage) Seen(u string) bool {
	seen, err := s.Frontier.Seen(s.Context(), []canon.URL{s.URL(u)})
	require.NoError(s, err, "Seen")
	require.Len(s, seen, 1)
	return seen[0]
}

// Hosts returns all hosts, read in pages of limit.
func (s *Stage) Hosts(limit int) []frontier.Host {
	var all []frontier.Host
	var after canon.Authority
	for {
		page, err := s.Frontier.Hosts(s.Context(), after, limit)
		require.NoErrorf(s, err, "Hosts after %q", after)
		require.LessOrEqual(s, len(page), limit)
		if len(page) == 0 {
			return all
		}
		all, after = append(all, page...), page[len(page)-1].Authority
	}
}

// Drain fetches tasks that are due within d, one at a time, and returns their short URLs in order.
func (s *Stage) Drain(d time.Duration) []string {
	var us []string
	for {
		c := s.ClaimWithin(1, 1, d)
		if len(c.Turns) == 0 {
			return us
		}
		us = append(us, Names(c.Turns[0].Tasks))
		s.Finish(Fetched(c.Turns[0]))
	}
}

// blob returns the blob of a body, which must exist.
func (s *Stage) blob(body string) []byte {
	b, err := s.Frontier.Blob(s.Context(), digest(body))
	require.NoError(s, err, "Blob")
	require.Equal(s, body, string(b))
	return b
}

func (s *Stage) Picture() Picture {
	seeds, err := frontier.SeedsOf(s.Context(), s.Frontier)
	require.NoError(s, err, "AllSeeds")
	return takePicture(s.Stats(), s.Hosts(100), seeds)
}

func digest(body string) [sha256.Size]byte { return sha256.Sum256([]byte(body)) }

// fails runs a test that may fail, and reports whether it does.
func fails(t testing.TB, test func(t testing.TB)) bool {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := &apart{TB: t, ctx: ctx}
	for _, f := range []func(){func() { test(a) }, func() {
		for _, f := range slices.Backward(a.cleanups) {
			f()
		}
	}} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
		cancel()
	}
	return a.failed.Load()
}

// apart is a test that does not fail its parent.
type apart struct {
	testing.TB
	ctx      context.Context
	failed   atomic.Bool
	cleanups []func()
}

func (a *apart) Context() context.Context { return a.ctx }
func (a *apart) Cleanup(f func())         { a.cleanups = append(a.cleanups, f) }
func (a *apart) Fail()                    { a.failed.Store(true) }
func (a *apart) Failed() bool             { return a.failed.Load() }
func (a *apart) FailNow()                 { a.Fail(); runtime.Goexit() }
func (a *apart) Error(...any)             { a.Fail() }
func (a *apart) Errorf(string, ...any)    { a.Fail() }
func (a *apart) Fatal(...any)             { a.FailNow() }
func (a *apart) Fatalf(string, ...any)    { a.FailNow() }

// CloseAll closes due tasks by their paths: /d… Disallowed, /f… Failed, /g… Gone, /x… Dropped, others Fetched. The
// first letter is the reason.
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

// NotDue fails unless ClaimAuthority returns ErrNotDue.
func (s *Stage) NotDue(why, name string) {
	_, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority(name))
	require.ErrorIs(s, err, frontier.ErrNotDue, why)
	s.CheckSums()
}

func (s *Stage) Retry(r frontier.Retrial) frontier.Retried {
	n, err := s.Frontier.Retry(s.Context(), r)
	require.NoErrorf(s, err, "Retry %+v", r)
	s.CheckSums()
	return n
}

func (s *Stage) Pending() string { return strings.Join(s.Drain(0), " ") }

// reasonOf returns the usual reason of an act.
func reasonOf(act frontier.Act) string {
	if act == frontier.Resume {
		return ""
	}
	return "an operator says so"
}

// FullResult returns a result with everything that a result can have.
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

const turnLength = 10 * time.Minute // lease length of the rules that set one

var leased = frontier.Options{LeaseLength: turnLength}

// Survey calls Survey for n hosts of each kind. They must equal those of Host, without robots state and memory.
func (s *Stage) Survey(n int) frontier.Survey {
	v, err := s.Frontier.Survey(s.Context(), n)
	require.NoError(s, err, "Survey")
	for _, h := range slices.Concat(v.Longest, v.Shut) {
		known, _, err := s.Frontier.Host(s.Context(), h.Authority)
		require.NoError(s, err, "Host")
		known.Robots, known.Memory = nil, nil
		Want(s, "a host of Survey", fmt.Sprintf("%+v", h), fmt.Sprintf("%+v", known))
	}
	return v
}

// end finishes t with r, whose lease it fills in.
func (s *Stage) end(t frontier.Turn, r frontier.Result) frontier.Finished {
	r.Authority, r.Token = t.Authority, t.Token
	return s.Finish(r)
}

func done(ts ...frontier.Task) (ds []frontier.Done) {
	for _, x := range ts {
		ds = append(ds, frontier.Done{Print: x.Print, Outcome: frontier.Fetched})
	}
	return ds
}

// Mortal is a frontier that a test can kill like a process.
type Mortal struct {
	frontier.Frontier
	killed atomic.Bool
}

// OpenMortal opens the frontier at path with open, which is that of an engine.
func OpenMortal(open func(path string, o frontier.Options) (frontier.Frontier, error), path string, o frontier.Options) (m *Mortal, err error) {
	m = &Mortal{}
	barrier := o.Barrier
	o.Barrier = func(ctx context.Context) error {
		if m.killed.Load() {
			return errors.New("the frontier was killed")
		}
		if barrier == nil {
			return nil
		}
		return barrier(ctx)
	}
	m.Frontier, err = open(path, o)
	return m, err
}

// Kill ends the frontier as kill -9 would: uncommitted results are lost, every later call fails, and the next opening
// finds an unclean stop.
func (m *Mortal) Kill() {
	m.killed.Store(true)
	nobody, _ := canon.ParseAuthority("http://nobody.test")
	_, _ = m.Steer(context.Background(), frontier.Steering{Act: frontier.Rest, Authority: nobody}) // a commit, which fails
	_ = m.Close()
}
