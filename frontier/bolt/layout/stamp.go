package layout

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// Stamp writes what tells the contents of the file as they are after tx: its number, and the last key of each journal.
//
// A disk may lose pages that it had said were durable, and keep the page of bbolt that tells where the newest tree
// begins. As bbolt uses pages again, an older version of the same page may then stand in its place: right in itself,
// and without what was acknowledged since. An older root has an older stamp, and an older leaf an older last key.
// Whatever writes to the file stamps it. The time of the writing is kept with it: see Clock.
func Stamp(tx *bbolt.Tx, c Clock) error {
	b := tx.Bucket([]byte(MetaBucket))
	if err := b.Put([]byte(stampKey), makeStamp(tx)); err != nil {
		return err
	}
	return b.Put([]byte(wallKey), seal(binary.BigEndian.AppendUint64(nil, uint64(c.wall(c.Now())))))
}

// Restamp stamps a file that was written with the contents of another, whose time of writing it keeps.
func Restamp(tx *bbolt.Tx) error {
	return tx.Bucket([]byte(MetaBucket)).Put([]byte(stampKey), makeStamp(tx))
}

// readWall returns the time of the last writing.
func readWall(tx *bbolt.Tx) (int64, error) {
	body, ok := unseal(tx.Bucket([]byte(MetaBucket)).Get([]byte(wallKey)))
	if !ok || len(body) != 8 {
		return 0, fmt.Errorf("meta bucket: time of the last writing: %w", frontier.ErrDamaged)
	}
	return int64(binary.BigEndian.Uint64(body)), nil
}

// makeStamp returns the stamp of what tx reads or has written so far.
func makeStamp(tx *bbolt.Tx) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(tx.ID()))
	for _, j := range Journals() {
		k, _ := tx.Bucket([]byte(j)).Cursor().Last()
		b = append(b, make([]byte, 8-min(len(k), 8))...)
		b = append(b, k[:min(len(k), 8)]...)
	}
	return b
}

// checkStamp fails when the contents are not those that the last transaction stamped.
func checkStamp(tx *bbolt.Tx) error {
	v := tx.Bucket([]byte(MetaBucket)).Get([]byte(stampKey))
	if is := makeStamp(tx); !bytes.Equal(v, is) {
		return fmt.Errorf("it is stamped %x, and is %x: the disk has lost pages that it had said were durable: %w",
			v, is, frontier.ErrDamaged)
	}
	return nil
}
