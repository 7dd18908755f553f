package layout

import (
	"encoding/binary"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// Ending is how a URL was closed: its outcome in the low three bits, above them the number of its reason in the totals,
// in nine. Zero is pending, or pending again. Packed with a reference of 52 bits it makes one word of the done journal.
type Ending uint16

const (
	outcomeBits = 3
	maxReasons  = 511
)

func MakeEnding(o frontier.Outcome, reason int) Ending { return Ending(reason<<outcomeBits | int(o)) }

func (e Ending) Outcome() frontier.Outcome { return frontier.Outcome(e & (1<<outcomeBits - 1)) }
func (e Ending) Reason() int               { return int(e >> outcomeBits) }

// Done is a word of the done journal.
type Done uint64

func MakeDone(r Ref, e Ending) Done { return Done(e)<<refBits | Done(r) }

func (d Done) Ref() Ref       { return Ref(d & (1<<refBits - 1)) }
func (d Done) Ending() Ending { return Ending(d >> refBits) }

// WriteDone appends words to their journal.
func WriteDone(tx *bbolt.Tx, ds []Done) error {
	w := packer{tx: tx, journal: DoneJournal}
	var item [8]byte
	for _, d := range ds {
		binary.BigEndian.PutUint64(item[:], uint64(d))
		if err := w.Add(item[:]); err != nil {
			return err
		}
	}
	return w.Flush()
}

// readDone calls f for every word in the journal.
func readDone(tx *bbolt.Tx, f func(Done) error) error {
	return DoneJournal.Each(tx, func(_ uint64, body []byte) error {
		if len(body)%8 != 0 {
			return frontier.ErrDamaged
		}
		for ; len(body) > 0; body = body[8:] {
			if err := f(Done(binary.BigEndian.Uint64(body))); err != nil {
				return err
			}
		}
		return nil
	})
}
