package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// lookup finds values of a journal in one transaction. To find the bucket and to set up a cursor costs as much as the
// search: a call that needs many values does it once. One goroutine uses it.
type lookup struct {
	tx      *bbolt.Tx
	journal journal

	cursor *bbolt.Cursor // nil before the first search
	key    [8]byte
}

// get returns one value, valid until the transaction ends.
func (l *lookup) get(seq uint64) ([]byte, error) {
	if l.cursor == nil {
		l.cursor = l.tx.Bucket([]byte(l.journal)).Cursor()
	}
	binary.BigEndian.PutUint64(l.key[:], seq)
	k, v := l.cursor.Seek(l.key[:])
	if !bytes.Equal(k, l.key[:]) {
		return nil, fmt.Errorf("read %s: value %d is missing: %w", l.journal, seq, frontier.ErrDamaged)
	}
	body, ok := unsealFor(string(l.journal), k, v)
	if !ok {
		return nil, fmt.Errorf("read %s: value %d: checksum does not match: %w", l.journal, seq, frontier.ErrDamaged)
	}
	return body, nil
}

// readCell returns the data of the cell that the value at holds for a. At zero means that there is none.
func (l *lookup) readCell(at uint64, a address) ([]byte, error) {
	if at == 0 {
		return nil, nil
	}
	body, err := l.get(at)
	if err != nil {
		return nil, err
	}
	var data []byte
	found := false
	err = eachCell(body, func(c cell) {
		if c.address == a {
			data, found = c.data, true
		}
	})
	if err == nil && !found {
		err = fmt.Errorf("read cells: value %d has no cell %d of %d: %w", at, a.kind, a.id, frontier.ErrDamaged)
	}
	if err != nil || len(data) == 0 {
		return nil, err
	}
	return bytes.Clone(data), nil
}

// lookups are those that the drafts of one call share.
type lookups struct {
	records, cells lookup
}

func newLookups(tx *bbolt.Tx) *lookups {
	return &lookups{records: lookup{tx: tx, journal: recordJournal}, cells: lookup{tx: tx, journal: cellJournal}}
}
