package warc

import (
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
)

// MaxOutlinks is how many links of a page its metadata record names; how many more there were is said.
const MaxOutlinks = 6000

// appendMetadata appends the block of an exchange's metadata record: the decision, with Heritrix's names where it has
// one, and the links found. A field without a value is left out.
func appendMetadata(b []byte, r *storage.Record) []byte {
	l, links := r.Line, r.Outlinks
	b = appendValue(b, "via", l.Via)
	b = appendCount(b, "depth", l.Depth)
	b = appendValue(b, "kind", l.Kind)
	b = appendValue(b, "seed", l.Seed)
	b = appendValue(b, "sourceTag", l.Tag)
	b = appendMillis(b, "fetchTimeMs", l.Took, !l.Began.IsZero())
	b = appendMillis(b, "firstByteTimeMs", l.FirstByte, false)
	b = appendValue(b, "decision", l.Decision)
	b = appendValue(b, "reason", l.Reason)
	b = appendValue(b, "outcome", l.Outcome)
	b = appendCount(b, "interimAnswers", l.Interim)
	b = appendCount(b, "status", l.Status)
	b = appendCount(b, "attempt", l.Attempt)
	b = appendValue(b, "change", l.Change)
	if l.Own {
		b = append(b, "ownHost: true\r\n"...)
	}
	b = appendCount(b, "robotsLine", l.RobotsLine)
	b = appendValue(b, "robotsRule", l.RobotsRule)
	b = appendValue(b, "robotsGroup", l.RobotsGroup)
	b = appendValue(b, "robotsRunnerUp", l.RunnerUp)
	b = appendValue(b, "robotsSha256", l.RobotsSHA256)
	b = appendValue(b, "robotsStandard", l.Standard)
	b = appendValue(b, "robotsRecord", l.RobotsRecord)
	b = appendMillis(b, "paceMs", l.Pace, l.PaceBy != "") // a pace of 0 that someone asked for is no missing pace
	b = appendValue(b, "paceBy", l.PaceBy)
	b = appendMillis(b, "gapMs", l.Gap, false)
	b = appendMillis(b, "clockAheadMs", l.Ahead, false)
	b = appendMillis(b, "restMs", l.Rest, false)
	b = appendValue(b, "restBy", l.RestBy)
	b = appendValue(b, "directives", l.Directives)
	b = appendValues(b, "asked", l.Asked)
	b = appendValues(b, "prefs", l.Prefs)
	b = appendValue(b, "listSha256", l.List)
	b = appendValue(b, "truncated", l.Truncated)
	if r.HeadOnly {
		b = appendValue(b, "payloadSha256", l.Payload)
	}
	written := 0
	for _, o := range links {
		// A URL with white space could not be told from its kind; the canonical ones have none.
		if written == MaxOutlinks || o.URL == "" || !solid(o.URL) {
			continue
		}
		written++
		b = append(append(b, "outlink: "...), o.URL...)
		if o.Kind != "" && solid(o.Kind) {
			b = append(append(b, ' '), o.Kind...)
		}
		b = append(b, "\r\n"...)
	}
	return appendCount(b, "outlinksLeftOut", len(links)-written)
}

// appendValue appends a field whose value may come from anywhere: it stays within its line.
func appendValue(b []byte, name, value string) []byte {
	for i := range len(value) {
		if c := value[i]; c < ' ' || c >= 0x7f {
			value = oneLine(value)
			break
		}
	}
	return appendField(b, name, value)
}

// appendValues appends a field for each line of values.
func appendValues(b []byte, name, values string) []byte {
	for more := values != ""; more; {
		var v string
		v, values, more = strings.Cut(values, "\n")
		b = appendValue(b, name, v)
	}
	return b
}

func appendCount(b []byte, name string, n int) []byte {
	if n == 0 {
		return b
	}
	b = append(append(b, name...), ": "...)
	return append(strconv.AppendInt(b, int64(n), 10), "\r\n"...)
}

// appendMillis appends d in milliseconds, cut to the microsecond: an end must not be said later than it was known to
// be, nor a pause longer. A d of zero is left out unless it was said.
func appendMillis(b []byte, name string, d time.Duration, said bool) []byte {
	if d == 0 && !said {
		return b
	}
	b = append(append(b, name...), ": "...)
	micros := d.Microseconds()
	if micros < 0 {
		b, micros = append(b, '-'), -micros
	}
	b = strconv.AppendInt(b, micros/1000, 10)
	if f := micros % 1000; f != 0 {
		b = append(b, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
	}
	return append(b, "\r\n"...)
}
