package warc

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/google/uuid"
)

// urnSize is how long the URN of a UUID is (RFC 9562 4).
const urnSize = len("urn:uuid:00000000-0000-0000-0000-000000000000")

// newUUID is uuid.New without its allocation: version 4, that is, random.
func newUUID() (id uuid.UUID) {
	_, _ = rand.Read(id[:]) // it never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// urns are the ids of the records of an exchange, in one string for all.
type urns string

func (w *Writer) newURNs(n int) urns {
	var room [3 * urnSize]byte
	b := room[:0]
	for range n {
		id := w.newID()
		b = append(b, "urn:uuid:"...)
		b = append(hex.AppendEncode(b, id[:4]), '-')
		b = append(hex.AppendEncode(b, id[4:6]), '-')
		b = append(hex.AppendEncode(b, id[6:8]), '-')
		b = append(hex.AppendEncode(b, id[8:10]), '-')
		b = hex.AppendEncode(b, id[10:])
	}
	return urns(b)
}

// next takes the first one.
func (u *urns) next() string {
	id := (*u)[:urnSize]
	*u = (*u)[urnSize:]
	return string(id)
}
