package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
	"time"
)

// logEntry is a request as archive or log tells of it, in the form in which both are sorted into one: by what was asked
// for, then by status and time.
type logEntry struct {
	key    [16]byte // of log, method and target
	status uint16   // 0: any
	from   int64    // Unix microseconds: the first second under which the log may have it; for a line, its own second
	logged bool     // a line of the log, not an exchange of the archive
	until  int64    // the last such second
	number int64    // a line's number
	known  uint16   // the status as told; 0 without an answer
	cut    bool     // the answer was not read to its end
	text   string   // an exchange's place, authority and URL; a line's file, method and target
}

// maxEntryText bounds what is kept of an entry to name it. What is compared is the key.
const maxEntryText = 1000

// logEntryHead is the size of an entry but for its text.
const logEntryHead = 16 + 2 + 8 + 1 + 8 + 8 + 2 + 1

func (e *logEntry) append(b []byte) []byte {
	flag := func(f bool) byte {
		if f {
			return 1
		}
		return 0
	}
	b = append(b, e.key[:]...)
	b = binary.BigEndian.AppendUint16(b, e.status)
	b = binary.BigEndian.AppendUint64(b, uint64(e.from)^1<<63) // so that times before 1970 sort first
	b = append(b, flag(e.logged))                              // at one time, exchanges before the lines they may match
	b = binary.BigEndian.AppendUint64(b, uint64(e.until))
	b = binary.BigEndian.AppendUint64(b, uint64(e.number))
	b = binary.BigEndian.AppendUint16(b, e.known)
	b = append(b, flag(e.cut))
	return append(b, e.text[:min(len(e.text), maxEntryText)]...)
}

// parseLogEntry reads what append wrote.
func parseLogEntry(b []byte) (e logEntry) {
	copy(e.key[:], b)
	e.status = binary.BigEndian.Uint16(b[16:])
	e.from = int64(binary.BigEndian.Uint64(b[18:]) ^ 1<<63)
	e.logged = b[26] == 1
	e.until = int64(binary.BigEndian.Uint64(b[27:]))
	e.number = int64(binary.BigEndian.Uint64(b[35:]))
	e.known = binary.BigEndian.Uint16(b[43:])
	e.cut = b[45] == 1
	e.text = string(b[logEntryHead:])
	return e
}

// sameRequest reports whether e and f are about the same method and target of one log, with a status that agrees.
func (e *logEntry) sameRequest(f *logEntry) bool { return e.key == f.key && e.status == f.status }

func logKey(host, method, target string) (k [16]byte) {
	sum := sha256.Sum256([]byte(host + "\x00" + method + "\x00" + target))
	copy(k[:], sum[:])
	return k
}

// exchangeText keeps what names an exchange; the URL comes last, for it may be cut.
func exchangeText(host string, e *Exchange) string {
	return strings.Join([]string{host, e.File, strconv.FormatInt(e.Offset, 10), e.Record, e.Authority, e.URL}, "\x00")
}

// lineText keeps what names a line of a log.
func lineText(host, file string, l *numbered) string {
	return strings.Join([]string{host, file, l.method, l.target}, "\x00")
}

// host returns the HOST of the log that an entry belongs to.
func (e *logEntry) host() string {
	h, _, _ := strings.Cut(e.text, "\x00")
	return h
}

// exchange makes a finding about an archived exchange.
func (e *logEntry) exchange(code Code, required, observed string) Finding {
	f := Finding{Code: code, Required: required, Observed: observed}
	if p := strings.SplitN(e.text, "\x00", 6); len(p) == 6 {
		f.File, f.Record, f.Authority, f.URL = p[1], p[3], p[4], p[5]
		f.Offset, _ = strconv.ParseInt(p[2], 10, 64)
	}
	return f
}

// line returns what names a line.
func (e *logEntry) line() (file, method, target string) {
	p := strings.SplitN(e.text, "\x00", 4)
	if len(p) < 4 {
		return "", "", ""
	}
	return p[1], p[2], p[3]
}

func fromMicro(µs int64) time.Time { return time.UnixMicro(µs).UTC() }
