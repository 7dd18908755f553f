package audit

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
)

// account is what ledger or archive tells of one exchange or refusal, in the form in which both are sorted into one:
// what belongs together has one key.
type account struct {
	key     [16]byte // of the record's id, or of all of a refusal
	line    bool     // the ledger's
	refusal bool
	own     bool // of a host of the operator's own
	bare    bool // a record without metadata: it tells URL, time and status alone
	run     int  // of a line: its number, by the marks before it
	place   string
	record  string
	began   int64 // Unix microseconds; a refusal's time
	ended   int64
	fields  []string // in the order of accountFields
}

// accountFields are what line and record must tell alike. Those from decision on stand in the metadata.
var accountFields = []string{"URL", "time", "status", "decision", "outcome", "robots verdict", "pace", "duration"}

const bareFields = 3

// maxField bounds what is kept of a field. A longer one is kept as its beginning and its hash.
const maxField = 300

func field(s string) string {
	s = strings.ReplaceAll(s, "\x00", "\ufffd")
	if len(s) <= maxField {
		return s
	}
	return fmt.Sprintf("%s… (SHA-256 %x)", strings.ToValidUTF8(s[:maxField], ""), sha256.Sum256([]byte(s)))
}

// exchangeAccount is what l tells of the exchange with that URL and beginning, under the id of its record.
func exchangeAccount(line bool, record, place string, l *storage.Line, url string, began time.Time) account {
	record = field(strings.TrimSuffix(strings.TrimPrefix(record, "<"), ">"))
	a := account{line: line, own: l.Own, place: place, record: record, began: began.UnixMicro(), ended: began.Add(l.Took).UnixMicro()}
	sum := sha256.Sum256([]byte("record\x00" + record))
	copy(a.key[:], sum[:])
	verdict := "none"
	if l.RobotsLine != 0 || l.RobotsSHA256 != "" {
		verdict = fmt.Sprintf("line %d %q of group %q in %s", l.RobotsLine, l.RobotsRule, l.RobotsGroup, l.RobotsSHA256)
	}
	a.fields = []string{
		field(url), began.UTC().Format("2006-01-02T15:04:05.000000Z"), strconv.Itoa(l.Status),
		field(l.Decision + " " + l.Reason), field(fmt.Sprintf("%s, attempt %d", l.Outcome, l.Attempt)), field(verdict),
		field(fmt.Sprintf("%v by %q, gap %v", l.Pace.Truncate(time.Microsecond), l.PaceBy, l.Gap.Truncate(time.Microsecond))),
		l.Took.Truncate(time.Microsecond).String(),
	}
	return a
}

// refusalAccount is a decision without an exchange. It stands in both to the letter.
func refusalAccount(line bool, place string, l *storage.Line) account {
	a := account{line: line, refusal: true, place: place, began: l.Time.UnixMicro(), ended: l.Time.UnixMicro()}
	sum := sha256.Sum256(append([]byte("refusal\x00"), l.AppendJSON(nil)...))
	copy(a.key[:], sum[:])
	a.fields = []string{field(l.URL), "", "", field(l.Decision + " " + l.Reason)}
	return a
}

func (a *account) append(b []byte) []byte {
	b = append(b, a.key[:]...)
	var flags byte
	for i, f := range []bool{a.line, a.refusal, a.bare, a.own} {
		if f {
			flags |= 1 << i
		}
	}
	b = append(b, flags)
	head := []string{a.place, a.record, strconv.FormatInt(a.began, 10), strconv.FormatInt(a.ended, 10), strconv.Itoa(a.run)}
	return append(b, strings.Join(append(head, a.fields...), "\x00")...)
}

// parseAccount reads what append wrote.
func parseAccount(b []byte) (a account) {
	copy(a.key[:], b)
	flags := b[16]
	a.line, a.refusal, a.bare, a.own = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
	p := strings.Split(string(b[17:]), "\x00")
	a.place, a.record = p[0], p[1]
	a.began, _ = strconv.ParseInt(p[2], 10, 64)
	a.ended, _ = strconv.ParseInt(p[3], 10, 64)
	a.run, _ = strconv.Atoi(p[4])
	a.fields = p[5:]
	return a
}

// differences says what line and record tell differently; "" when nothing.
func differences(line, record *account) string {
	var said []string
	for i, f := range line.fields {
		if i < len(record.fields) && f != record.fields[i] && !(record.bare && i >= bareFields) {
			said = append(said, fmt.Sprintf("%s: the line says %s, the record %s", accountFields[i], f, record.fields[i]))
		}
	}
	return strings.Join(said, "; ")
}

// finding makes a finding about a.
func (a *account) finding(code Code, required, observed string) Finding {
	f := Finding{Code: code, URL: a.fields[0], Place: a.at(), Time: fromMicro(a.began), Required: required, Observed: observed}
	f.Authority = authorityOf(f.URL)
	if a.refusal {
		f.Observed += " (" + a.fields[3] + ")"
	}
	return f
}

// at is a record's place.
func (a *account) at() Place {
	p := Place{Record: a.record}
	if a.line {
		return p
	}
	if i := strings.LastIndex(a.place, " offset "); i >= 0 {
		p.File = a.place[:i]
		p.Offset, _ = strconv.ParseInt(a.place[i+len(" offset "):], 10, 64)
	}
	return p
}

// traced is when the exchange had ended, or the refusal was decided.
func (a *account) traced() time.Time { return fromMicro(a.ended) }

func fromMicro(µs int64) time.Time { return time.UnixMicro(µs).UTC() }
