package accesslog

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// entry is a request as archive or log tells of it, in the form in which both are sorted into one: by what was asked
// for, then by time.
type entry struct {
	key    [16]byte // of log, method and target
	from   int64    // Unix microseconds: the first second under which the log may have it; for a line, its own second
	logged bool     // a line of the log, not an exchange of the archive
	until  int64    // the last such second

	began, ended int64 // of an exchange, by the crawler's clock

	// Of what is left: the first and the last instant, or second, of all that could be left in its place.
	earliest, latest int64

	status uint16 // 0 without an answer
	of     int    // number of the log
	number int64  // of a line
	log    uint16 // of a line: which of the files

	loose bool // an exchange of which the server may have seen another end: no status is held against it
	vague bool // a line without a user agent: nobody knows whose it is
	alike bool // a line that names the crawler's product, and not as the archive has it
	alien bool // a line that names another host than those of its log
	cut   bool // a line without a whole request line

	host    string // of an exchange, with its port, or that a line names. It is read from the text
	unnamed bool   // an exchange with a host that no line names. It is not kept
	other   uint16 // of an exchange that is left: the status with which a line that is left has it, that line's number
	otherAt int64  // and second
	otherNo int64

	text string // an exchange's authority, target, place and URL; a line's host, client, method and target
}

// maxText bounds what is kept of an entry to name it. What is compared is the key.
const maxText = 1000

func (e *entry) append(b []byte) []byte {
	b = append(b, e.key[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.from)^1<<63) // so that times before 1970 sort first
	b = append(b, flags(e.logged))                             // at one time, exchanges before the lines they may match
	b = append(b, flags(e.loose, e.vague, e.alike, e.alien, e.cut))
	for _, n := range []int64{e.until, e.began, e.ended, e.earliest, e.latest, int64(e.status), int64(e.of), e.number,
		int64(e.log), int64(e.other), e.otherAt, e.otherNo} {
		b = binary.BigEndian.AppendUint64(b, uint64(n)) // so that equal lines keep the order of their numbers
	}
	return append(b, e.text[:min(len(e.text), maxText)]...)
}

func flags(of ...bool) (b byte) {
	for i, f := range of {
		if f {
			b |= 1 << i
		}
	}
	return b
}

// parseEntry reads what append wrote.
func parseEntry(b []byte) (e entry) {
	b = b[copy(e.key[:], b):]
	e.from, e.logged = int64(binary.BigEndian.Uint64(b)^1<<63), b[8] == 1
	e.loose, e.vague, e.alike, e.alien, e.cut = b[9]&1 != 0, b[9]&2 != 0, b[9]&4 != 0, b[9]&8 != 0, b[9]&16 != 0
	b = b[10:]
	next := func() int64 {
		v := binary.BigEndian.Uint64(b)
		b = b[8:]
		return int64(v)
	}
	e.until, e.began, e.ended, e.earliest, e.latest = next(), next(), next(), next(), next()
	e.status, e.of, e.number, e.log = uint16(next()), int(next()), next(), uint16(next())
	e.other, e.otherAt, e.otherNo = uint16(next()), next(), next()
	e.text = string(b)
	if e.host = e.part(0); !e.logged {
		host, port := evidence.HostPort(e.host)
		e.host = host + ":" + port
	}
	return e
}

// keyOf is what exchanges and lines of one request have in common: log, method and target.
func keyOf(log int, method, target string) (k [16]byte) {
	sum := sha256.Sum256([]byte(strconv.Itoa(log) + "\x00" + method + "\x00" + target))
	copy(k[:], sum[:])
	return k
}

// exchangeText keeps what names an exchange; the URL comes last, for it may be cut.
func exchangeText(e *evidence.Exchange) string {
	target := strings.ReplaceAll(e.Target[:min(len(e.Target), maxTarget)], "\x00", "")
	return strings.Join([]string{e.Authority, target, e.File, strconv.FormatInt(e.Offset, 10), e.Record, e.URL}, "\x00")
}

// lineText keeps what names a line of a log.
func lineText(l *numbered) string {
	return strings.Join([]string{l.vhost, l.remote, l.method, l.target}, "\x00")
}

// maxTarget bounds what is kept of a target to hold a line against it that was cut.
const maxTarget = 200

// begins reports whether the target of an exchange begins as a line has it that was cut.
func (e *entry) begins(l *entry) bool {
	target := l.part(3)
	return strings.HasPrefix(e.part(1), target[:min(len(target), maxTarget)])
}

// part returns the part of an entry's text with that number, from 0.
func (e *entry) part(i int) string {
	if p := strings.SplitN(e.text, "\x00", 6); i < len(p) {
		return p[i]
	}
	return ""
}

// finding makes a finding about an archived exchange.
func (e *entry) finding(observed string) finding.Finding {
	f := finding.Finding{Code: finding.LogMissing, Required: required, Observed: observed, Authority: e.part(0),
		URL: e.part(5), Time: micro(e.began)}
	f.File, f.Record = e.part(2), e.part(4)
	f.Offset, _ = strconv.ParseInt(e.part(3), 10, 64)
	return f
}

func micro(µs int64) time.Time { return time.UnixMicro(µs).UTC() }
