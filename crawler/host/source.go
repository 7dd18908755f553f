package host

import (
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"curtsy/robots"
	"curtsy/storage"
)

// Source says where the archive has a host's robots policy. The zero value says that it is not known: nothing was
// asked yet.
type Source struct {
	Record string // id of the record of the exchange that last said what the policy is
	// body is the exchange that brought the file, if the policy is one: of those that said since that it still holds (304)
	// none has it. Its URL is the one that a conditional request goes to (RFC 9110 8.8: validators are of one resource).
	Body   string // id of its record
	BodyAt int64  // its date, microseconds of the wall clock
}

// Original is the exchange that brought the file, for an answer of url that it still holds; nil when it is not known.
func (s Source) Original(url string) *storage.Original {
	if s.Body == "" {
		return nil
	}
	return &storage.Original{URL: url, Date: time.UnixMicro(s.BodyAt).UTC(), ID: s.Body}
}

// Learn notes that an exchange, of that status and archived as record at date, said what the policy is, which is now in
// state.
func (s *Source) Learn(state robots.State, status int, record string, date time.Time) {
	s.Record = record
	switch _, ruled := state.Body(); {
	case !ruled:
		s.Body, s.BodyAt = "", 0
	case status != http.StatusNotModified:
		s.Body, s.BodyAt = record, date.UnixMicro()
	}
}

func (s Source) append(b []byte) []byte {
	var id [maxID + 1]byte
	b = appendOctets(b, packID(id[:0], s.Record))
	b = appendOctets(b, packID(id[:0], s.Body))
	return binary.AppendVarint(b, s.BodyAt)
}

func (r *decoder) source() Source {
	return Source{Record: unpackID(r.bytes()), Body: unpackID(r.bytes()), BodyAt: r.varint()}
}

// An id of a record is kept in the octets of its UUID where it has one (RFC 9562 4), behind a number that says so;
// another one as it is. One that is longer than maxID is not kept: there is little room in the notes on a host.
const (
	maxID   = 24
	idUUID  = 1
	idText  = 2
	urnUUID = "urn:uuid:"

	uuidForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
)

// packID appends an id to b, or nothing.
func packID(b []byte, id string) []byte {
	if u, ok := uuidOf(id); ok {
		return append(append(b, idUUID), u[:]...)
	}
	if id == "" || len(id) > maxID {
		return b
	}
	return append(append(b, idText), id...)
}

// uuidOf returns the UUID of an id that is written as one, in lower case.
func uuidOf(id string) (u [16]byte, ok bool) {
	text, ok := strings.CutPrefix(id, urnUUID)
	if !ok || len(text) != len(uuidForm) {
		return u, false
	}
	var digits [32]byte
	n := 0
	for i := range len(text) {
		switch c := text[i]; {
		case uuidForm[i] == '-':
			if c != '-' {
				return u, false
			}
		case 'A' <= c && c <= 'F':
			return u, false
		default:
			digits[n] = c
			n++
		}
	}
	_, err := hex.Decode(u[:], digits[:])
	return u, err == nil
}

func unpackID(p []byte) string {
	switch {
	case len(p) == 17 && p[0] == idUUID:
		var digits [32]byte
		hex.Encode(digits[:], p[1:])
		var stack [len(urnUUID) + len(uuidForm)]byte
		text, n := append(stack[:0], urnUUID...), 0
		for i := range len(uuidForm) {
			if uuidForm[i] == '-' {
				text = append(text, '-')
				continue
			}
			text = append(text, digits[n])
			n++
		}
		return string(text)
	case len(p) > 1 && p[0] == idText:
		return string(p[1:])
	}
	return ""
}

// paceWords are those who ask for a pace, by their numbers in the notes; the numbers are stable on disk.
var paceWords = [...]storage.PaceBy{
	"", storage.ByFloor, storage.ByCrawlDelay, storage.ByRequestRate, storage.ByResponseTime, storage.ByAddress, storage.ByRateLimit, storage.ByRetryAfter, storage.ByErrors, storage.ByRobots, storage.ByHostSetting, storage.ByOperator,
}

func paceNumber(by storage.PaceBy) byte { return byte(max(slices.Index(paceWords[:], by), 0)) }

// pace reads a pause and who asked for it.
func (r *decoder) pace() Pace {
	d, by := time.Duration(r.uvarint())*time.Microsecond, r.uvarint()
	if by >= uint64(len(paceWords)) {
		r.bad = true
		return Pace{}
	}
	return Pace{d, paceWords[by]}
}
