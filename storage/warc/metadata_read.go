package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"curtsy/storage"
)

const (
	maxMetadata = 64 << 20  // octets that are read of a metadata record's block
	maxValue    = 256 << 10 // octets of one line of it
)

// ParseMetadata reads the block of an exchange's metadata record. It lacks the record's own fields: the
// URL, when the exchange began, and the answer's record id; see Record.Metadata. Fields that it does not know are
// passed over, and so are links beyond MaxOutlinks.
func ParseMetadata(block io.Reader) (storage.Line, []storage.Outlink, error) {
	var links []storage.Outlink
	l, err := parseMetadata(block, func(u, kind string) {
		if len(links) < MaxOutlinks {
			links = append(links, storage.Outlink{URL: u, Kind: storage.Kind(kind)})
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
			return "", fmt.Errorf("a line of more than %d bytes", limit)
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

// SetField sets the field of l that a metadata record calls name. ParseMetadata stops at the first value that cannot be
// read; whoever wants to know of each reads the lines itself. An error names the field, and leaves it as it was. A name
// that is not known is none.
func SetField(l *storage.Line, name, value string) error {
	f := storage.FieldOfMetadata(name)
	if f == nil {
		return nil
	}
	return f.SetText(l, value)
}
