package audit

import (
	"strconv"
	"strings"

	"curtsy/storage/audit/finding"
)

// unread takes an answer that has not the text of robots.txt: to HEAD, or with a part of it. What is at hand stays so.
func (a *audit) unread(h *half, to *host) {
	if to.policy.kind != unasked {
		return
	}
	to.policy.why = "it was asked for by HEAD alone, at " + finding.Clock(h.e.Began) + ", whose answer has no rules"
	if h.e.Method != "HEAD" {
		to.policy.why = "only a part of it was asked for, at " + finding.Clock(h.e.Began)
	}
}

// all reports whether a part is all of it (RFC 9110 14.4).
func (s *answer) all() bool {
	part, ok := strings.CutPrefix(s.part.value, "bytes 0-")
	last, whole, _ := strings.Cut(part, "/")
	n, err := strconv.ParseUint(last, 10, 32)
	return ok && err == nil && strconv.FormatUint(n+1, 10) == whole
}

// enough is how much of a robots.txt must be read at least (RFC 9309 2.5).
const enough = 500 << 10

// partial says why a kept body of n octets is not all that the server meant to send; "" when nothing shows it.
func (a *audit) partial(h *half, n int) string {
	length, err := strconv.ParseUint(h.said.length.value, 10, 63)
	switch {
	case h.e.Cut == "length" && (n >= enough || h.said.coding != "" && a.ours()): // by the crawler, which had enough
		return ""
	case a.read.cut:
		return "its chunks end early"
	case a.read.chunked || n >= enough || h.said.coding != "": // others may keep a body without its coding
		return ""
	case err == nil && uint64(n) < length:
		return strconv.Itoa(n) + " of " + h.said.length.value + " octets"
	}
	return ""
}
