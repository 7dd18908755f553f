package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"curtsy/storage/warc"
)

// Whole reports whether a part is all of it (RFC 9110 14.4).
func (s *AnswerHead) Whole() bool {
	part, ok := strings.CutPrefix(s.part.Value, "bytes 0-")
	last, whole, _ := strings.Cut(part, "/")
	n, err := strconv.ParseUint(last, 10, 32)
	return ok && err == nil && strconv.FormatUint(n+1, 10) == whole
}

// Enough is how much of a robots.txt must be read at least (RFC 9309 2.5).
const Enough = 500 << 10

// incomplete says why a kept body of n bytes is not all that the server meant to send; "" when nothing shows it.
func (rd *Reader) incomplete(h *partial, n int) string {
	length, err := strconv.ParseUint(h.Answer.length.Value, 10, 63)
	switch {
	case h.Exchange.Cut == "length" && (n >= Enough || h.Answer.Coding != "" && rd.ours()): // by the crawler, which had enough
		return ""
	case rd.block.cut:
		return "its chunks end early"
	case rd.block.chunked || n >= Enough || h.Answer.Coding != "": // others may keep a body without its coding
		return ""
	case err == nil && uint64(n) < length:
		return strconv.Itoa(n) + " of " + h.Answer.length.Value + " bytes"
	}
	return ""
}

// unframed says where the body of a whole answer does not end as its head says (RFC 9112 6.3).
func (h *partial) unframed(r *blockReader) string {
	length, err := strconv.ParseUint(h.Answer.length.Value, 10, 63)
	switch s := h.Exchange.Status; {
	case s == 204 || s == 304:
		if h.Body > 0 {
			return fmt.Sprintf("%d bytes after the head of status %d, which has no body", h.Body, s)
		}
	case r.chunked:
		return r.chunks
	case err == nil && uint64(h.Body) != length:
		return fmt.Sprintf("a body of %d bytes with Content-Length: %d", h.Body, length)
	}
	return ""
}

// isProof reports whether a body has the form of an owner's proof.
func isProof(body []byte) bool {
	for line := range strings.Lines(string(body[:min(len(body), 4<<10)])) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "curtsy-owner=")
		if ok && len(value) == 64 && strings.Trim(value, "0123456789abcdef") == "" {
			return true
		}
	}
	return false
}

// OwnerPath is where a host holds the proof that it is the operator's own (docs/trust/politeness.md, rule 18).
const OwnerPath = "/.well-known/curtsy-owner.txt"

// Unfinished reports whether a file is a segment that was being written.
func Unfinished(path string) bool { return strings.HasSuffix(path, unfinished) }

const unfinished = ".open"

// misses notes that the metadata record of an exchange without an answer names one all the same: the request names it
// too, or the metadata record would not have been found to be of it.
func (h *partial) misses(rec *warc.Record) {
	if h.HasAnswer || !h.HasRequest {
		return
	}
	if to := concurrent(rec); len(to) > 0 && !slices.Contains(h.ids, to[0]) && slices.Contains(h.to, to[0]) {
		h.Exchange.LeftOut = to[0]
	}
}

// decoded returns a body without its content coding, as far as robots.txt is read.
func decoded(body []byte, coding string) ([]byte, error) {
	if coding == "" {
		return body, nil
	}
	h := warc.HTTP{Header: http.Header{"Content-Encoding": {coding}}, Payload: bytes.NewReader(body)}
	r, err := h.Body(maxBody)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if errors.Is(err, warc.ErrTooLarge) {
		err = nil
	}
	return b, err
}
