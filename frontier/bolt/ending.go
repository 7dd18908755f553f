package bolt

import (
	"encoding/binary"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// ending is how a URL was closed: its outcome in the low three bits, above them the number of its reason in the
// totals, in nine. Zero is pending, or pending again. Packed with a reference of 52 bits it makes one word of the done journal.
type ending uint16

const (
	outcomeBits = 3
	maxReasons  = 511
)

func makeEnding(o frontier.Outcome, reason int) ending { return ending(reason<<outcomeBits | int(o)) }

func (e ending) outcome() frontier.Outcome { return frontier.Outcome(e & (1<<outcomeBits - 1)) }
func (e ending) reason() int               { return int(e >> outcomeBits) }

// done is a word of the done journal.
type done uint64

func makeDone(r ref, e ending) done { return done(e)<<refBits | done(r) }

func (d done) ref() ref       { return ref(d & (1<<refBits - 1)) }
func (d done) ending() ending { return ending(d >> refBits) }

// writeDone appends words to their journal.
func writeDone(tx *bbolt.Tx, ds []done) error {
	w := packer{tx: tx, journal: doneJournal}
	var item [8]byte
	for _, d := range ds {
		binary.BigEndian.PutUint64(item[:], uint64(d))
		if err := w.add(item[:]); err != nil {
			return err
		}
	}
	return w.flush()
}

// readDone calls f for every word in the journal.
func readDone(tx *bbolt.Tx, f func(done) error) error {
	return doneJournal.each(tx, func(_ uint64, body []byte) error {
		if len(body)%8 != 0 {
			return frontier.ErrDamaged
		}
		for ; len(body) > 0; body = body[8:] {
			if err := f(done(binary.BigEndian.Uint64(body))); err != nil {
				return err
			}
		}
		return nil
	})
}
