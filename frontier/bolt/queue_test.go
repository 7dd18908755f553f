package bolt

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"curtsy/frontier/bolt/layout"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type task struct {
	ref     layout.Ref
	due     int64
	tried   bool
	suspect bool
}

// simpleQueue is the obvious queue: a slice, sorted for each question.
type simpleQueue struct {
	deep  bool
	tasks []task
}

func (m *simpleQueue) ready(now int64) (refs []layout.Ref) {
	var all []task
	for _, t := range m.tasks {
		if !t.suspect && t.due <= now {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b task) int {
		if a.tried != b.tried {
			if a.tried {
				return 1
			}
			return -1
		}
		return m.compare(a.ref, b.ref)
	})
	for _, t := range all {
		refs = append(refs, t.ref)
	}
	return refs
}

func (m *simpleQueue) compare(a, b layout.Ref) int {
	if m.deep {
		a, b = b, a
	}
	return cmp.Compare(a, b)
}

func (m *simpleQueue) suspect() (first layout.Ref) {
	for _, t := range m.tasks {
		if t.suspect && (first == 0 || m.compare(t.ref, first) < 0) {
			first = t.ref
		}
	}
	return first
}

func (m *simpleQueue) remove(refs []layout.Ref) {
	m.tasks = slices.DeleteFunc(m.tasks, func(t task) bool { return slices.Contains(refs, t.ref) })
}

func (m *simpleQueue) all() (refs []layout.Ref) {
	for _, t := range m.tasks {
		refs = append(refs, t.ref)
	}
	slices.Sort(refs)
	return refs
}

// trial is a queue and its model.
type trial struct {
	*testing.T
	rng  *rand.Rand
	q    queue
	m    simpleQueue
	now  int64
	next layout.Ref
	gap  int    // the most between two references
	out  []task // as under a lease
}

func TestQueue_EqualsSortedSlice(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 20 // slow under the race detector
	}
	for _, deep := range []bool{false, true} {
		t.Run(fmt.Sprintf("deep=%v", deep), func(t *testing.T) {
			for seed := range seeds {
				x := &trial{T: t, rng: rand.New(rand.NewPCG(seed, 6)), q: newQueue(deep), m: simpleQueue{deep: deep}, next: layout.MakeRef(1, 0), gap: int(seed%4) + 1}
				for range 300 {
					x.step()
					x.check()
				}
				x.drain()
			}
		})
	}
}

func (x *trial) step() {
	switch x.rng.IntN(8) {
	case 0, 1:
		for range x.rng.IntN(20) {
			x.q.Push(x.next)
			x.m.tasks = append(x.m.tasks, task{ref: x.next})
			x.next += layout.Ref(1 + x.rng.IntN(x.gap))
		}
	case 2:
		n := x.rng.IntN(6)
		got, want := x.q.Take(x.now, n), x.m.ready(x.now)
		if want = want[:min(n, len(want))]; !slices.Equal(got, want) {
			x.Fatalf("Take(%d, %d): %v, want %v", x.now, n, got, want)
		}
		x.taken(got)
	case 3, 4:
		x.giveBack()
	case 5:
		if r := x.m.suspect(); r != 0 {
			got := x.q.Suspect()
			require.Truef(x, got == r, "Suspect: %v, want %v", got, r)
			x.taken([]layout.Ref{x.q.TakeSuspect()})
		}
	case 6:
		var refs []layout.Ref
		for range x.rng.IntN(5) {
			refs = append(refs, layout.MakeRef(1, 0)+layout.Ref(x.rng.IntN(int(x.next-layout.MakeRef(1, 0))+1)))
		}
		slices.Sort(refs)
		refs = slices.Compact(refs)
		got := x.q.TakeThese(refs)
		slices.Sort(got)
		want := slices.DeleteFunc(refs, func(r layout.Ref) bool { return !slices.Contains(x.m.all(), r) })
		require.Truef(x, slices.Equal(got, want), "TakeThese: %v, want %v", got, want)
		x.m.remove(want)
	case 7:
		x.now += int64(x.rng.IntN(10))
	}
}

// taken records given references. Whether a deferred task was tried is set when it comes back.
func (x *trial) taken(refs []layout.Ref) {
	for _, r := range refs {
		x.out = append(x.out, task{ref: r})
	}
	x.m.remove(refs)
}

// giveBack returns one of the given references, in a random way.
func (x *trial) giveBack() {
	if len(x.out) == 0 {
		return
	}
	i := x.rng.IntN(len(x.out))
	t := x.out[i]
	x.out = slices.Delete(x.out, i, i+1)
	switch x.rng.IntN(4) {
	case 0:
		return // closed
	case 1:
		x.q.GiveBack(t.ref)
	case 2:
		t.suspect = true
		x.q.GiveSuspect(t.ref)
	case 3:
		t.due, t.tried = x.now+int64(x.rng.IntN(20)), x.rng.IntN(2) == 0
		x.q.GiveLater(t.ref, t.due, t.tried)
	}
	x.m.tasks = append(x.m.tasks, t)
}

// check compares q with the model, without a change.
func (x *trial) check() {
	at, ok := x.q.Available(x.now)
	want, some := int64(0), false
	for _, t := range x.m.tasks {
		if due := max(t.due, x.now); !t.suspect && (!some || due < want) {
			want, some = due, true
		}
	}
	require.Truef(x, ok == some && (!ok || max(at, x.now) == want), "Available(%d): %d, %v; want %d, %v", x.now, at, ok, want, some)
	require.Truef(x, x.q.Suspected() == (x.m.suspect() != 0), "Suspected: %v", x.q.Suspected())
}

// drain takes the rest in batches, due or not; an empty queue holds no memory.
func (x *trial) drain() {
	var got []layout.Ref
	for {
		refs := x.q.TakeAny(7)
		got = append(got, refs...)
		if len(refs) < 7 {
			break
		}
	}
	slices.Sort(got)
	require.Truef(x, slices.Equal(got, x.m.all()), "TakeAny: %v, want %v", got, x.m.all())
	require.Truef(x, x.q.Plain() && x.q.Runs() == 0, "an empty queue holds memory: %+v", x.q)
}

func TestQueue_MemoryFollowsContents(t *testing.T) {
	var q runs
	for i := range 100_000 {
		q.push(layout.MakeRef(uint64(i+1), 0))
		if i >= 100 {
			q.pop()
		}
	}
	assert.LessOrEqual(t, cap(q.runs), 400, "room for 100 runs")
	for i := range 1000 {
		q.push(layout.MakeRef(uint64(200_000+i), 0))
	}
	for range 1000 {
		q.popBack()
	}
	assert.LessOrEqual(t, cap(q.runs), 400, "room for 100 runs, when others were taken from the back")
}
