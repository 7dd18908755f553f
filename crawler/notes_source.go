package crawler

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

// policySource says where the archive has a host's robots policy. The zero value says that it is not known: nothing was
// asked yet, or by a version that did not note it.
type policySource struct {
	record string // id of the record of the exchange that last said what the policy is
	// body is the exchange that brought the file, if the policy is one: of those that said since that it still holds (304)
	// none has it. Its URL is the one that a conditional request goes to (RFC 9110 8.8: validators are of one resource).
	body   string // id of its record
	bodyAt int64  // its date, microseconds of the wall clock
}

// original is the exchange that brought the file, for an answer of url that it still holds; nil when it is not known.
func (s policySource) original(url string) *storage.Original {
	if s.body == "" {
		return nil
	}
	return &storage.Original{URL: url, Date: time.UnixMicro(s.bodyAt).UTC(), ID: s.body}
}

// said notes that an exchange said what the policy is, which is now in state.
func (s *policySource) said(state robots.State, ex archived) {
	s.record = ex.record
	switch _, ruled := state.Body(); {
	case !ruled:
		s.body, s.bodyAt = "", 0
	case ex.Status != http.StatusNotModified:
		s.body, s.bodyAt = ex.record, ex.date.UnixMicro()
	}
}

func (s policySource) append(b []byte) []byte {
	b = appendOctets(b, packID(s.record))
	b = appendOctets(b, packID(s.body))
	return binary.AppendVarint(b, s.bodyAt)
}

func (r *notesReader) source() policySource {
	return policySource{record: unpackID(r.octets()), body: unpackID(r.octets()), bodyAt: r.varint()}
}

// An id of a record is kept in the octets of its UUID where it has one (RFC 9562 4), behind a number that says so;
// another one as it is. One that is longer than maxID is not kept: there is little room in the notes on a host.
const (
	maxID   = 24
	idUUID  = 1
	idText  = 2
	urnUUID = "urn:uuid:"
)

func packID(id string) []byte {
	if text, ok := strings.CutPrefix(id, urnUUID); ok {
		u, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		if p := append([]byte{idUUID}, u...); err == nil && unpackID(p) == id {
			return p
		}
	}
	if id == "" || len(id) > maxID {
		return nil
	}
	return append([]byte{idText}, id...)
}

func unpackID(p []byte) string {
	switch {
	case len(p) == 17 && p[0] == idUUID:
		x := hex.EncodeToString(p[1:])
		return urnUUID + strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
	case len(p) > 1 && p[0] == idText:
		return string(p[1:])
	}
	return ""
}

// paceWords are those who ask for a pace, by their numbers in the notes; the numbers are stable on disk.
var paceWords = [...]string{
	"", byFloor, byCrawlDelay, byRequestRate, byResponseTime, byAddress, byRateLimit, byRetryAfter, byErrors, byRobots,
}

func paceNumber(by string) byte { return byte(max(slices.Index(paceWords[:], by), 0)) }

// pace reads a pause and who asked for it.
func (r *notesReader) pace() pace {
	d, by := time.Duration(r.uvarint())*time.Microsecond, r.uvarint()
	if by >= uint64(len(paceWords)) {
		r.bad = true
		return pace{}
	}
	return pace{d, paceWords[by]}
}
