package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
)

const (
	maxMetadata = 64 << 20  // octets that are read of a metadata record's block
	maxValue    = 256 << 10 // octets of one line of it
)

// ParseMetadata reads the block of an exchange's metadata record. What the record's own fields say is not in it: the
// URL, when the exchange began, and the answer's record id; see Record.Metadata. Fields that it does not know are
// passed over, and so are links beyond MaxOutlinks.
func ParseMetadata(block io.Reader) (storage.Line, []storage.Outlink, error) {
	var links []storage.Outlink
	l, err := parseMetadata(block, func(u, kind string) {
		if len(links) < MaxOutlinks {
			links = append(links, storage.Outlink{URL: u, Kind: kind})
		}
	})
	return l, links, err
}

// parseMetadata gives the links to link, unless that is nil.
func parseMetadata(block io.Reader, link func(u, kind string)) (l storage.Line, err error) {
	in := buffer(block)
	if b, ok := block.(*lenientBlock); !ok || b.rec.Length > maxMetadata {
		in = bufio.NewReaderSize(io.LimitReader(block, maxMetadata), blockBuffer)
	}
	for {
		if link == nil {
			skipOutlinks(in)
		}
		line, err := readLine(in, maxValue)
		if err != nil && !errors.Is(err, io.EOF) {
			return l, fmt.Errorf("warc: read metadata: %w", err)
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		switch {
		case !ok:
		case name == "outlink":
			if u, kind, _ := strings.Cut(value, " "); u != "" && link != nil {
				link(u, kind)
			}
		default:
			if err := SetField(&l, name, value); err != nil {
				return l, fmt.Errorf("warc: read metadata: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			return l, nil
		}
	}
}

// skipOutlinks passes over the lines of links that come next, most of what there is: to read them would be to allocate
// each. A line that is not whole in in is left to who reads it.
func skipOutlinks(in *bufio.Reader) {
	const name = "outlink:"
	for {
		if b, _ := in.Peek(len(name)); string(b) != name {
			return
		}
		b, _ := in.Peek(in.Buffered())
		n := bytes.IndexByte(b, '\n') + 1
		if n == 0 {
			return
		}
		_, _ = in.Discard(n) // they are buffered
	}
}

// Metadata reads the block of an exchange's metadata record, with what its fields say: the URL, when the exchange
// began, and the id of the answer's record. The line's Time is taken to be the exchange's end.
func (r *Record) Metadata() (storage.Line, []storage.Outlink, error) {
	began, err := r.Date()
	if err != nil {
		return storage.Line{}, nil, err
	}
	l, links, err := ParseMetadata(r.Block)
	l.URL, l.Began, l.Time, l.Record = r.TargetURI(), began, began.Add(l.Took), r.ConcurrentTo()
	return l, links, err
}

// Decision is Metadata without the links.
func (r *Record) Decision() (storage.Line, error) {
	began, err := r.Date()
	if err != nil {
		return storage.Line{}, err
	}
	l, err := parseMetadata(r.Block, nil)
	l.URL, l.Began, l.Time, l.Record = r.TargetURI(), began, began.Add(l.Took), r.ConcurrentTo()
	return l, err
}

// readLine reads a line of at most limit octets, without its end, and io.EOF with the last.
func readLine(in *bufio.Reader, limit int) (string, error) {
	var long []byte
	for {
		b, err := in.ReadSlice('\n')
		if len(long)+len(b) > limit {
			return "", fmt.Errorf("a line of more than %d octets", limit)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, b...)
			continue
		}
		if long != nil {
			b = append(long, b...)
		}
		return strings.TrimRight(string(b), "\r\n"), err
	}
}

// SetField sets the field of l that a metadata record calls name. It is the one table of those names: ParseMetadata
// stops at the first value that cannot be read, and who wants to know of each reads the lines itself. An error names
// the field, and leaves it as it was. A name that is not known is none.
func SetField(l *storage.Line, name, value string) error {
	if to := textField(l, name); to != nil {
		*to = value
		return nil
	}
	if to := numberField(l, name); to != nil {
		return set(to, name, value, strconv.Atoi)
	}
	if to := timeField(l, name); to != nil {
		return set(to, name, value, millis)
	}
	switch name {
	case "ownHost":
		return set(&l.Own, name, value, strconv.ParseBool)
	case "asked":
		return another(&l.Asked, name, value)
	case "prefs":
		return another(&l.Prefs, name, value)
	}
	return nil
}

func set[T any](to *T, name, value string, parse func(string) (T, error)) error {
	v, err := parse(value)
	if err != nil {
		return fmt.Errorf("field %.40q: %.80q is no value of it: %w", name, value, errors.Unwrap(err))
	}
	*to = v
	return nil
}

func numberField(l *storage.Line, name string) *int {
	switch name {
	case "depth":
		return &l.Depth
	case "interimAnswers":
		return &l.Interim
	case "status":
		return &l.Status
	case "attempt":
		return &l.Attempt
	case "robotsLine":
		return &l.RobotsLine
	}
	return nil
}

func timeField(l *storage.Line, name string) *time.Duration {
	switch name {
	case "fetchTimeMs":
		return &l.Took
	case "firstByteTimeMs":
		return &l.FirstByte
	case "paceMs":
		return &l.Pace
	case "gapMs":
		return &l.Gap
	case "restMs":
		return &l.Rest
	case "clockAheadMs":
		return &l.Ahead
	}
	return nil
}

func textField(l *storage.Line, name string) *string {
	switch name {
	case "via":
		return &l.Via
	case "kind":
		return &l.Kind
	case "seed":
		return &l.Seed
	case "sourceTag":
		return &l.Tag
	case "decision":
		return &l.Decision
	case "reason":
		return &l.Reason
	case "outcome":
		return &l.Outcome
	case "change":
		return &l.Change
	case "robotsRule":
		return &l.RobotsRule
	case "robotsGroup":
		return &l.RobotsGroup
	case "robotsRunnerUp":
		return &l.RunnerUp
	case "robotsSha256":
		return &l.RobotsSHA256
	case "robotsStandard":
		return &l.Standard
	case "robotsRecord":
		return &l.RobotsRecord
	case "paceBy":
		return &l.PaceBy
	case "restBy":
		return &l.RestBy
	case "directives":
		return &l.Directives
	case "listSha256":
		return &l.List
	case "payloadSha256":
		return &l.Payload
	case "truncated":
		return &l.Truncated
	}
	return nil
}

// longestTime is more than any exchange, pace or gap takes; what is longer would not add up.
const longestTime = 10 * 365 * 24 * time.Hour

// millis reads milliseconds with up to three decimals, exactly, which a float64 would not.
func millis(s string) (time.Duration, error) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, pointed := strings.Cut(digits, ".")
	n, err := strconv.ParseUint(whole, 10, 63)
	switch {
	case err != nil:
		return 0, err
	case n > uint64(longestTime/time.Millisecond):
		return 0, fmt.Errorf("milliseconds: %w", strconv.ErrRange)
	case pointed && (fraction == "" || len(fraction) > 3 || strings.Trim(fraction, "0123456789") != ""):
		return 0, fmt.Errorf("milliseconds: %w", strconv.ErrSyntax)
	}
	d := time.Duration(n) * time.Millisecond
	for i, unit := 0, 100*time.Microsecond; i < len(fraction); i, unit = i+1, unit/10 {
		d += time.Duration(fraction[i]-'0') * unit
	}
	if negative {
		d = -d
	}
	return d, nil
}

// What the values of a field that is repeated may come to: more than anybody writes.
const (
	maxLines  = 64 << 10 // octets
	maxValues = 1000
)

var errLines = errors.New("its lines come to more than 64 KiB or a thousand")

// another adds a line to those of a field that is repeated.
func another(lines *string, name, line string) error {
	switch {
	case len(*lines)+len(line) > maxLines, strings.Count(*lines, "\n") >= maxValues-1:
		return fmt.Errorf("field %.40q: %w", name, errLines)
	case *lines == "":
		*lines = line
	default:
		*lines += "\n" + line
	}
	return nil
}
