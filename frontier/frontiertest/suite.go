package frontiertest

import (
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"curtsy/frontier"
)

// Run holds an engine to the contract of package frontier: one sub-test per rule, each in a directory and a
// synctest bubble of its own.
func Run(t *testing.T, h Harness) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // each rule opens frontiers and leaves them: little lives
	lacking := map[string][]rule{}
	for _, r := range slices.Concat(scripted(), acceptRules, orderRules, leaseRules, hostRules, stopRules, suspectRules, operatorRules) {
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

// Harness is how the suite handles an engine. Everything happens inside a testing/synctest bubble: time is virtual,
// real file I/O is fine, and every goroutine that the engine starts must have ended when Close or Crash returns.
// The engine must wait with timers, channels and conditions: a goroutine that waits for a sync.Mutex held across
// such a wait stops the virtual clock.
type Harness struct {
	// Open opens the frontier in dir: a new one in an empty directory, otherwise the one that was left there. It
	// fails the test with t.Fatal. At most one frontier is open in a directory at a time. Required.
	Open func(t testing.TB, dir string, o frontier.Options) frontier.Frontier

	// Crash ends f as kill -9 would: nothing more is committed, nothing is marked clean, files and locks are
	// released, calls that block return an error. The directory is opened again afterwards. Nil skips every rule
	// that is about crashes.
	Crash func(t testing.TB, f frontier.Frontier)

	// Check examines what a closed frontier left in dir, with t.Error for each fault. It is called at the end of
	// every test and after every crash and close of the workload. Nil means that there is nothing to examine.
	Check func(t testing.TB, dir string)

	// Lacks are the beginnings of the names of rules that the engine does not keep yet. Of the rules with one of them at
	// least one must fail, so that the list cannot grow old.
	Lacks []string
}

// rule is one sentence of the contract and a test of it.
type rule struct {
	Name    string           // the sentence
	Options frontier.Options // what the frontier is opened with
	Crash   bool             // the test needs Harness.Crash
	Test    func(s *Stage)
}

// CheckSums fails unless the totals of the frontier agree with each other and with those of its hosts. It is called
// after every step of every test.
func (s *Stage) CheckSums() {
	s.Helper()
	synctest.Wait() // a claim that waits may have been woken by this step: it must have its turn before both looks
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
