package warc

import (
	"bufio"
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
// passed over.
func ParseMetadata(block io.Reader) (storage.Line, []storage.Outlink, error) {
	var l storage.Line
	var links []storage.Outlink
	in := bufio.NewReaderSize(io.LimitReader(block, maxMetadata), 4<<10)
	for {
		line, err := readLine(in, maxValue)
		if err != nil && !errors.Is(err, io.EOF) {
			return l, links, fmt.Errorf("warc: read metadata: %w", err)
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		switch {
		case !ok:
		case name == "outlink":
			if u, kind, _ := strings.Cut(value, " "); u != "" {
				links = append(links, storage.Outlink{URL: u, Kind: kind})
			}
		default:
			if err := setField(&l, name, value); err != nil {
				return l, links, fmt.Errorf("warc: read metadata: field %.40q: %w", name, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return l, links, nil
		}
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

// setField sets the field of l that a metadata record calls name.
func setField(l *storage.Line, name, value string) (err error) {
	if to := textField(l, name); to != nil {
		*to = value
		return nil
	}
	switch name {
	case "depth":
		l.Depth, err = strconv.Atoi(value)
	case "status":
		l.Status, err = strconv.Atoi(value)
	case "attempt":
		l.Attempt, err = strconv.Atoi(value)
	case "robotsLine":
		l.RobotsLine, err = strconv.Atoi(value)
	case "ownHost":
		l.Own, err = strconv.ParseBool(value)
	case "fetchTimeMs":
		l.Took, err = millis(value)
	case "firstByteTimeMs":
		l.FirstByte, err = millis(value)
	case "paceMs":
		l.Pace, err = millis(value)
	case "gapMs":
		l.Gap, err = millis(value)
	case "asked":
		l.Asked = another(l.Asked, value)
	case "prefs":
		l.Prefs = another(l.Prefs, value)
	}
	return err
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
	case "directives":
		return &l.Directives
	case "listSha256":
		return &l.List
	case "truncated":
		return &l.Truncated
	}
	return nil
}

// millis reads milliseconds exactly, which a float64 would not.
func millis(s string) (time.Duration, error) { return time.ParseDuration(s + "ms") }

func another(lines, line string) string {
	if lines == "" {
		return line
	}
	return lines + "\n" + line
}
