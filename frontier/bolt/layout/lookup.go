package layout

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// Lookup finds values of a journal in one transaction. To find the bucket and to set up a cursor costs as much as the
// search: a call that needs many values does it once. One goroutine uses it.
type Lookup struct {
	Tx      *bbolt.Tx
	Journal Journal

	cursor *bbolt.Cursor // nil before the first search
	key    [8]byte
}

// Get returns one value, valid until the transaction ends.
func (l *Lookup) Get(seq uint64) ([]byte, error) {
	if l.cursor == nil {
		l.cursor = l.Tx.Bucket([]byte(l.Journal)).Cursor()
	}
	binary.BigEndian.PutUint64(l.key[:], seq)
	k, v := l.cursor.Seek(l.key[:])
	if !bytes.Equal(k, l.key[:]) {
		return nil, fmt.Errorf("read %s: value %d is missing: %w", l.Journal, seq, frontier.ErrDamaged)
	}
	body, ok := unsealFor(string(l.Journal), k, v)
	if !ok {
		return nil, fmt.Errorf("read %s: value %d: checksum does not match: %w", l.Journal, seq, frontier.ErrDamaged)
	}
	return body, nil
}

// ReadState returns the data of the state record that the value at holds for a. At zero means that there is none.
func (l *Lookup) ReadState(at uint64, a Address) ([]byte, error) {
	if at == 0 {
		return nil, nil
	}
	body, err := l.Get(at)
	if err != nil {
		return nil, err
	}
	var data []byte
	found := false
	err = EachState(body, func(c StateRecord) error {
		if c.Address == a {
			data, found = c.Data, true
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("read cells: value %d has no cell %d of %d: %w", at, a.Kind, a.ID, frontier.ErrDamaged)
	}
	if err != nil || len(data) == 0 {
		return nil, err
	}
	return bytes.Clone(data), nil
}

// Lookups are those that the turns of one call share.
type Lookups struct {
	Records, States Lookup
}

func NewLookups(tx *bbolt.Tx) *Lookups {
	return &Lookups{Records: Lookup{Tx: tx, Journal: RecordJournal}, States: Lookup{Tx: tx, Journal: StateJournal}}
}
