package layout

import (
	"encoding/binary"
	"fmt"

	"curtsy/frontier"
)

// A StateRecord is a piece of state that is written as a whole and read by its address, kind and id. They live in a
// journal, where the last one of an address counts, because the alternative, a bucket with a key for each, rewrites a
// page of 4 KiB for every host that had a turn. The Sweeper removes those that no longer count.
type StateRecord struct {
	Address
	Data []byte
}

// Address names a state record.
type Address struct {
	Kind Kind
	ID   uint64 // of a host, or the reference of a task
}

// Kind says what a state record holds. The numbers are stable on disk.
type Kind uint8

// The kinds.
const (
	KindName   Kind = 1 // the authority of a host
	KindHost   Kind = 2 // what is in RAM of a host
	KindRobots Kind = 3 // HostUpdate.Robots
	KindMemory Kind = 4 // HostUpdate.Memory
	KindRetry  Kind = 5 // a task that was deferred
)

// HostKinds are the kinds below which a host's state records are.
const HostKinds = 4

// AppendTo writes c as an item of its journal.
func (c StateRecord) AppendTo(b []byte) []byte {
	b = append(b, byte(c.Kind))
	b = binary.AppendUvarint(b, c.ID)
	b = binary.AppendUvarint(b, uint64(len(c.Data)))
	return append(b, c.Data...)
}

// EachState calls f for every state record of a value of the journal, and for none when not all can be read.
func EachState(body []byte, f func(StateRecord)) error {
	for p := (parser{b: body}); p.more(); {
		if c := p.state(); p.bad || c.Kind < KindName || c.Kind > KindRetry {
			return fmt.Errorf("cell: %w", frontier.ErrDamaged)
		}
	}
	for p := (parser{b: body}); p.more(); {
		f(p.state())
	}
	return nil
}

// state reads what AppendTo wrote.
func (p *parser) state() (c StateRecord) {
	if kind := p.bytes(1); !p.bad {
		c.Kind = Kind(kind[0])
	}
	c.ID = p.uvarint()
	c.Data = p.bytes(p.uvarint())
	return c
}
