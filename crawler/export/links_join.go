package export

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"iter"
	"time"

	"curtsy/storage"
	"curtsy/storage/sorted"
)

// sumSize is the length of the digest of a target: by two secrets, so that no site can have two URLs meet.
const sumSize = 16

// sum is the digest of a target in a crawl.
func (r *linksReader) sum(crawl int, key string) (s [sumSize]byte) {
	for i, seed := range r.seeds {
		var h maphash.Hash
		h.SetSeed(seed)
		_ = h.WriteByte(byte(crawl)) // it does not fail
		_ = h.WriteByte(byte(crawl >> 8))
		_, _ = h.WriteString(key)
		binary.BigEndian.PutUint64(s[8*i:], h.Sum64())
	}
	return s
}

// state is what the ledger says of a target, in few words: there are as many states as words, not as URLs.
type state struct {
	decision storage.Decision
	outcome  storage.Outcome
	reason   string
	status   int
}

// maxStates is how many states are told apart: half of them with their reasons, the rest without.
const maxStates = 1 << 16

// maxReason bounds a reason.
const maxReason = 200

// join brings together what ledgers and documents say of targets.
type join struct {
	byTarget *sorted.Sorter // digest, then 0 and a line or 1 and the place of a mention
	byPlace  *sorted.Sorter // place of a mention, then what the latest line says
	states   []state
	numbers  map[state]uint16
	lines    uint64
	b        []byte
}

// joinMemory is how many bytes each sorter holds in memory.
const joinMemory = 6 << 20

func newJoin(dir string) *join {
	return &join{byTarget: sorted.New(dir, joinMemory), byPlace: sorted.New(dir, joinMemory), numbers: map[state]uint16{}}
}

const (
	ofLine = iota
	ofMention
)

// line takes in a line of the ledger.
func (j *join) line(sum [sumSize]byte, l *storage.Line) error {
	asked := byte(0)
	if l.Decision == storage.DecisionAllow && l.Attempt > 0 {
		asked = 1
	}
	b := append(append(j.b[:0], sum[:]...), ofLine)
	b = binary.BigEndian.AppendUint64(b, j.lines)
	b = binary.BigEndian.AppendUint16(append(b, asked), j.number(l))
	b = binary.BigEndian.AppendUint64(b, uint64(l.Time.UnixMicro())) //nolint:gosec // it comes back as it was
	j.b = b
	j.lines++
	return j.byTarget.Add(b)
}

// number is that of the state of a line: of as much of it as there is room for.
func (j *join) number(l *storage.Line) uint16 {
	whole := state{l.Decision, l.Outcome, cut(l.Reason, maxReason), l.Status}
	for _, try := range [...]struct {
		state
		room int
	}{{whole, maxStates / 2}, {state{l.Decision, l.Outcome, "", l.Status}, maxStates - 1}} {
		if n, ok := j.numbers[try.state]; ok {
			return n
		}
		if n := len(j.states); n < try.room {
			j.states, j.numbers[try.state] = append(j.states, try.state), uint16(n) //nolint:gosec // it is bounded
			return uint16(n)                                                        //nolint:gosec // it is bounded
		}
	}
	return uint16(len(j.states) - 1) //nolint:gosec // a ledger that names more states than there are
}

// mention takes in a mention by its place among all.
func (j *join) mention(sum []byte, place uint64) error {
	b := append(append(j.b[:0], sum...), ofMention)
	j.b = binary.BigEndian.AppendUint64(b, place)
	return j.byTarget.Add(j.b)
}

// meet finds what the ledgers say of each mention.
func (j *join) meet() error {
	var of [sumSize]byte
	var known, asked bool
	var last [10]byte // its state and time
	for b, err := range j.byTarget.All() {
		if err != nil {
			return err
		}
		if sum := [sumSize]byte(b); sum != of {
			of, known, asked = sum, false, false
		}
		switch rest := b[sumSize+1:]; {
		case b[sumSize] == ofLine:
			known, asked = true, asked || rest[8] == 1
			copy(last[:], rest[9:])
		case known:
			to := append(j.b[:0], rest...)
			if asked {
				to = append(to, 1)
			} else {
				to = append(to, 0)
			}
			j.b = append(to, last[:]...)
			if err := j.byPlace.Add(j.b); err != nil {
				return err
			}
		}
	}
	return j.byTarget.Close()
}

// said is what a ledger says of the target of a mention.
type said struct {
	state
	asked bool
	time  time.Time
}

// answers gives what was found, mention by mention in the order of their places.
type answers struct {
	j    *join
	next func() ([]byte, error, bool)
	stop func()
	head []byte // nil at the end
}

func (j *join) answers() (*answers, error) {
	next, stop := iter.Pull2(j.byPlace.All())
	a := &answers{j: j, next: next, stop: stop}
	return a, a.step()
}

func (a *answers) step() error {
	b, err, ok := a.next()
	if !ok {
		b = nil
	}
	if err != nil {
		return fmt.Errorf("links: %w", err)
	}
	a.head = b
	return nil
}

// of is what is said of the target of a mention; places must be asked for in order.
func (a *answers) of(place uint64) (s said, ok bool, err error) {
	if a.head == nil || binary.BigEndian.Uint64(a.head) != place {
		return s, false, nil
	}
	s.asked = a.head[8] == 1
	s.state = a.j.states[binary.BigEndian.Uint16(a.head[9:])]
	s.time = time.UnixMicro(int64(binary.BigEndian.Uint64(a.head[11:]))).UTC() //nolint:gosec // as it was written
	return s, true, a.step()
}
