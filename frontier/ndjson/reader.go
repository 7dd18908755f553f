package ndjson

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"reflect"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

const MaxLine = 24 << 20 // bytes of a line; a blob of 16 MiB fits

// Errors of a Reader, for errors.Is.
var (
	ErrCut     = errors.New("the export is cut off: its last line is missing")
	ErrChanged = errors.New("the export was changed after it was written: its digest or its counts differ")
	ErrFormat  = errors.New("the export has a format that this version does not read")
)

// LineError is an error in a line.
type LineError struct {
	Line int64 // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// Reader reads an export.
type Reader struct {
	// Damaged, if not nil, is called with each fault, and the reader continues without the line: a URL whose host is
	// lost gets a new one, and lost totals are empty. Nil means that Next returns the first fault. A damaged head is
	// always an error: without the secret no URL can be recognised.
	Damaged func(*LineError)

	in      *bufio.Reader
	sum     hash.Hash
	n       int64 // lines read
	ended   Ended
	begun   bool // the head was read
	damages int
	over    bool
	total   *frontier.Totals // being gathered
	tally   map[canon.Authority]int64
	hosts   map[canon.Authority]struct{} // with Damaged
	held    *frontier.Item               // to be returned next
}

func NewReader(r io.Reader) *Reader {
	return &Reader{
		in: bufio.NewReaderSize(r, 64<<10), sum: sha256.New(),
		tally: map[canon.Authority]int64{}, hosts: map[canon.Authority]struct{}{},
	}
}

func (r *Reader) Counts() Ended { return r.ended }

// Next returns the next item, or io.EOF after the last of an undamaged export. It holds the totals back until the end
// has been checked. The error is a *LineError, or that of the underlying reader.
func (r *Reader) Next() (frontier.Item, error) {
	if r.held != nil {
		i := *r.held
		r.held = nil
		return i, nil
	}
	for !r.over {
		b, err := r.read()
		if err == nil {
			var i frontier.Item
			var ok bool
			if i, ok, err = r.take(b); ok && err == nil {
				return i, nil
			}
		}
		var e *LineError
		switch {
		case err == nil:
		case errors.As(err, &e) && r.Damaged != nil && r.begun:
			r.damages++
			r.Damaged(e)
		default:
			return frontier.Item{}, err
		}
	}
	if t := r.total; t != nil {
		r.total = nil
		if r.damages > 0 { // the sums may not match the lines: refused URLs count for no host
			t.Refused, t.Reasons, t.Strange = nil, nil, r.ended.Refused
		}
		return frontier.Item{Totals: t}, nil
	}
	return frontier.Item{}, io.EOF
}

// read returns the next line.
func (r *Reader) read() ([]byte, error) {
	var b []byte
	long := false // the rest of the line is skipped
	r.n++
	for {
		part, err := r.in.ReadSlice('\n')
		if long = long || len(b)+len(part) > MaxLine; !long {
			b = append(b, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && long:
			return nil, r.wrong(fmt.Errorf("it is longer than %d bytes", MaxLine))
		case errors.Is(err, io.EOF):
			r.finish() // the writer ends each line: this one is torn, or missing
			if !r.begun {
				return nil, r.wrong(fmt.Errorf("it is empty, or no export: %w", ErrCut))
			}
			return nil, r.wrong(ErrCut)
		case err != nil:
			return nil, fmt.Errorf("frontier/ndjson: read line %d: %w", r.n, err)
		default:
			return b, nil
		}
	}
}

func (r *Reader) wrong(err error) error { return &LineError{r.n, err} }

// finish ends the reading; the tally belongs to the totals.
func (r *Reader) finish() {
	r.over = true
	if r.total == nil {
		r.total = &frontier.Totals{}
	}
	r.total.Refused = r.tally
}

// take reads a line. ok is false when it gives no item.
func (r *Reader) take(b []byte) (i frontier.Item, ok bool, err error) {
	var l line
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		r.sum.Write(b)
		if _, ok := errors.AsType[*json.SyntaxError](err); ok {
			return i, false, r.wrong(errors.New("not a line of an export: not JSON"))
		}
		return i, false, r.wrong(fmt.Errorf("not a line of an export: %w", notEnd{err}))
	}
	if d.InputOffset() != int64(len(bytes.TrimRight(b, "\r\n"))) {
		r.sum.Write(b)
		return i, false, r.wrong(errors.New("there is text after its object"))
	}
	if l.End != nil {
		return i, false, r.end(l.End)
	}
	r.sum.Write(b)
	if i, ok, err = r.item(l); err != nil {
		return frontier.Item{}, false, r.wrong(err)
	}
	r.ended.Lines++
	return i, ok, nil
}

// end compares an export with its last line.
func (r *Reader) end(e *end) error {
	r.finish()
	if _, err := r.in.ReadByte(); err == nil {
		return r.wrong(fmt.Errorf("there is text after the last line: %w", ErrChanged))
	}
	if e.SHA256 != hex.EncodeToString(r.sum.Sum(nil)) || e.Ended != r.ended {
		return r.wrong(ErrChanged)
	}
	return nil
}

// notEnd hides that package json returns io.EOF for an empty line: it is not the end of the export.
type notEnd struct{ error }

// item turns a line into an item. ok is false for a part of the totals.
func (r *Reader) item(l line) (i frontier.Item, ok bool, err error) {
	members := 0
	for _, v := range reflect.ValueOf(l).Fields() {
		if !v.IsNil() {
			members++
		}
	}
	switch {
	case members != 1:
		return i, false, errors.New("a line has one member")
	case !r.begun && l.Head == nil:
		return i, false, errors.New("not an export, or one without the head that it starts with")
	case r.begun && l.Head != nil:
		return i, false, errors.New("a second head")
	case r.total != nil:
		return i, false, errors.New("a line after the totals")
	case l.Head != nil:
		return r.head(l.Head)
	case l.Seed != nil:
		if l.Seed.URL.IsZero() {
			return i, false, errors.New("a seed without its URL")
		}
		r.ended.Seeds++
		i.Seed = &frontier.Seed{URL: l.Seed.URL, Tag: string(l.Seed.Tag), From: string(l.Seed.From)}
	case l.Blob != nil:
		r.ended.Blobs++
		if i.Blob = l.Blob.Body; i.Blob == nil {
			i.Blob = []byte{}
		}
	case l.Host != nil:
		return r.host(l.Host)
	case l.URL != nil:
		return r.url(l.URL)
	case l.Refused != nil:
		r.ended.Refused += int64(len(l.Refused))
		for _, p := range l.Refused {
			i.Refused = append(i.Refused, frontier.Fingerprint(p))
		}
	case l.Tally != nil:
		for a, n := range l.Tally {
			r.tally[a] += n
		}
		return i, false, nil
	case l.Totals != nil:
		r.total = &frontier.Totals{
			Strange: l.Totals.Strange, Reasons: l.Totals.Reasons, Capped: l.Totals.Capped, Counts: l.Totals.Counts,
		}
		return i, false, nil
	}
	return i, true, nil
}

func (r *Reader) head(l *head) (i frontier.Item, ok bool, err error) {
	switch {
	case l.Format != Format:
		return i, false, fmt.Errorf("format %d, and this version reads %d: %w", l.Format, Format, ErrFormat)
	case len(l.Secret) == 0 || l.Openings < 0 || l.Floor < 0:
		return i, false, errors.New("a head without its secret, or with a negative number")
	}
	r.begun = true
	h := &frontier.Head{Secret: l.Secret, Openings: l.Openings, Unclean: l.Unclean, Floor: time.Duration(l.Floor)}
	return frontier.Item{Head: h}, true, nil
}

func (r *Reader) host(l *host) (i frontier.Item, ok bool, err error) {
	h, err := l.item()
	if err != nil {
		return i, false, err
	}
	r.ended.Hosts++
	if r.Damaged != nil {
		if _, twice := r.hosts[h.Authority]; twice {
			return i, false, fmt.Errorf("host %s appears a second time", h.Authority)
		}
		r.hosts[h.Authority] = struct{}{}
	}
	return frontier.Item{Host: h}, true, nil
}

// url returns a URL, or first a new host when its own was lost.
func (r *Reader) url(l *entry) (i frontier.Item, ok bool, err error) {
	e, err := l.item()
	if err != nil {
		return i, false, err
	}
	r.ended.URLs++
	i.URL = e
	a := e.URL.Authority()
	if r.Damaged != nil {
		if _, known := r.hosts[a]; !known {
			r.hosts[a] = struct{}{}
			r.held = &i
			return frontier.Item{Host: &frontier.Host{Authority: a}}, true, nil
		}
	}
	return i, true, nil
}
