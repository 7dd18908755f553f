package layout

import (
	"encoding/binary"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// WritePrints appends fingerprints to their journal, 250 to a value.
func WritePrints(tx *bbolt.Tx, ps []frontier.Fingerprint) error {
	w := packer{tx: tx, journal: SeenJournal}
	var item [8]byte
	for _, p := range ps {
		binary.BigEndian.PutUint64(item[:], uint64(p))
		if err := w.Add(item[:]); err != nil {
			return err
		}
	}
	return w.Flush()
}

// ReadPrints calls f for every fingerprint in the journal.
func ReadPrints(tx *bbolt.Tx, f func(frontier.Fingerprint) error) error {
	return SeenJournal.Each(tx, func(_ uint64, body []byte) error {
		if len(body)%8 != 0 {
			return frontier.ErrDamaged
		}
		for ; len(body) > 0; body = body[8:] {
			if err := f(frontier.Fingerprint(binary.BigEndian.Uint64(body))); err != nil {
				return err
			}
		}
		return nil
	})
}
