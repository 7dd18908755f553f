package layout

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// Format is the number of the  A file with another one is refused.
const Format = 2

// The keys of the meta bucket.
const (
	FormatKey = "format" // uint32
	SecretKey = "secret" // 32 bytes, the key of frontier.Print
	EpochKey  = "epoch"  // uint64, number of openings
	cleanKey  = "clean"  // empty while the frontier is open; after a Close, what is left of the floor
	TotalsKey = "totals" // sealed; see totals
	stampKey  = "stamp"  // see stamp
	wallKey   = "wall"   // sealed uint64, when that was written; see clock
)

// Meta is what the meta bucket holds, totals apart.
type Meta struct {
	Secret []byte
	Epoch  uint64
	Clean  bool
	Floor  int64 // what a clean stop left of it
	Clock  Clock // that of the caller, which does not go back behind the last writing
}

// Create makes the buckets of an empty file.
func Create(tx *bbolt.Tx) error {
	for _, name := range buckets() {
		if _, err := tx.CreateBucket([]byte(name)); err != nil {
			return err
		}
	}
	b := tx.Bucket([]byte(MetaBucket))
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	for key, value := range map[string][]byte{
		FormatKey: binary.BigEndian.AppendUint32(nil, Format),
		SecretKey: seal(secret),
		EpochKey:  sealMeta(EpochKey, make([]byte, 8)),
		cleanKey:  sealMeta(cleanKey, Clock{}.appendWait(nil, 0, 0)),
		TotalsKey: seal(NewTotals().AppendTo(nil)),
	} {
		if err := b.Put([]byte(key), value); err != nil {
			return err
		}
	}
	return Stamp(tx, Clock{Began: time.Now()})
}

// sealMeta seals a value of the meta bucket.
func sealMeta(key string, body []byte) []byte { return sealFor(MetaBucket, []byte(key), body) }

// getMeta returns the body of what sealMeta has sealed, nil when it is not that.
func getMeta(tx *bbolt.Tx, key string) []byte {
	body, ok := unsealFor(MetaBucket, []byte(key), tx.Bucket([]byte(MetaBucket)).Get([]byte(key)))
	if !ok {
		return nil
	}
	return append([]byte{}, body...)
}

// ReadMeta reads the meta bucket, and refuses a file that is not ours to read.
func ReadMeta(tx *bbolt.Tx, c Clock) (Meta, *Totals, error) {
	b := tx.Bucket([]byte(MetaBucket))
	if b == nil {
		return Meta{}, nil, fmt.Errorf("it has no meta bucket: %w", frontier.ErrDamaged)
	}
	v := b.Get([]byte(FormatKey))
	if len(v) != 4 {
		return Meta{}, nil, fmt.Errorf("it has no format number: %w", frontier.ErrDamaged)
	}
	switch n := binary.BigEndian.Uint32(v); {
	case n > Format:
		return Meta{}, nil, fmt.Errorf("format %d, and this version reads %d: %w", n, Format, frontier.ErrNewer)
	case n == 0:
		return Meta{}, nil, fmt.Errorf("format 0: %w", frontier.ErrDamaged)
	case n < Format:
		return Meta{}, nil, fmt.Errorf("format %d, and this version reads %d: %w", n, Format, frontier.ErrOlder)
	}
	for _, name := range buckets() {
		if tx.Bucket([]byte(name)) == nil {
			return Meta{}, nil, fmt.Errorf("it has no bucket %q: %w", name, frontier.ErrDamaged)
		}
	}
	if err := checkStamp(tx); err != nil {
		return Meta{}, nil, err
	}
	wall, err := readWall(tx)
	if err != nil {
		return Meta{}, nil, err
	}
	c.Least = max(wall, c.Began.UnixNano())
	secret, ok := unseal(b.Get([]byte(SecretKey)))
	if !ok || len(secret) != 32 {
		return Meta{}, nil, fmt.Errorf("meta bucket: secret: %w", frontier.ErrDamaged)
	}
	epoch := getMeta(tx, EpochKey)
	clean := parser{b: getMeta(tx, cleanKey)}
	clean.bad = clean.b == nil
	m := Meta{Clean: clean.more(), Clock: c}
	if m.Clean {
		m.Floor = c.parseWait(&clean)
	}
	if len(epoch) != 8 || !clean.done() {
		return Meta{}, nil, fmt.Errorf("meta bucket: epoch or mark of a clean stop: %w", frontier.ErrDamaged)
	}
	body, ok := unseal(b.Get([]byte(TotalsKey)))
	if !ok {
		return Meta{}, nil, fmt.Errorf("meta bucket: totals: checksum does not match: %w", frontier.ErrDamaged)
	}
	t, ok := ParseTotals(body)
	if !ok {
		return Meta{}, nil, fmt.Errorf("meta bucket: totals: %w", frontier.ErrDamaged)
	}
	m.Secret, m.Epoch = append([]byte(nil), secret...), binary.BigEndian.Uint64(epoch)
	return m, t, nil
}

// WriteSecret puts the key of the fingerprints into a new file.
func WriteSecret(tx *bbolt.Tx, secret []byte) error {
	return tx.Bucket([]byte(MetaBucket)).Put([]byte(SecretKey), seal(secret))
}

// WriteTotals puts totals into the file.
func WriteTotals(tx *bbolt.Tx, t *Totals) error { return WriteTotalsBody(tx, t.AppendTo(nil)) }

// WriteTotalsBody is WriteTotals of what AppendTo wrote.
func WriteTotalsBody(tx *bbolt.Tx, body []byte) error {
	return tx.Bucket([]byte(MetaBucket)).Put([]byte(TotalsKey), seal(body))
}

// WriteStop puts into a new file how often the frontier was opened, and how the last run ended; a clean end may have left a
// floor.
func WriteStop(tx *bbolt.Tx, c Clock, epoch uint64, clean bool, floor time.Duration) error {
	b := tx.Bucket([]byte(MetaBucket))
	if err := b.Put([]byte(EpochKey), sealMeta(EpochKey, binary.BigEndian.AppendUint64(nil, epoch))); err != nil {
		return err
	}
	mark := []byte(nil)
	if clean {
		now := c.Now()
		mark = c.appendWait(nil, now, After(now, floor))
	}
	return b.Put([]byte(cleanKey), sealMeta(cleanKey, mark))
}

// WriteEpoch begins an opening: from here on the stop counts as unclean, until WriteClean.
func WriteEpoch(tx *bbolt.Tx, c Clock, epoch uint64) error {
	b := tx.Bucket([]byte(MetaBucket))
	if err := b.Put([]byte(EpochKey), sealMeta(EpochKey, binary.BigEndian.AppendUint64(nil, epoch))); err != nil {
		return err
	}
	if err := b.Put([]byte(cleanKey), sealMeta(cleanKey, nil)); err != nil {
		return err
	}
	return Stamp(tx, c)
}

// WriteAsFound ends an opening that leaves the stop before it to the next one as unclean. Nothing is in flight any
// more.
func WriteAsFound(tx *bbolt.Tx, c Clock) error {
	if err := WriteInFlight(tx, InFlight{}.AppendTo(nil)); err != nil {
		return err
	}
	return Stamp(tx, c)
}

// WriteClean ends an opening, of which a floor may be left, and nothing is in flight any more.
func WriteClean(tx *bbolt.Tx, c Clock, floor int64) error {
	if err := WriteInFlight(tx, InFlight{}.AppendTo(nil)); err != nil {
		return err
	}
	mark := sealMeta(cleanKey, c.appendWait(nil, c.Now(), floor))
	if err := tx.Bucket([]byte(MetaBucket)).Put([]byte(cleanKey), mark); err != nil {
		return err
	}
	return Stamp(tx, c)
}
