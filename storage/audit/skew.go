package audit

import (
	"strings"
	"time"

	"curtsy/storage/audit/evidence"
)

// dated notes by how much the date of an answer (RFC 9110 6.6.1) differs from the archive's. The field has whole
// seconds, and the answer was made some time between the request and its own first byte: the middle of both is taken,
// so that one of them says little and the median of many says it to about a tenth of a second. An answer with an Age
// was made for somebody else, some time before.
//
// It proves nothing: the server's clock may be wrong, or its dates made up. But dates of a host that were all shifted
// alike in the archive show here, and nowhere else.
func (h *host) dated(x *evidence.Joined) {
	at, ok := evidence.Date(strings.TrimSpace(x.Answer.Date.Value))
	if e := &x.Exchange; ok && x.Answer.Age.Value == "" && e.Status != 0 && (at.Sub(e.Began)).Abs() < mostSkew {
		made := e.Began
		if l := e.Line; l != nil {
			made = made.Add(min(l.FirstByte, e.Took) / 2)
		}
		h.skew.Add(at.Add(time.Second / 2).Sub(made))
	}
}

// mostSkew is more than any clock is off by that is still a clock. A date that is further off was chosen by somebody.
const mostSkew = 100 * 365 * 24 * time.Hour
