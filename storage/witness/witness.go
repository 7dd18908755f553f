package witness

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
)

// Options say how a witness works. Logs is required.
type Options struct {
	Name string                           // of its key, when it is made; empty for one made of the key
	Logs func() Logs                      // those that it follows now
	Say  func(format string, args ...any) // told of what it decides; nil for nobody
}

// A Witness cosigns. It may be asked by many at once.
type Witness struct {
	signer *checkpoint.Signer
	store  *store
	logs   func() Logs
	say    func(format string, args ...any)

	mu     sync.Mutex
	states map[string]*state // by the hashes of origins
	keep   func(*checkpoint.Note) error
}

// state is what is kept of a log.
type state struct {
	mu   sync.Mutex
	note *checkpoint.Note // nil: nothing was cosigned yet
	at   time.Time        // of the last cosignature
}

// A Refusal says why there is no cosignature, and the status of HTTP that stands for it.
type Refusal struct {
	Status int
	Size   int64 // of the log as it is kept, where Status is http.StatusConflict
	Why    string
}

func (r *Refusal) Error() string { return r.Why }

// Open opens the folder of a witness, or makes it with a key of its own. Close it.
func Open(dir string, o Options) (*Witness, error) {
	s, err := openStore(dir)
	if err != nil {
		return nil, err
	}
	w := &Witness{store: s, logs: o.Logs, say: o.Say, keep: s.keep}
	if w.say == nil {
		w.say = func(string, ...any) {}
	}
	if w.signer, err = openKey(dir, o.Name); err == nil {
		w.states, err = s.load(w.signer.Key())
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return w, nil
}

// Close gives the folder back. Nobody may be asking.
func (w *Witness) Close() error { return w.store.Close() }

// Key is the verifier key of the witness.
func (w *Witness) Key() checkpoint.Key { return w.signer.Key() }

// Add cosigns the checkpoint of a request, unless it is refused, and returns the cosignature. The order of the checks is
// that of https://c2sp.org/tlog-witness, add-checkpoint.
func (w *Witness) Add(r Request) (checkpoint.Signature, error) {
	keys := w.logs().Keys(r.Note.Origin)
	if len(keys) == 0 {
		return checkpoint.Signature{}, refuse(http.StatusNotFound, "this log is not followed")
	}
	signatures, err := trusted(r.Note, keys)
	if err == nil && r.Old > r.Note.Size {
		err = refuse(http.StatusBadRequest, "the old size %d is larger than the checkpoint's %d", r.Old, r.Note.Size)
	}
	var sig checkpoint.Signature
	if err == nil {
		sig, err = w.advance(r, signatures)
	}
	if err != nil {
		w.say("refused %.200q at %d: %v", r.Note.Origin, r.Note.Size, err)
		return checkpoint.Signature{}, err
	}
	w.say("cosigned %.200q at %d", r.Note.Origin, r.Note.Size)
	return sig, nil
}

// trusted are the signatures of a note by the keys. There is one, and none that claims to be by one of them and is not.
func trusted(n *checkpoint.Note, keys []checkpoint.Key) (all []checkpoint.Signature, err error) {
	for _, k := range keys {
		claimed, ok := n.Claimed(k)
		if !ok {
			continue
		}
		for _, s := range n.Signatures {
			if s.Name == claimed.Name && s.Hash == claimed.Hash && string(s.Octets) != string(claimed.Octets) {
				return nil, refuse(http.StatusForbidden, "it has two signatures by %s", k.Name())
			}
		}
		if !n.SignedBy(k) {
			return nil, refuse(http.StatusForbidden, "the signature by %s is wrong", k.Name())
		}
		all = append(all, claimed)
	}
	if len(all) == 0 {
		return nil, refuse(http.StatusForbidden, "it is signed by no key that is trusted for this log")
	}
	return all, nil
}

// advance holds a checkpoint against what is kept of its log, and makes it what is kept.
func (w *Witness) advance(r Request, signatures []checkpoint.Signature) (sig checkpoint.Signature, err error) {
	st, err := w.state(r.Note.Origin)
	if err != nil {
		return sig, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	var size int64
	root := emptyRoot
	if st.note != nil {
		size, root = st.note.Size, st.note.Root
	}
	switch {
	case r.Old != size:
		why := fmt.Sprintf("the old size is %d, and %d is kept", r.Old, size)
		return sig, &Refusal{http.StatusConflict, size, why}
	case r.Note.Size == 0 && r.Note.Root != emptyRoot:
		return sig, refuse(http.StatusUnprocessableEntity, "a log of size 0 has another root")
	case st.note != nil && size == r.Note.Size && root != r.Note.Root:
		return sig, w.fork(st.note, r.Note)
	}
	if err := tree.CheckConsistency(r.Proof, r.Note.Size, r.Note.Root, size, root); err != nil {
		return sig, refuse(http.StatusUnprocessableEntity, "the proof does not show that it continues the log of size %d", size)
	}
	return w.cosign(st, r.Note, signatures)
}

// cosign signs and keeps, in this order: what was not kept was not handed out, and what was kept may be asked for again.
func (w *Witness) cosign(st *state, sent *checkpoint.Note, signatures []checkpoint.Signature) (sig checkpoint.Signature, err error) {
	n, err := checkpoint.Parse(append(sent.Text(), '\n'))
	if err != nil {
		return sig, fmt.Errorf("witness: %w", err)
	}
	if sig, err = w.signer.Cosign(n); err != nil {
		return sig, fmt.Errorf("witness: %w", err)
	}
	for _, s := range append(signatures, sig) {
		n.Add(s)
	}
	at, ok := n.Cosigned(w.Key())
	switch {
	case !ok:
		return sig, errors.New("witness: its own cosignature does not hold")
	case at.Before(st.at):
		return sig, refuse(http.StatusServiceUnavailable, "the clock of the witness is behind its last cosignature")
	}
	if err := w.keep(n); err != nil {
		return sig, fmt.Errorf("witness: %w", err)
	}
	st.note, st.at = n, at
	return sig, nil
}

// fork refuses a checkpoint that contradicts the one kept, and keeps both: both are signed by keys of the log.
func (w *Witness) fork(kept, sent *checkpoint.Note) error {
	where, err := w.store.keepFork(kept, sent)
	if err != nil {
		w.say("fork of %.200q at %d, which could not be kept: %v", kept.Origin, kept.Size, err)
	} else {
		w.say("fork of %.200q at %d: both notes are in %s", kept.Origin, kept.Size, where)
	}
	return refuse(http.StatusUnprocessableEntity, "another checkpoint of size %d was cosigned: the log is forked", kept.Size)
}

// state returns what is kept of a log, and makes room for a new one.
func (w *Witness) state(origin string) (*state, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	hash := originHash(origin)
	st := w.states[hash]
	if st == nil {
		if len(w.states) >= maxStates {
			return nil, refuse(http.StatusInsufficientStorage, "the witness keeps as many logs as it may")
		}
		st = new(state)
		w.states[hash] = st
	}
	return st, nil
}

// Latest is the last note of the origin with that hash (hexadecimal SHA-256), with the cosignature; nil if none was
// cosigned.
func (w *Witness) Latest(hash string) *checkpoint.Note {
	w.mu.Lock()
	found := w.states[hash]
	w.mu.Unlock()
	if found == nil {
		return nil
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	return found.note
}

var emptyRoot = new(tree.Growing).Root()

func refuse(status int, format string, args ...any) error {
	return &Refusal{Status: status, Why: fmt.Sprintf(format, args...)}
}
