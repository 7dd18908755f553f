package storage

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// timeForm always has six decimals, unlike RFC3339Nano, so that times sort as text.
const timeForm = "2006-01-02T15:04:05.000000Z"

// AppendJSON appends l as one JSON object, without a newline, as the ledger's schema says. It neither reflects nor
// allocates: there is a line for every URL ever met.
func (l *Line) AppendJSON(b []byte) []byte {
	b = appendTime(append(b, `{"time":`...), l.Time)
	b = append(b, `,"url":`...)
	b = appendString(b, l.URL)
	b = appendText(b, `,"via":`, l.Via)
	b = appendText(b, `,"kind":`, l.Kind)
	b = appendInt(b, `,"depth":`, int64(l.Depth))
	b = appendText(b, `,"seed":`, l.Seed)
	b = appendText(b, `,"tag":`, l.Tag)
	b = append(b, `,"decision":`...)
	b = appendString(b, l.Decision)
	b = appendText(b, `,"reason":`, l.Reason)
	if l.Own {
		b = append(b, `,"own":true`...)
	}
	b = l.appendVerdict(b)
	b = l.appendExchange(b)
	b = appendText(b, `,"change":`, l.Change)
	b = appendInt(b, `,"count":`, l.Count)
	b = appendText(b, `,"list_sha256":`, l.List)
	b = appendText(b, `,"directives":`, l.Directives)
	b = appendTexts(b, `,"asked":`, l.Asked)
	b = appendTexts(b, `,"prefs":`, l.Prefs)
	return append(b, '}')
}

func (l *Line) appendVerdict(b []byte) []byte {
	b = appendInt(b, `,"line":`, int64(l.RobotsLine))
	b = appendText(b, `,"rule":`, l.RobotsRule)
	b = appendText(b, `,"group":`, l.RobotsGroup)
	b = appendText(b, `,"runner_up":`, l.RunnerUp)
	b = appendText(b, `,"robots_sha256":`, l.RobotsSHA256)
	b = appendText(b, `,"robots_record":`, l.RobotsRecord)
	b = appendText(b, `,"standard":`, l.Standard)
	if l.Pace != 0 || l.PaceBy != "" { // a pace of 0 that someone asked for is no missing pace
		b = appendMillis(append(b, `,"pace_ms":`...), l.Pace)
	}
	b = appendText(b, `,"pace_by":`, l.PaceBy)
	if l.Gap != 0 {
		b = appendMillis(append(b, `,"gap_ms":`...), l.Gap)
	}
	return b
}

func (l *Line) appendExchange(b []byte) []byte {
	b = appendInt(b, `,"attempt":`, int64(l.Attempt))
	if !l.Began.IsZero() {
		b = appendTime(append(b, `,"began":`...), l.Began)
		b = appendMillis(append(b, `,"took_ms":`...), l.Took)
	}
	if l.FirstByte != 0 {
		b = appendMillis(append(b, `,"first_byte_ms":`...), l.FirstByte)
	}
	if l.Addr.IsValid() {
		b = append(b, `,"address":"`...)
		b = append(netip.AddrPortFrom(l.Addr.Addr().WithZone(""), l.Addr.Port()).AppendTo(b), '"')
	}
	b = appendText(b, `,"outcome":`, l.Outcome)
	b = appendInt(b, `,"interim":`, int64(l.Interim))
	b = appendInt(b, `,"status":`, int64(l.Status))
	b = appendText(b, `,"type":`, l.Type)
	b = appendInt(b, `,"octets":`, l.Octets)
	b = appendText(b, `,"payload_sha256":`, l.Payload)
	b = appendText(b, `,"truncated":`, l.Truncated)
	if l.Rest != 0 {
		b = appendMillis(append(b, `,"rest_ms":`...), l.Rest)
	}
	b = appendText(b, `,"rest_by":`, l.RestBy)
	b = appendText(b, `,"record":`, l.Record)
	b = appendText(b, `,"blocks_sha256":`, l.Blocks)
	if l.Ahead != 0 {
		b = appendMillis(append(b, `,"clock_ahead_ms":`...), l.Ahead)
	}
	return b
}

func appendTime(b []byte, t time.Time) []byte {
	b = t.UTC().AppendFormat(append(b, '"'), timeForm)
	return append(b, '"')
}

func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, key...), s)
}

// appendTexts appends the lines of s as an array.
func appendTexts(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	b = append(append(b, key...), '[')
	for more := true; more; {
		var line string
		line, s, more = strings.Cut(s, "\n")
		if b = appendString(b, line); more {
			b = append(b, ',')
		}
	}
	return append(b, ']')
}

func appendInt(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), n, 10)
}

// appendMillis appends d in milliseconds, cut to the microsecond.
func appendMillis(b []byte, d time.Duration) []byte {
	µs := d.Microseconds()
	if µs < 0 {
		b, µs = append(b, '-'), -µs
	}
	b = strconv.AppendInt(b, µs/1000, 10)
	if f := µs % 1000; f != 0 {
		b = append(b, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
	}
	return b
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string (RFC 8259 7).
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0 // s[from:i] is to be copied as it is
	for i := 0; i < len(s); {
		if c := s[i]; ' ' <= c && c < 0x7f {
			if c == '"' || c == '\\' {
				b = append(append(b, s[from:i]...), '\\', c)
				from = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if (r == utf8.RuneError && n == 1) || !strconv.IsPrint(r) {
			b = appendEscape(append(b, s[from:i]...), r)
			from = i + n
		}
		i += n
	}
	return append(append(b, s[from:]...), '"')
}

// appendEscape appends r as \uXXXX, or as a surrogate pair if it lies beyond the basic plane.
func appendEscape(b []byte, r rune) []byte {
	if r >= 0x10000 {
		r -= 0x10000
		b = appendEscape(b, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// lineJSON is the schema as it is read.
type lineJSON struct {
	Time         time.Time      `json:"time"`
	URL          string         `json:"url"`
	Via          string         `json:"via"`
	Kind         string         `json:"kind"`
	Depth        int            `json:"depth"`
	Seed         string         `json:"seed"`
	Tag          string         `json:"tag"`
	Decision     string         `json:"decision"`
	Reason       string         `json:"reason"`
	Own          bool           `json:"own"`
	RobotsLine   int            `json:"line"`
	RobotsRule   string         `json:"rule"`
	RobotsGroup  string         `json:"group"`
	RunnerUp     string         `json:"runner_up"`
	RobotsSHA256 string         `json:"robots_sha256"`
	RobotsRecord string         `json:"robots_record"`
	Standard     string         `json:"standard"`
	Pace         json.Number    `json:"pace_ms"`
	PaceBy       string         `json:"pace_by"`
	Gap          json.Number    `json:"gap_ms"`
	Attempt      int            `json:"attempt"`
	Began        time.Time      `json:"began"`
	Took         json.Number    `json:"took_ms"`
	FirstByte    json.Number    `json:"first_byte_ms"`
	Addr         netip.AddrPort `json:"address"`
	Outcome      string         `json:"outcome"`
	Interim      int            `json:"interim"`
	Status       int            `json:"status"`
	Type         string         `json:"type"`
	Octets       int64          `json:"octets"`
	Payload      string         `json:"payload_sha256"`
	Truncated    string         `json:"truncated"`
	Rest         json.Number    `json:"rest_ms"`
	RestBy       string         `json:"rest_by"`
	Record       string         `json:"record"`
	Blocks       string         `json:"blocks_sha256"`
	Ahead        json.Number    `json:"clock_ahead_ms"`
	Change       string         `json:"change"`
	Count        int64          `json:"count"`
	List         string         `json:"list_sha256"`
	Directives   string         `json:"directives"`
	Asked        []string       `json:"asked"`
	Prefs        []string       `json:"prefs"`
}

// ParseLine reads what AppendJSON wrote. It passes over fields that it does not know.
func ParseLine(b []byte) (Line, error) {
	var l lineJSON
	if err := json.Unmarshal(b, &l); err != nil {
		return Line{}, err
	}
	out := Line{
		Time: l.Time, URL: l.URL, Via: l.Via, Kind: l.Kind, Depth: l.Depth, Seed: l.Seed, Tag: l.Tag,
		Decision: l.Decision, Reason: l.Reason, Own: l.Own,
		RobotsLine: l.RobotsLine, RobotsRule: l.RobotsRule, RobotsGroup: l.RobotsGroup, RunnerUp: l.RunnerUp,
		RobotsSHA256: l.RobotsSHA256, RobotsRecord: l.RobotsRecord, Standard: l.Standard, PaceBy: l.PaceBy, RestBy: l.RestBy,
		Attempt: l.Attempt, Began: l.Began, Addr: l.Addr, Outcome: l.Outcome, Interim: l.Interim, Status: l.Status, Type: l.Type,
		Octets: l.Octets, Payload: l.Payload, Truncated: l.Truncated, Record: l.Record, Blocks: l.Blocks, Change: l.Change, Count: l.Count,
		List: l.List, Directives: l.Directives, Asked: strings.Join(l.Asked, "\n"), Prefs: strings.Join(l.Prefs, "\n"),
	}
	for _, f := range []struct {
		name string
		from json.Number
		to   *time.Duration
	}{
		{"pace_ms", l.Pace, &out.Pace}, {"gap_ms", l.Gap, &out.Gap}, {"rest_ms", l.Rest, &out.Rest}, {"took_ms", l.Took, &out.Took},
		{"first_byte_ms", l.FirstByte, &out.FirstByte}, {"clock_ahead_ms", l.Ahead, &out.Ahead},
	} {
		d, err := millis(f.from)
		if err != nil {
			return Line{}, fmt.Errorf("%s: %w", f.name, err)
		}
		*f.to = d
	}
	return out, nil
}

// millis reads milliseconds exactly; a float64 would lose the microseconds of long ones.
func millis(n json.Number) (time.Duration, error) {
	if n == "" {
		return 0, nil
	}
	return time.ParseDuration(n.String() + "ms")
}
