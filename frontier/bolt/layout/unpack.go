package layout

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Blocks unpacks records for claims, and remembers the last ones: a host's tasks are often claimed one by one out of
// the same record. Which record stands where is fixed, so that there is no order to keep. A record is unpacked into the
// memory of the one that it drives out: with more records than can be remembered each claim unpacks one, and must not
// leave 5 KiB of garbage.
type Blocks struct {
	Zip   *zstd.Decoder
	slots [512]remembered // of about 5 KiB each
}

type remembered struct {
	mu    sync.Mutex // held while an entry is read: an entry takes copies
	id    uint64     // zero for none
	block Block
}

// Entry returns the candidate that r stands for, an entry of the authority a.
func (b *Blocks) Entry(records *Lookup, r Ref, a canon.Authority) (frontier.Candidate, error) {
	id := r.Record()
	slot := &b.slots[id%uint64(len(b.slots))]
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if slot.id != id {
		slot.id = 0
		body, err := records.Get(id)
		if err != nil {
			return frontier.Candidate{}, err
		}
		if err := slot.block.read(body, b.Zip); err != nil {
			return frontier.Candidate{}, fmt.Errorf("read %s: value %d: %w", RecordJournal, id, err)
		}
		slot.id = id
	}
	c, err := slot.block.Entry(r.Place(), a)
	if err != nil {
		return c, fmt.Errorf("read %s: value %d: %w", RecordJournal, id, err)
	}
	return c, nil
}

// largeBlock is what a block may have unpacked to whose memory is kept for the next one. A few are much larger.
const largeBlock = 4 * textSize

// read unpacks a stored record into b, in the memory of what was there.
func (b *Block) read(body []byte, zip *zstd.Decoder) error {
	spans, packed, err := ParseHead(body, b.Spans[:0])
	if err != nil {
		return err
	}
	old := b.raw
	if cap(old) > largeBlock {
		old = nil
	}
	*b = Block{Spans: spans, rows: b.rows[:0]}
	if len(packed) == 0 {
		return nil
	}
	raw, err := zip.DecodeAll(packed, old[:0])
	if err != nil {
		return fmt.Errorf("block of a record: %w: %w", err, frontier.ErrDamaged)
	}
	return b.index(raw)
}
