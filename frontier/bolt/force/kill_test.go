package force_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// The child is killed at a random instant, from its start on, again and again on the same file.
func TestKill_NothingAcknowledgedIsLostAndNothingFinishedComesAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "frontier.db")
	m := newModel()
	rnd := rand.New(rand.NewPCG(7, uint64(now())))
	for m.tally.cycles < sizes(20, 100) {
		seed := rnd.Uint64()
		p := start(t, "", "crowd", file, seed, m.hear)
		time.Sleep(time.Duration(rnd.IntN(400)) * time.Millisecond) // the instant, in the real time of the other process
		killed := now()
		p.kill()
		if p.listen != nil || p.errors.Len() > 0 {
			t.Fatalf("cycle %d: child: %v\n%s", m.tally.cycles, p.listen, p.errors.String())
		}
		if m.openedAt == 0 && len(m.pages) == 0 {
			continue // it had not even made the file, or made it and told nobody
		}
		m.compare(t, file, killed)
		if len(m.faults) > 0 {
			t.Fatalf("cycle %d, child's seed %d: %q", m.tally.cycles, seed, m.faults)
		}
	}
	n := m.tally
	t.Logf("kill: %d cycles, %d turns, %d calls acknowledged, %d URLs, %d parks, %d operator's commands, %d tried again; "+
		"lost %d, resurrected %d, quarantined %d, repeated %d of %d in flight",
		n.cycles, n.claims, n.acknowledged, len(m.pages), n.parks, n.steered, n.retried, n.lost, n.resurrected, n.quarantined, n.repeated, n.inFlight)
	if n.acknowledged < 10*n.cycles || n.inFlight < n.cycles || n.parks == 0 {
		t.Errorf("so little was done that it proves nothing: %+v", n)
	}
}
