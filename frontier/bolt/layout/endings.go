package layout

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// Sizes holds the number of entries, less one, of the records 1, 2, 3, …: a byte per record, so that the endings of all
// entries can be laid out without reading the records again.
type Sizes []uint8

// Entries returns the number of entries of a record, 0 if the record is missing.
func (s Sizes) Entries(record uint64) int {
	if record == 0 || record > uint64(len(s)) {
		return 0
	}
	return int(s[record-1]) + 1
}

// Endings holds the ending of every entry of every record during an open, a fold or a check.
type Endings struct {
	sizes Sizes
	base  []uint64 // index in All of the first entry of record i+1
	All   []Ending
}

func NewEndings(s Sizes) *Endings {
	f := &Endings{sizes: s, base: make([]uint64, len(s))}
	total := uint64(0)
	for i, n := range s {
		f.base[i] = total
		total += uint64(n) + 1
	}
	f.All = make([]Ending, total)
	return f
}

// Of returns the place of the ending of r, or nil if the entry is missing.
func (f *Endings) Of(r Ref) *Ending {
	if r.Place() >= f.sizes.Entries(r.Record()) {
		return nil
	}
	return &f.All[f.base[r.Record()-1]+uint64(r.Place())]
}

func (f *Endings) Record(id uint64) []Ending {
	from := f.base[id-1]
	return f.All[from : from+uint64(f.sizes.Entries(id))]
}

// Read applies the stored endings: first the folded ones, then the words since.
func (f *Endings) Read(tx *bbolt.Tx) (folded, unfolded int64, err error) {
	next := uint64(1)
	err = FoldedJournal.Each(tx, func(_ uint64, body []byte) error {
		p := parser{b: body}
		if p.uvarint(); p.uvarint() != next {
			return fmt.Errorf("it does not begin with record %d: %w", next, frontier.ErrDamaged)
		}
		for ; p.more(); next++ {
			n := f.sizes.Entries(next)
			if n == 0 || p.uvarint() != uint64(n) || !p.endings(f.Record(next)) {
				return fmt.Errorf("record %d: %w", next, frontier.ErrDamaged)
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	for _, e := range f.All {
		if e != 0 {
			folded++
		}
	}
	err = ReadWords(tx, DoneJournal, func(d Done) error {
		at := f.Of(d.Ref())
		if at == nil {
			return fmt.Errorf("record %d has no entry %d: %w", d.Ref().Record(), d.Ref().Place(), frontier.ErrDamaged)
		}
		*at = d.Ending()
		unfolded++
		return nil
	})
	return folded, unfolded, err
}

// Fold replaces the stored endings by one item per record, in the order of the records: the endings of its entries as
// runs (ending, number). Most pages end the same way, so an item of 128 entries takes a few bytes instead of 1024. A
// fold is a pass over everything. Each value begins with the last key of the done journal that the fold covers, and the
// record of its first item, and each item with its number of entries: so a rebuild, which may find values of several
// folds and not all records, can place them, and knows which words are older.
func (f *Endings) Fold(tx *bbolt.Tx) error {
	covered := DoneJournal.Last(tx)
	if err := DoneJournal.clear(tx); err != nil {
		return err
	}
	if err := FoldedJournal.clear(tx); err != nil {
		return err
	}
	var body, item []byte
	for id := uint64(1); id <= uint64(len(f.sizes)); id++ {
		es := f.Record(id)
		item = appendEndings(binary.AppendUvarint(item[:0], uint64(len(es))), es)
		if len(body) > 0 && len(body)+len(item) > ValueSize {
			if _, err := FoldedJournal.Append(tx, body); err != nil {
				return err
			}
			body = body[:0]
		}
		if len(body) == 0 {
			body = binary.AppendUvarint(binary.AppendUvarint(body, covered), id)
		}
		body = append(body, item...)
	}
	if len(body) == 0 {
		return nil
	}
	_, err := FoldedJournal.Append(tx, body)
	return err
}

func appendEndings(b []byte, es []Ending) []byte {
	for i := 0; i < len(es); {
		n := 1
		for i+n < len(es) && es[i+n] == es[i] {
			n++
		}
		b = binary.AppendUvarint(b, uint64(es[i]))
		b = binary.AppendUvarint(b, uint64(n))
		i += n
	}
	return b
}

// endings reads the runs of appendEndings into es, and reports whether they fill it exactly.
func (p *parser) endings(es []Ending) bool {
	for len(es) > 0 {
		e, n := p.uvarint(), p.uvarint()
		if p.bad || n == 0 || n > uint64(len(es)) || e != uint64(Ending(e)) {
			return false
		}
		for i := range es[:n] {
			es[i] = Ending(e)
		}
		es = es[n:]
	}
	return true
}

func ReadSizes(tx *bbolt.Tx) (all Sizes, err error) {
	var spans []Span
	err = RecordJournal.Each(tx, func(seq uint64, body []byte) (err error) {
		if next := uint64(len(all)) + 1; seq != next {
			return fmt.Errorf("record %d is missing: %w", next, frontier.ErrDamaged)
		}
		if spans, _, err = ParseHead(body, spans[:0]); err != nil {
			return err
		}
		all = append(all, uint8(countEntries(spans)-1))
		return nil
	})
	return all, err
}

func ReadEndings(tx *bbolt.Tx) (*Endings, error) {
	all, err := ReadSizes(tx)
	if err != nil {
		return nil, err
	}
	f := NewEndings(all)
	_, _, err = f.Read(tx)
	return f, err
}

// Check fails when r names a missing entry.
func (f *Endings) Check(r InFlight) error {
	for _, x := range r.Refs {
		if f.Of(x) == nil {
			return fmt.Errorf("read %s: record %d has no entry %d: %w",
				flightBucket, x.Record(), x.Place(), frontier.ErrDamaged)
		}
	}
	return nil
}

// ParseFold reads as much as it can of a value of the folded journal: the last key of the done journal that it covers,
// its first record, and the endings of that record and the next ones, nil when unreadable.
func ParseFold(body []byte) (covered, first uint64, records [][]Ending) {
	p := parser{b: body}
	covered, first = p.uvarint(), p.uvarint()
	for p.more() {
		es := make([]Ending, min(p.uvarint(), MaxPlaces))
		if !p.endings(es) {
			es = nil
		}
		records = append(records, es)
	}
	return covered, first, records
}

// Ending is the outcome of a closed URL in the low three bits, and above them the number of its reason in the totals,
// in nine bits. Zero is pending. With a reference of 52 bits it makes one word of the done journal.
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
