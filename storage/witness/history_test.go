package witness

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
)

// world is a log of whose operator one must expect everything: it has histories that part from each other at different
// places, and a key that signs all of them.
type world struct {
	operator  *checkpoint.Signer
	histories []*history
	notes     map[string]*checkpoint.Note
}

const longest = 33

func newWorld(t testing.TB, rng *rand.Rand) *world {
	w := &world{operator: signer(t, 1), notes: map[string]*checkpoint.Note{}}
	origin := checkpoint.Origin(w.operator, checkpoint.NewID())
	for variant := range 4 {
		fork := longest
		if variant > 0 {
			fork = rng.IntN(longest)
		}
		w.histories = append(w.histories, newHistory(t, origin, longest, fork, uint64(variant)))
	}
	return w
}

// note is a signed checkpoint of a history, made once.
func (w *world) note(t testing.TB, h *history, size int) *checkpoint.Note {
	key := fmt.Sprint(size, h.roots[size])
	if w.notes[key] == nil {
		w.notes[key] = note(t, h.checkpoint(size), w.operator)
	}
	return w.notes[key]
}

// cosigned is what a witness stated.
type cosigned struct {
	size int
	root tlog.Hash
}

// consistent is an error unless each tree continues all smaller ones, by the histories that there are.
func (w *world) consistent(all []cosigned) error {
	slices.SortFunc(all, func(a, b cosigned) int { return cmp.Compare(a.size, b.size) })
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if !slices.ContainsFunc(w.histories, func(h *history) bool { return h.roots[a.size] == a.root && h.roots[b.size] == b.root }) {
			return fmt.Errorf("it has cosigned a fork: size %d with root %v, and size %d with root %v", a.size, a.root, b.size, b.root)
		}
	}
	return nil
}

// disk is where a witness of a random history keeps its notes: memory that may fail, before or behind a write, as by a
// kill.
type disk struct {
	mu    sync.Mutex
	dir   string // for what is not kept in memory: evidence of forks
	files map[string][]byte
	kill  func() (before, behind bool)
}

var errKilled = errors.New("killed")

func (d *disk) keep(n *checkpoint.Note) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, behind := d.kill()
	if before {
		return errKilled
	}
	d.files[originHash(n.Origin)] = n.Marshal()
	if behind {
		return errKilled
	}
	return nil
}

// start is a witness as Open has it of what the disk has.
func (d *disk) start(t *testing.T, s *checkpoint.Signer, logs func() Logs) *Witness {
	w := &Witness{signer: s, logs: logs, say: func(string, ...any) {}, keep: d.keep, states: map[string]*state{}, store: &store{dir: d.dir}}
	for name, b := range d.files {
		st, err := believe(name, b, s.Key())
		if err != nil {
			t.Fatal(err)
		}
		w.states[name] = st
	}
	return w
}

// expected is the status that the specification demands of a request, where a witness keeps a tree of that size and root.
// The proof of a request is right if it was made for old and the checkpoint in the history named.
func expected(kept cosigned, old int, h *history, size int, right bool) int {
	switch {
	case old > size:
		return http.StatusBadRequest
	case old != kept.size:
		return http.StatusConflict
	case old == size && kept.root != h.roots[size], h.roots[old] != kept.root, !right:
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// A witness is asked for 10,000 random histories: forks, rollbacks, replays, wrong proofs, many requests at once, and
// kills before and behind each write. It never cosigns a fork, and it answers each request as the specification says.
func TestNoRandomHistoryMakesAWitnessSignAFork(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 2))
	histories, perWorld := 2_000, 100
	switch {
	case os.Getenv("CURTSY_LONG") != "":
		histories = 10_000
	case testing.Short():
		histories = 400
	}
	own, err := checkpoint.WitnessSigner("witness.test", make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	var answers [1000]int
	killed := 0
	var w *world
	dir := t.TempDir()
	for n := range histories {
		if n%perWorld == 0 {
			w = newWorld(t, rng)
		}
		d := &disk{dir: dir, files: map[string][]byte{}, kill: func() (bool, bool) { return rng.IntN(12) == 0, rng.IntN(12) == 0 }}
		wit := d.start(t, own, following(w.operator.Key()))
		var stated []cosigned
		var sent []Request
		kept := cosigned{0, emptyRoot}
		// learn reads what is kept, as a witness does that begins anew.
		learn := func() {
			wit = d.start(t, own, following(w.operator.Key()))
			kept = cosigned{0, emptyRoot}
			if n := wit.Latest(originHash(w.histories[0].origin)); n != nil {
				kept = cosigned{int(n.Size), n.Root}
			}
		}
		random := func() (r Request, h *history, right bool) {
			h = w.histories[rng.IntN(len(w.histories))]
			size, old := rng.IntN(longest+1), kept.size
			if rng.IntN(5) == 0 {
				old = rng.IntN(longest + 1)
			}
			r = Request{int64(old), h.prove(t, old, size), w.note(t, h, size)}
			right = true
			if rng.IntN(8) == 0 && old <= size {
				right = false
				if len(r.Proof) > 0 && rng.IntN(2) == 0 {
					r.Proof = r.Proof[1:]
				} else {
					r.Proof = append(slices.Clone(r.Proof), tlog.Hash{1})
				}
			}
			return r, h, right
		}
		for range 12 {
			switch rng.IntN(6) {
			case 0: // many at once, replays among them
				var batch []Request
				for range 4 {
					if len(sent) > 0 && rng.IntN(3) == 0 {
						batch = append(batch, sent[rng.IntN(len(sent))])
						continue
					}
					r, _, _ := random()
					batch = append(batch, r)
				}
				results := make([]error, len(batch))
				var all sync.WaitGroup
				for i, r := range batch {
					all.Go(func() { _, results[i] = wit.Add(r) })
				}
				all.Wait()
				for i, err := range results {
					if err == nil {
						stated = append(stated, cosigned{int(batch[i].Note.Size), batch[i].Note.Root})
					}
				}
				learn()
			case 1: // a stranger's signature, or none
				r, _, _ := random()
				by := []*checkpoint.Signer{nil, signer(t, 2)}[rng.IntN(2)]
				r.Note = note(t, r.Note.Checkpoint, by)
				if _, err := wit.Add(r); status(err) != http.StatusForbidden {
					t.Fatalf("a stranger: %v", err)
				}
			default:
				r, h, right := random()
				sent = append(sent, r)
				_, err := wit.Add(r)
				if errors.Is(err, errKilled) {
					killed++
					learn()
					continue
				}
				got, want := status(err), expected(kept, int(r.Old), h, int(r.Note.Size), right)
				if got != want {
					t.Fatalf("history %d: kept %d, old %d, size %d, right %v: %d (%v), want %d", n, kept.size, r.Old, r.Note.Size, right, got, err, want)
				}
				answers[got]++
				if err == nil {
					kept = cosigned{int(r.Note.Size), r.Note.Root}
					stated = append(stated, kept)
				}
			}
		}
		if err := w.consistent(stated); err != nil {
			t.Fatalf("history %d: %v", n, err)
		}
	}
	for _, s := range []int{http.StatusOK, http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity} {
		if answers[s] < histories/10 {
			t.Errorf("only %d of the answers were %d: the histories try too little", answers[s], s)
		}
	}
	if killed < histories/10 {
		t.Errorf("only %d kills", killed)
	}
}

// The check of the histories finds what a witness states that forgets between two requests.
func TestTheHistoriesFindAWitnessThatForgets(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)))
	own, err := checkpoint.WitnessSigner("witness.test", make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	d := &disk{dir: t.TempDir(), files: map[string][]byte{}, kill: func() (bool, bool) { return false, false }}
	var stated []cosigned
	for _, h := range w.histories[:2] {
		clear(d.files)
		if _, err := d.start(t, own, following(w.operator.Key())).Add(Request{0, nil, w.note(t, h, longest)}); err != nil {
			t.Fatal(err)
		}
		stated = append(stated, cosigned{longest, h.roots[longest]})
	}
	if w.consistent(stated[:1]) != nil || w.consistent(stated) == nil {
		t.Error("a fork is not found")
	}
}
