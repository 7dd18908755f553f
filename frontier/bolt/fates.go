package bolt

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// sizes holds the number of entries, less one, of the records 1, 2, 3, …: an octet per record, so that the endings of
// all entries can be laid out without reading the records again.
type sizes []uint8

// entries returns the number of entries of a record, 0 if there is no such record.
func (s sizes) entries(record uint64) int {
	if record == 0 || record > uint64(len(s)) {
		return 0
	}
	return int(s[record-1]) + 1
}

// fates holds the ending of every entry of every record, for as long as an open, a fold or a check takes.
type fates struct {
	sizes   sizes
	base    []uint64 // of record i+1 in endings
	endings []ending
}

func newFates(s sizes) *fates {
	f := &fates{sizes: s, base: make([]uint64, len(s))}
	total := uint64(0)
	for i, n := range s {
		f.base[i] = total
		total += uint64(n) + 1
	}
	f.endings = make([]ending, total)
	return f
}

// of returns where the ending of r is kept, or nil when there is no such entry.
func (f *fates) of(r ref) *ending {
	if r.place() >= f.sizes.entries(r.record()) {
		return nil
	}
	return &f.endings[f.base[r.record()-1]+uint64(r.place())]
}

// record returns the endings of a record.
func (f *fates) record(id uint64) []ending {
	from := f.base[id-1]
	return f.endings[from : from+uint64(f.sizes.entries(id))]
}

// read applies what is stored: first what has been folded, then the words since.
func (f *fates) read(tx *bbolt.Tx) (folded, unfolded int64, err error) {
	next := uint64(1)
	err = foldedJournal.each(tx, func(_ uint64, body []byte) error {
		p := parser{b: body}
		if p.uvarint(); p.uvarint() != next {
			return fmt.Errorf("it does not begin with record %d: %w", next, frontier.ErrDamaged)
		}
		for ; p.more(); next++ {
			if f.sizes.entries(next) == 0 {
				return fmt.Errorf("record %d is unknown: %w", next, frontier.ErrDamaged)
			}
			if p.uvarint() != uint64(f.sizes.entries(next)) || !p.endings(f.record(next)) {
				return fmt.Errorf("record %d: %w", next, frontier.ErrDamaged)
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	for _, e := range f.endings {
		if e != 0 {
			folded++
		}
	}
	err = readDone(tx, func(d done) error {
		at := f.of(d.ref())
		if at == nil {
			return fmt.Errorf("record %d has no entry %d: %w", d.ref().record(), d.ref().place(), frontier.ErrDamaged)
		}
		*at = d.ending()
		unfolded++
		return nil
	})
	return folded, unfolded, err
}

// fold replaces what is stored by one item per record, in the order of the records: the endings of its entries as
// runs (ending, number). Most pages end alike, so that an item of 128 entries takes a few octets instead of 1024.
// This costs a pass over everything, and so is done when a good part is new; see foldAt. Each value begins with the last
// key of the done journal that the fold covers, and the record of its first item, and each item with its number of
// entries: so Rebuild, which may find values of several folds and not all records, knows what they are about, and which
// words are older.
func (f *fates) fold(tx *bbolt.Tx) error {
	covered := doneJournal.last(tx)
	if err := doneJournal.clear(tx); err != nil {
		return err
	}
	if err := foldedJournal.clear(tx); err != nil {
		return err
	}
	var body, item []byte
	for id := uint64(1); id <= uint64(len(f.sizes)); id++ {
		es := f.record(id)
		item = appendEndings(binary.AppendUvarint(item[:0], uint64(len(es))), es)
		if len(body) > 0 && len(body)+len(item) > valueSize {
			if _, err := foldedJournal.append(tx, body); err != nil {
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
	_, err := foldedJournal.append(tx, body)
	return err
}

// foldAt returns how many words the done journal may hold beside that many folded ones: half as many. So each word
// is folded about twice, and the journal stays a third of the whole.
func foldAt(folded int64) int64 { return max(folded/2, 1<<16) }

// appendEndings writes the endings of a record as runs.
func appendEndings(b []byte, es []ending) []byte {
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

// endings reads what appendEndings wrote into es, and reports whether it was as many.
func (p *parser) endings(es []ending) bool {
	for len(es) > 0 {
		e, n := p.uvarint(), p.uvarint()
		if p.bad || n == 0 || n > uint64(len(es)) || e != uint64(ending(e)) {
			return false
		}
		for i := range es[:n] {
			es[i] = ending(e)
		}
		es = es[n:]
	}
	return true
}
