package bolt

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// format is the number of the layout. A file with another one is refused.
const format = 2

// The keys of the meta bucket.
const (
	formatKey = "format" // uint32
	secretKey = "secret" // 32 octets, the key of frontier.Print
	epochKey  = "epoch"  // uint64, number of openings
	cleanKey  = "clean"  // empty while the frontier is open; after a Close, what is left of the floor
	totalsKey = "totals" // sealed; see totals
	stampKey  = "stamp"  // see stamp
	wallKey   = "wall"   // sealed uint64, when that was written; see clock
)

// meta is what the meta bucket holds, totals apart.
type meta struct {
	secret []byte
	epoch  uint64
	clean  bool
	floor  int64 // see restart
	clock  clock // that of the caller, which does not go back behind the last writing
}

// create makes the buckets of an empty file.
func create(tx *bbolt.Tx) error {
	for _, j := range journals() {
		if _, err := tx.CreateBucketIfNotExists([]byte(j)); err != nil {
			return err
		}
	}
	for _, name := range []string{blobBucket, flightBucket} {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	b, err := tx.CreateBucketIfNotExists([]byte(metaBucket))
	if err != nil {
		return err
	}
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	for key, value := range map[string][]byte{
		formatKey: binary.BigEndian.AppendUint32(nil, format),
		secretKey: seal(secret),
		epochKey:  sealMeta(epochKey, make([]byte, 8)),
		cleanKey:  sealMeta(cleanKey, clock{}.appendWait(nil, 0, 0)),
		totalsKey: seal(newTotals().appendTo(nil)),
	} {
		if err := b.Put([]byte(key), value); err != nil {
			return err
		}
	}
	return stamp(tx, clock{began: time.Now()})
}

// sealMeta seals a value of the meta bucket.
func sealMeta(key string, body []byte) []byte { return sealFor(metaBucket, []byte(key), body) }

// getMeta returns the body of what sealMeta has sealed, nil when it is not that.
func getMeta(tx *bbolt.Tx, key string) []byte {
	body, ok := unsealFor(metaBucket, []byte(key), tx.Bucket([]byte(metaBucket)).Get([]byte(key)))
	if !ok {
		return nil
	}
	return append([]byte{}, body...)
}

// isEmpty reports whether nothing has been put into the file since bbolt made it.
func isEmpty(tx *bbolt.Tx) bool {
	k, _ := tx.Cursor().First()
	return k == nil
}

// readMeta reads the meta bucket, and refuses a file that is not ours to read.
func readMeta(tx *bbolt.Tx, c clock) (meta, *totals, error) {
	b := tx.Bucket([]byte(metaBucket))
	if b == nil {
		return meta{}, nil, fmt.Errorf("it has no meta bucket: %w", frontier.ErrDamaged)
	}
	v := b.Get([]byte(formatKey))
	if len(v) != 4 {
		return meta{}, nil, fmt.Errorf("it has no format number: %w", frontier.ErrDamaged)
	}
	switch n := binary.BigEndian.Uint32(v); {
	case n > format:
		return meta{}, nil, fmt.Errorf("format %d, and this version reads %d: %w", n, format, frontier.ErrNewer)
	case n == 0:
		return meta{}, nil, fmt.Errorf("format 0: %w", frontier.ErrDamaged)
	case n < format:
		return meta{}, nil, fmt.Errorf("format %d, and this version reads %d: %w", n, format, frontier.ErrOlder)
	}
	for _, j := range journals() {
		if tx.Bucket([]byte(j)) == nil {
			return meta{}, nil, fmt.Errorf("it has no bucket %q: %w", j, frontier.ErrDamaged)
		}
	}
	if err := checkStamp(tx); err != nil {
		return meta{}, nil, err
	}
	wall, err := readWall(tx)
	if err != nil {
		return meta{}, nil, err
	}
	c.least = max(wall, c.began.UnixNano())
	secret, ok := unseal(b.Get([]byte(secretKey)))
	if !ok || len(secret) != 32 || tx.Bucket([]byte(blobBucket)) == nil {
		return meta{}, nil, fmt.Errorf("meta bucket: secret or blobs: %w", frontier.ErrDamaged)
	}
	epoch := getMeta(tx, epochKey)
	clean := parser{b: getMeta(tx, cleanKey)}
	clean.bad = clean.b == nil
	m := meta{clean: clean.more(), clock: c}
	if m.clean {
		m.floor = c.parseWait(&clean)
	}
	if len(epoch) != 8 || !clean.done() {
		return meta{}, nil, fmt.Errorf("meta bucket: epoch or mark of a clean stop: %w", frontier.ErrDamaged)
	}
	body, ok := unseal(b.Get([]byte(totalsKey)))
	if !ok {
		return meta{}, nil, fmt.Errorf("meta bucket: totals: checksum does not match: %w", frontier.ErrDamaged)
	}
	t, ok := parseTotals(body)
	if !ok {
		return meta{}, nil, fmt.Errorf("meta bucket: totals: %w", frontier.ErrDamaged)
	}
	m.secret, m.epoch = append([]byte(nil), secret...), binary.BigEndian.Uint64(epoch)
	return m, t, nil
}

// writeEpoch begins an opening: from here on the stop counts as unclean, until writeClean.
func writeEpoch(tx *bbolt.Tx, c clock, epoch uint64) error {
	b := tx.Bucket([]byte(metaBucket))
	if err := b.Put([]byte(epochKey), sealMeta(epochKey, binary.BigEndian.AppendUint64(nil, epoch))); err != nil {
		return err
	}
	if err := b.Put([]byte(cleanKey), sealMeta(cleanKey, nil)); err != nil {
		return err
	}
	return stamp(tx, c)
}

// writeClean ends an opening, of which a floor may be left, and nothing is in flight any more.
func writeClean(tx *bbolt.Tx, c clock, floor int64) error {
	if err := writeFlight(tx, flight{}.appendTo(nil)); err != nil {
		return err
	}
	if err := tx.Bucket([]byte(metaBucket)).Put([]byte(cleanKey), sealMeta(cleanKey, c.appendWait(nil, c.now(), floor))); err != nil {
		return err
	}
	return stamp(tx, c)
}
