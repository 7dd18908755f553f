package layout

import (
	"encoding/binary"
	"time"

	"curtsy/frontier"
)

// HostState is what is stored of a host, its name and what the crawler remembers of it apart.
type HostState struct {
	Condition frontier.Condition
	Width     int
	Pace      time.Duration
	Refused   uint32         // candidates
	Finished  frontier.Token // of the last Finish that ended a turn
	NotBefore int64
	Reason    string
	Hold      *Hold // nil for none
}

// StateRecord returns s as it is stored, the state of the host with that id.
func (s *HostState) StateRecord(id uint32, c Clock, now int64) *StateRecord {
	b := []byte{byte(s.Condition)}
	b = binary.AppendUvarint(b, uint64(s.Width))
	b = binary.AppendUvarint(b, uint64(s.Pace))
	b = binary.AppendUvarint(b, uint64(s.Refused))
	b = binary.AppendUvarint(b, uint64(s.Finished))
	b = c.appendWait(b, now, s.NotBefore)
	b = appendText(b, s.Reason)
	b = s.Hold.appendTo(b, c, now)
	return &StateRecord{Address: Address{Kind: KindHost, ID: uint64(id)}, Data: b}
}

// ParseHostState reads what StateRecord wrote, and reports whether it is that.
func ParseHostState(data []byte, c Clock) (s HostState, ok bool) {
	p := parser{b: data}
	if b := p.bytes(1); !p.bad {
		s.Condition = frontier.Condition(b[0])
	}
	s.Width = int(p.uvarint())
	s.Pace = time.Duration(p.uvarint())
	s.Refused = uint32(p.uvarint())
	s.Finished = frontier.Token(p.uvarint())
	s.NotBefore = c.parseWait(&p)
	s.Reason = p.text()
	s.Hold = parseHold(&p, c)
	return s, p.done() && s.Condition <= frontier.Refused
}

// MaxHosts bounds the ids of hosts. More would not fit into RAM; a larger id is damage.
const MaxHosts = 1 << 28
