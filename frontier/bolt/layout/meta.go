package layout

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
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

// WriteTotals puts totals, as AppendTo wrote them, into the file.
func WriteTotals(tx *bbolt.Tx, body []byte) error {
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
	if err := WriteStop(tx, c, epoch, false, 0); err != nil {
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
	mark := sealMeta(cleanKey, c.appendWait(nil, c.Now(), floor))
	if err := tx.Bucket([]byte(MetaBucket)).Put([]byte(cleanKey), mark); err != nil {
		return err
	}
	return WriteAsFound(tx, c)
}

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

// Clock is the time of an opening: nanoseconds since it began, on the monotonic clock, so that a step of the wall
// clock moves no host.
//
// A time that outlives the opening is kept by the wall clock, but by one that never goes back: it begins where the
// last opening left it, and goes on at least as fast as the monotonic clock. When the machine's own was set back, waits
// therefore go on while the frontier is open, and no opening begins them anew; when it was set forward, nothing tells
// that from time during which nothing ran.
type Clock struct {
	Began time.Time
	Least int64 // what the wall clock showed at began, at the least
}

func (c Clock) Now() int64 { return int64(time.Since(c.Began)) }

// wall returns the time of the wall clock that never goes back.
func (c Clock) wall(now int64) int64 {
	return max(time.Now().UnixNano(), After(c.Least, time.Duration(now)))
}

// appendWait writes when something is due as the time of the wall clock and as the length of the wait. The first lets
// the time count during which nothing ran, the second bounds the wait by what it was.
func (c Clock) appendWait(b []byte, now, due int64) []byte {
	length := max(due-now, 0)
	wall := int64(0)
	if length > 0 {
		wall = After(c.wall(now), time.Duration(length))
	}
	b = binary.AppendUvarint(b, uint64(wall))
	return binary.AppendUvarint(b, uint64(length))
}

// parseWait reads what appendWait wrote and returns when that is on this clock: what is left by the wall clock, never
// more than the whole wait.
func (c Clock) parseWait(p *parser) int64 {
	wall, length := int64(p.uvarint()), int64(p.uvarint())
	left := min(wall-max(c.Began.UnixNano(), c.Least), length)
	return max(left, 0)
}

// After returns now + d, or the end of time.
func After(now int64, d time.Duration) int64 {
	d = max(d, 0)
	if int64(d) > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + int64(d)
}

// Totals are the sums over the whole crawl that cannot be had from the hosts. They are one value of the meta bucket,
// written by every commit.
type Totals struct {
	Outcomes frontier.Outcomes
	Endings  map[Ending]int64 // closed URLs by outcome and reason; none without a reason
	Reasons  []string         // the reason with number i stands at i-1
	Capped   map[string]int64 // links, by reason

	Strangers int64 // of the dropped ones, those refused at hosts that were not known
	Counts    map[string]int64

	Numbers map[string]int // of reasons; not stored
}

// otherReasons stands for all reasons after the 510th: a number has nine bits, and a crawler that puts free text into
// reasons must not fill the memory.
const otherReasons = "other reasons"

func NewTotals() *Totals {
	return &Totals{
		Endings: map[Ending]int64{}, Capped: map[string]int64{}, Counts: map[string]int64{}, Numbers: map[string]int{},
	}
}

// Close counts a closed URL and returns its ending.
func (t *Totals) Close(o frontier.Outcome, reason string) Ending {
	t.Outcomes[o]++
	e := MakeEnding(o, t.Number(reason))
	if e.Reason() != 0 {
		t.Endings[e]++
	}
	return e
}

// Reopen takes back a close.
func (t *Totals) Reopen(e Ending) {
	t.Outcomes[e.Outcome()]--
	if e.Reason() == 0 {
		return
	}
	if t.Endings[e]--; t.Endings[e] == 0 {
		delete(t.Endings, e)
	}
}

// Number returns the number of a reason; the empty one is 0.
func (t *Totals) Number(reason string) int {
	if reason == "" {
		return 0
	}
	n, ok := t.Numbers[reason]
	switch {
	case ok:
		return n
	case len(t.Reasons) == maxReasons:
		return maxReasons
	case len(t.Reasons) == maxReasons-1:
		reason = otherReasons
	}
	t.Reasons = append(t.Reasons, reason)
	t.Numbers[reason] = len(t.Reasons)
	return len(t.Reasons)
}

// Closed returns the number of closed URLs.
func (t *Totals) Closed() int64 {
	n := int64(0)
	for _, k := range t.Outcomes {
		n += k
	}
	return n
}

// ByReason returns the closed URLs by outcome and reason.
func (t *Totals) ByReason() map[frontier.Outcome]map[string]int64 {
	m := map[frontier.Outcome]map[string]int64{}
	for e, n := range t.Endings {
		if m[e.Outcome()] == nil {
			m[e.Outcome()] = map[string]int64{}
		}
		m[e.Outcome()][t.Reasons[e.Reason()-1]] += n
	}
	return m
}

// AppendTo writes t. The order is fixed, so that equal totals are equal bytes.
func (t *Totals) AppendTo(b []byte) []byte {
	for _, n := range t.Outcomes {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = binary.AppendUvarint(b, uint64(t.Strangers))
	b = binary.AppendUvarint(b, uint64(len(t.Reasons)))
	for _, r := range t.Reasons {
		b = appendText(b, r)
	}
	b = binary.AppendUvarint(b, uint64(len(t.Endings)))
	for _, e := range slices.Sorted(maps.Keys(t.Endings)) {
		b = binary.AppendUvarint(b, uint64(e))
		b = binary.AppendUvarint(b, uint64(t.Endings[e]))
	}
	return appendSums(appendSums(b, t.Capped), t.Counts)
}

// appendSums writes sums by name.
func appendSums(b []byte, sums map[string]int64) []byte {
	b = binary.AppendUvarint(b, uint64(len(sums)))
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		b = appendText(b, name)
		b = binary.AppendVarint(b, sums[name])
	}
	return b
}

// sums reads what appendSums wrote.
func (p *parser) sums(sums map[string]int64) {
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		name := p.text()
		sums[name] = p.varint()
	}
}

// ParseTotals reads what AppendTo wrote.
func ParseTotals(body []byte) (*Totals, bool) {
	t := NewTotals()
	p := parser{b: body}
	for i := range t.Outcomes {
		t.Outcomes[i] = int64(p.uvarint())
	}
	t.Strangers = int64(p.uvarint())
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		r := p.text()
		t.Reasons = append(t.Reasons, r)
		t.Numbers[r] = len(t.Reasons)
	}
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		e := Ending(p.uvarint())
		t.Endings[e] = int64(p.uvarint())
		if e.Reason() == 0 || e.Reason() > len(t.Reasons) {
			p.fail()
		}
	}
	p.sums(t.Capped)
	p.sums(t.Counts)
	return t, p.done()
}

// flightKey is the one key of the flight bucket. Its value, sealed, is the record of what is in flight: the number of
// leases that are out, then the references of the tasks that their holders may be at, in ascending order, each as what
// it is beyond the one before. A small bucket lies in the page of its parent, which every commit writes anyway: the
// record of some hundred leases costs nothing but its own bytes.
const flightKey = "leases"

// InFlight is the record, read.
type InFlight struct {
	Leases uint64
	Refs   []Ref
}

// AppendTo writes the record.
func (r InFlight) AppendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, r.Leases)
	last := Ref(0)
	for _, x := range r.Refs {
		b = binary.AppendUvarint(b, uint64(x-last))
		last = x
	}
	return b
}

// parseInFlight reads what AppendTo wrote.
func parseInFlight(body []byte) (r InFlight, ok bool) {
	p := parser{b: body}
	r.Leases = p.uvarint()
	last := Ref(0)
	for p.more() {
		step := p.uvarint()
		if step == 0 || step > 1<<refBits {
			p.fail()
		}
		last += Ref(step)
		r.Refs = append(r.Refs, last)
	}
	return r, p.done()
}

// Alone reports whether the one task that the record names was all that was going on.
func (r InFlight) Alone() bool { return r.Leases == 1 && len(r.Refs) == 1 }

// WriteInFlight puts a record into the file; nil is none to write.
func WriteInFlight(tx *bbolt.Tx, body []byte) error {
	if body == nil {
		return nil
	}
	return tx.Bucket([]byte(flightBucket)).Put([]byte(flightKey), seal(body))
}

// ReadInFlight returns the record in the file, also as it is stored.
func ReadInFlight(tx *bbolt.Tx) (InFlight, []byte, error) {
	v := tx.Bucket([]byte(flightBucket)).Get([]byte(flightKey))
	if v == nil { // of a new file
		return InFlight{}, InFlight{}.AppendTo(nil), nil
	}
	body, ok := unseal(v)
	if !ok {
		return InFlight{}, nil, fmt.Errorf("read %s: checksum does not match: %w", flightBucket, frontier.ErrDamaged)
	}
	r, ok := parseInFlight(body)
	if !ok {
		return InFlight{}, nil, fmt.Errorf("read %s: %w", flightBucket, frontier.ErrDamaged)
	}
	return r, slices.Clone(body), nil
}
