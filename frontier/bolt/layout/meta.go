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

const Format = 2 // a file with another number is refused

const (
	FormatKey = "format" // uint32
	SecretKey = "secret" // 32 bytes, the key of frontier.Print
	EpochKey  = "epoch"  // uint64, number of openings
	cleanKey  = "clean"  // empty while the frontier is open; after a Close, the rest of the floor
	TotalsKey = "totals" // sealed Totals
	stampKey  = "stamp"  // see Stamp
	wallKey   = "wall"   // sealed uint64, the time of the last writing; see Clock
)

// Meta is the meta bucket without the totals.
type Meta struct {
	Secret []byte
	Epoch  uint64
	Clean  bool
	Floor  int64 // rest of the floor after a clean stop
	Clock  Clock // the caller's, which does not go back behind the last writing
}

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

func sealMeta(key string, body []byte) []byte { return sealFor(MetaBucket, []byte(key), body) }

// getMeta returns a body that sealMeta has sealed, nil when its checksum does not match.
func getMeta(tx *bbolt.Tx, key string) []byte {
	body, ok := unsealFor(MetaBucket, []byte(key), tx.Bucket([]byte(MetaBucket)).Get([]byte(key)))
	if !ok {
		return nil
	}
	return append([]byte{}, body...)
}

// ReadMeta reads the meta bucket, and refuses a file of another format.
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
	if v, is := b.Get([]byte(stampKey)), makeStamp(tx); !bytes.Equal(v, is) {
		return Meta{}, nil, fmt.Errorf("it is stamped %x, and is %x: the disk has lost pages that it had said were durable: %w",
			v, is, frontier.ErrDamaged)
	}
	wall, ok := unseal(b.Get([]byte(wallKey)))
	if !ok || len(wall) != 8 {
		return Meta{}, nil, fmt.Errorf("meta bucket: time of the last writing: %w", frontier.ErrDamaged)
	}
	c.Least = max(int64(binary.BigEndian.Uint64(wall)), c.Began.UnixNano())
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

func WriteSecret(tx *bbolt.Tx, secret []byte) error {
	return tx.Bucket([]byte(MetaBucket)).Put([]byte(SecretKey), seal(secret))
}

// WriteTotals writes totals as encoded by AppendTo.
func WriteTotals(tx *bbolt.Tx, body []byte) error {
	return tx.Bucket([]byte(MetaBucket)).Put([]byte(TotalsKey), seal(body))
}

// WriteStop writes the number of openings and how the last run ended; a clean end may have left a floor.
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

// WriteAsFound ends an opening with nothing in flight, and leaves an unclean stop before it to the next one.
func WriteAsFound(tx *bbolt.Tx, c Clock) error {
	if err := WriteInFlight(tx, InFlight{}.AppendTo(nil)); err != nil {
		return err
	}
	return Stamp(tx, c)
}

// WriteClean ends an opening with nothing in flight and the rest of a floor.
func WriteClean(tx *bbolt.Tx, c Clock, floor int64) error {
	mark := sealMeta(cleanKey, c.appendWait(nil, c.Now(), floor))
	if err := tx.Bucket([]byte(MetaBucket)).Put([]byte(cleanKey), mark); err != nil {
		return err
	}
	return WriteAsFound(tx, c)
}

// Stamp writes the number of tx, and the last key of each journal. Whatever writes to the file stamps it.
//
// A disk may lose pages that it had reported as durable, and keep the meta page of bbolt. As bbolt reuses pages, an
// older version of the same page may then be in its place: consistent, but without later acknowledged writes. An older
// root has an older stamp, and an older leaf an older last key. The time of writing is kept with it: see Clock.
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

// makeStamp returns the stamp of the current state of tx.
func makeStamp(tx *bbolt.Tx) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(tx.ID()))
	for _, j := range Journals() {
		k, _ := tx.Bucket([]byte(j)).Cursor().Last()
		b = append(b, make([]byte, 8-min(len(k), 8))...)
		b = append(b, k[:min(len(k), 8)]...)
	}
	return b
}

// Clock is the time of an opening: nanoseconds since it began, on the monotonic clock, so that a step of the wall clock
// moves no host.
//
// A time that outlives the opening is kept on a wall clock that never goes back: it begins where the last opening left
// it, and runs at least as fast as the monotonic clock. When the machine's clock was set back, waits therefore continue
// while the frontier is open, and no opening restarts them; when it was set forward, that looks like time during which
// nothing ran.
type Clock struct {
	Began time.Time
	Least int64 // least reading of the wall clock at Began
}

func (c Clock) Now() int64 { return int64(time.Since(c.Began)) }

// wall returns the time of the wall clock that never goes back.
func (c Clock) wall(now int64) int64 {
	return max(time.Now().UnixNano(), After(c.Least, time.Duration(now)))
}

// appendWait encodes a due time as the time of the wall clock and the length of the wait. The first counts the time
// during which nothing runs, the second bounds the wait.
func (c Clock) appendWait(b []byte, now, due int64) []byte {
	length := max(due-now, 0)
	wall := int64(0)
	if length > 0 {
		wall = After(c.wall(now), time.Duration(length))
	}
	b = binary.AppendUvarint(b, uint64(wall))
	return binary.AppendUvarint(b, uint64(length))
}

// parseWait returns the due time on this clock: the rest by the wall clock, at most the whole wait.
func (c Clock) parseWait(p *parser) int64 {
	wall, length := int64(p.uvarint()), int64(p.uvarint())
	left := min(wall-max(c.Began.UnixNano(), c.Least), length)
	return max(left, 0)
}

func After(now int64, d time.Duration) int64 {
	d = max(d, 0)
	if int64(d) > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + int64(d)
}

// Totals are the sums over the whole crawl that the hosts do not have: one value of the meta bucket, which every commit
// writes.
type Totals struct {
	Outcomes frontier.Outcomes
	Endings  map[Ending]int64 // closed URLs by outcome and reason; none without a reason
	Reasons  []string         // number i is at i-1
	Capped   map[string]int64 // links, by reason

	Strangers int64 // dropped URLs, refused at unknown hosts
	Counts    map[string]int64

	Numbers map[string]int // of Reasons; not stored
}

// otherReasons replaces all reasons after the 510th: a number has nine bits, and free text in reasons must not fill the
// memory.
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

func (t *Totals) Closed() int64 {
	n := int64(0)
	for _, k := range t.Outcomes {
		n += k
	}
	return n
}

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

// AppendTo encodes t in a fixed order, so that equal totals are equal bytes.
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

func appendSums(b []byte, sums map[string]int64) []byte {
	b = binary.AppendUvarint(b, uint64(len(sums)))
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		b = appendText(b, name)
		b = binary.AppendVarint(b, sums[name])
	}
	return b
}

func (p *parser) sums(sums map[string]int64) {
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		name := p.text()
		sums[name] = p.varint()
	}
}

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

// flightKey is the only key of the flight bucket. Its sealed value is the number of leases that are out, then the
// references of the tasks that may be in flight, ascending, each as the difference from the previous one. A small
// bucket lies in the page of its parent, which every commit writes anyway: the record of some hundred leases costs only
// its own bytes.
const flightKey = "leases"

type InFlight struct {
	Leases uint64
	Refs   []Ref
}

func (r InFlight) AppendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, r.Leases)
	last := Ref(0)
	for _, x := range r.Refs {
		b = binary.AppendUvarint(b, uint64(x-last))
		last = x
	}
	return b
}

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

// WriteInFlight writes a record, unless body is nil.
func WriteInFlight(tx *bbolt.Tx, body []byte) error {
	if body == nil {
		return nil
	}
	return tx.Bucket([]byte(flightBucket)).Put([]byte(flightKey), seal(body))
}

// ReadInFlight returns the record in the file, decoded and as stored.
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
