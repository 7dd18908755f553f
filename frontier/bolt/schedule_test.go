package bolt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// simple is the obvious schedule: a map, searched whole.
type simple struct {
	due  map[uint32]int64
	turn map[uint32]uint32
}

func (m *simple) first() (first uint32, ok bool) {
	for id := range m.due {
		if !ok || m.before(id, first) {
			first, ok = id, true
		}
	}
	return first, ok
}

func (m *simple) before(a, b uint32) bool {
	switch {
	case m.due[a] != m.due[b]:
		return m.due[a] < m.due[b]
	case m.turn[a] != m.turn[b]:
		return m.turn[a] < m.turn[b]
	}
	return a < b
}

func TestSchedule_EqualsMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	var s schedule
	m := simple{due: map[uint32]int64{}, turn: map[uint32]uint32{}}
	turns := uint32(0)
	for range 100_000 {
		id, at := uint32(rng.IntN(50)), rng.Int64N(20)
		was, in := m.due[id]
		switch rng.IntN(7) {
		case 0, 1:
			changed := !in || at < was
			require.Truef(t, s.Enter(id, at) == changed, "Enter(%d, %d): %v; it was due at %d, %v", id, at, !changed, was, in)
			if changed {
				m.due[id] = at
			}
		case 2:
			s.Remove(id)
			delete(m.due, id)
		case 3:
			s.Leave(id)
			delete(m.due, id)
			turns++
			s.Served(id, turns)
			m.turn[id] = turns
		case 4:
			if !in {
				turns++
				s.Served(id, turns)
				m.turn[id] = turns
			}
		default:
			want, ok := m.first()
			ok = ok && m.due[want] <= at
			got, due, found := s.Next(at)
			if found != ok || ok && (got != want || due != m.due[want]) {
				t.Fatalf("Next(%d): %d due at %d, %v; want %d due at %d, %v", at, got, due, found, want, m.due[want], ok)
			}
			if ok {
				delete(m.due, want)
			}
		}
		check(t, &s, &m, id)
	}
}

// check compares s with the model, and the heap with its bound.
func check(t *testing.T, s *schedule, m *simple, id uint32) {
	t.Helper()
	earliest := int64(math.MaxInt64)
	if first, ok := m.first(); ok {
		earliest = m.due[first]
	}
	got := s.Earliest()
	require.Truef(t, got == earliest, "Earliest: %d, want %d", got, earliest)
	due, waiting := s.Due(id)
	want, in := m.due[id]
	require.Truef(t, waiting == in && (!in || due == want), "Due(%d): %d, %v; want %d, %v", id, due, waiting, want, in)
	require.Truef(t, len(s.heap) <= 2*len(m.due)+64 || len(s.heap) <= 2*50+64, "%d entries for %d ids", len(s.heap), len(m.due))
}

func TestSchedule_NoAllocationsOnceItHasRoom(t *testing.T) {
	var s schedule
	for id := range uint32(1000) {
		s.Enter(id, int64(id))
	}
	turn := uint32(0)
	if n := testing.AllocsPerRun(2000, func() {
		id, due, _ := s.Next(math.MaxInt64)
		turn++
		s.Served(id, turn)
		s.Enter(id, due+1000)
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
	require.LessOrEqual(t, len(s.heap), 2*1000+64, "entries for 1000 ids")
}
