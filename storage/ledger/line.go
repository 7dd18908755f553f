package ledger

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

// Stub is the line that takes the place of one that was forgotten, from its entry hash: the entry stays what it was.
func Stub(h tlog.Hash) []byte {
	return append(hex.AppendEncode([]byte(`{"redacted":"`), h[:]), `"}`...)
}

// stub reads a stub. A line that is meant as one and is none is an error.
func stub(line []byte) (h tlog.Hash, is bool, err error) {
	if !bytes.HasPrefix(line, stubStart) {
		return h, false, nil
	}
	digits := bytes.TrimSuffix(bytes.TrimPrefix(line, stubStart), []byte{'}'})
	if len(digits) == 2+2*len(h) {
		if _, err := hex.Decode(h[:], digits[1:len(digits)-1]); err == nil && bytes.Equal(Stub(h), line) {
			return h, true, nil
		}
	}
	return h, false, fmt.Errorf("%.100q is not a stub of a line", line)
}

// hashOf is the entry hash of a line, which a stub states.
func hashOf(hasher *tree.Hasher, line []byte) tlog.Hash {
	if h, is, _ := stub(line); is {
		return h
	}
	return hasher.Entry(line)
}

// isDecision reports whether a line stands for a decision: all but marks do.
func isDecision(line []byte) bool { return !isMark(line) }

// hostOf is the host in the completeness map of a line whose URL that is. Octets that are no UTF-8 are written as U+FFFD,
// and so read by others.
func hostOf(url string) string {
	if !utf8.ValidString(url) {
		url = string([]rune(url))
	}
	return hostmap.Host(url)
}

// placeOf says under which host a line stands in the completeness map, if it does: marks do not, and of a stub it is not
// known. A line that cannot be read is of the empty host.
func placeOf(line []byte) (host string, mapped bool) {
	if isMark(line) || bytes.HasPrefix(line, stubStart) {
		return "", false
	}
	l, err := storage.ParseLine(line)
	if err != nil {
		return "", true
	}
	return hostOf(l.URL), true
}
