package crawler

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"
)

// notes is what the crawl remembers of a host from turn to turn, beside its robots state. The frontier keeps it as
// frontier.HostUpdate.Memory. The zero value is a host never met.
type notes struct {
	responses [5]time.Duration // the last response times; zero entries are not filled yet
	next      uint64           // responses written so far
	lastEnd   int64            // when the last exchange ended, microseconds of the crawl's steady clock; 0: never

	failures  uint64 // exchanges in a row that failed by the host's fault (politeness rule 12)
	throttles uint64 // 429 and 503 in a row (rule 11)
	refusals  uint64 // 401, 402, 403, 407, 451 in a row (rule 13)
	pages     uint64 // 2xx HTML answers
	forbidden bool   // robots.txt answered 403

	run        uint64 // the run that the next three count for
	parks      uint64 // hours of rest after failuresToPark failures
	throttling uint64 // park periods from 429 and 503
	unknown    uint64 // NXDOMAIN answers
}

const notesVersion = 1

var errNotes = errors.New("crawler: the notes on a host are damaged")

// append encodes n after b.
func (n *notes) append(b []byte) []byte {
	b = append(b, notesVersion)
	for _, d := range n.responses {
		b = binary.AppendUvarint(b, uint64(d/time.Microsecond))
	}
	b = binary.AppendVarint(b, n.lastEnd)
	forbidden := uint64(0)
	if n.forbidden {
		forbidden = 1
	}
	for _, v := range []uint64{n.next, n.failures, n.throttles, n.refusals, n.pages, forbidden, n.run, n.parks, n.throttling, n.unknown} {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// readNotes decodes what append wrote; nothing gives the zero notes.
func readNotes(b []byte) (n notes, err error) {
	if len(b) == 0 {
		return notes{}, nil
	}
	if b[0] != notesVersion {
		return notes{}, errNotes
	}
	b = b[1:]
	var us [5]uint64
	for i := range us {
		if us[i], b, err = uvarint(b); err != nil {
			return notes{}, err
		}
		n.responses[i] = time.Duration(us[i]) * time.Microsecond
	}
	end, w := binary.Varint(b)
	if w <= 0 {
		return notes{}, errNotes
	}
	n.lastEnd, b = end, b[w:]
	var forbidden uint64
	for _, p := range []*uint64{&n.next, &n.failures, &n.throttles, &n.refusals, &n.pages, &forbidden, &n.run, &n.parks, &n.throttling, &n.unknown} {
		if *p, b, err = uvarint(b); err != nil {
			return notes{}, err
		}
	}
	n.forbidden = forbidden != 0
	if len(b) > 0 {
		return notes{}, errNotes
	}
	return n, nil
}

func uvarint(b []byte) (uint64, []byte, error) {
	v, w := binary.Uvarint(b)
	if w <= 0 {
		return 0, nil, errNotes
	}
	return v, b[w:], nil
}

// begin forgets what was counted for an earlier run. No exchange ended after now: a wall clock that was set back
// between two runs must not make a host wait for it to catch up.
func (n *notes) begin(run uint64, now int64) {
	if n.run != run {
		n.run, n.parks, n.throttling, n.unknown = run, 0, 0, 0
	}
	n.lastEnd = min(n.lastEnd, now)
}

// heard remembers a response time.
func (n *notes) heard(d time.Duration) {
	if d <= 0 {
		return
	}
	n.responses[n.next%uint64(len(n.responses))] = d
	n.next++
}

// response is the median of the last response times; zero when there is none. Of an even number it is the larger of
// the middle two, so that the pace errs towards the longer.
func (n *notes) response() time.Duration {
	k := int(min(n.next, uint64(len(n.responses))))
	if k == 0 {
		return 0
	}
	s := n.responses
	slices.Sort(s[:k])
	return s[k/2]
}
