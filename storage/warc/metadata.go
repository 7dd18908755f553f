package warc

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"curtsy/storage"
)

// MaxOutlinks is how many links of a page its metadata record lists; it counts the rest.
const MaxOutlinks = 6000

// appendMetadata appends the block of r's metadata record: the decision l, with Heritrix's names where it has one, and
// the links found.
func appendMetadata(b []byte, l *storage.Line, r *storage.Record) []byte {
	for _, f := range storage.InMetadata() {
		switch {
		case f.Metadata == "payloadSha256" && !r.HeadOnly: // the response's own record has it
		case f.IsSaid(l):
			b = appendSaid(b, f, l)
		}
	}
	written := 0
	for _, o := range r.Outlinks {
		// White space in a URL would look like its end; canonical URLs have none.
		if written == MaxOutlinks || o.URL == "" || !solid(o.URL) {
			continue
		}
		written++
		b = append(append(b, "outlink: "...), o.URL...)
		if o.Kind != "" && solid(string(o.Kind)) {
			b = append(append(b, ' '), o.Kind...)
		}
		b = append(b, "\r\n"...)
	}
	if left := len(r.Outlinks) - written; left > 0 {
		b = append(strconv.AppendInt(append(b, "outlinksLeftOut: "...), int64(left), 10), "\r\n"...)
	}
	return b
}

func appendSaid(b []byte, f *storage.Field, l *storage.Line) []byte {
	if lines, ok := f.Lines(l); ok {
		for line := range strings.SplitSeq(lines, "\n") {
			b = appendText(b, f.Metadata, line)
		}
		return b
	}
	from := len(b)
	b = append(append(b, f.Metadata...), ": "...)
	value := len(b)
	if b = f.AppendText(b, l); isPlain(b[value:]) {
		return append(b, "\r\n"...)
	}
	text := string(b[value:])
	return appendText(b[:from], f.Metadata, text)
}

// appendText appends a field whose text may come from any source: it cannot leave its line.
func appendText(b []byte, name, text string) []byte {
	if !isPlain(text) {
		text = oneLine(text)
	}
	return appendField(b, name, text)
}

// isPlain reports whether text is printable ASCII, as nearly all is.
func isPlain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

const (
	maxMetadata = 64 << 20  // bytes read of a metadata record's block
	maxValue    = 256 << 10 // bytes of one line of it
)

// parseMetadata reads the block of an exchange's metadata record, and its links if wanted; Record.Metadata adds the
// record's own fields. It skips unknown fields and links beyond MaxOutlinks.
func parseMetadata(block io.Reader, wanted bool) (l storage.Line, links []storage.Outlink, err error) {
	in := buffer(block)
	if b, ok := block.(*lenientBlock); !ok || b.rec.Length > maxMetadata {
		in = bufio.NewReaderSize(io.LimitReader(block, maxMetadata), blockBuffer)
	}
	for {
		if !wanted {
			skipOutlinks(in)
		}
		line, err := readLine(in, maxValue)
		if err != nil && !errors.Is(err, io.EOF) {
			return l, links, fmt.Errorf("warc: read metadata: %w", err)
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		switch {
		case !ok:
		case name == "outlink":
			if u, kind, _ := strings.Cut(value, " "); u != "" && wanted && len(links) < MaxOutlinks {
				links = append(links, storage.Outlink{URL: u, Kind: storage.Kind(kind)})
			}
		default:
			if err := SetField(&l, name, value); err != nil {
				return l, links, fmt.Errorf("warc: read metadata: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			return l, links, nil
		}
	}
}

// skipOutlinks skips the lines of links that come next, as far as they are whole in the buffer: reading them would
// allocate each.
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

// Metadata reads an exchange's metadata record: its block, and from its fields the URL, the start of the exchange and the
// id of the response's record. The line's Time is the end of the exchange.
func (r *Record) Metadata() (storage.Line, []storage.Outlink, error) { return r.metadata(true) }

// Decision is Metadata without the links.
func (r *Record) Decision() (storage.Line, error) {
	l, _, err := r.metadata(false)
	return l, err
}

func (r *Record) metadata(links bool) (storage.Line, []storage.Outlink, error) {
	began, err := r.Date()
	if err != nil {
		return storage.Line{}, nil, err
	}
	l, found, err := parseMetadata(r.Block, links)
	l.URL, l.Began, l.Time, l.Record = r.TargetURI(), began, began.Add(l.Took), r.ConcurrentTo()
	return l, found, err
}

// readLine reads a line of at most limit bytes, without its end. It returns io.EOF with the last.
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

// SetField sets the field of l that a metadata record calls name, if known. Metadata stops at the first invalid value; to
// see each, read the lines yourself. An error names the field, and leaves it unchanged.
func SetField(l *storage.Line, name, value string) error {
	if f := storage.FieldOfMetadata(name); f != nil {
		return f.SetText(l, value)
	}
	return nil
}

// refusalField begins each line of a batch. The block is application/warc-fields like other metadata: readers take other
// media for documents to be indexed.
const refusalField = "refusal: "

const (
	maxBatch     = 64 << 10 // bytes of a batch of more than one line
	maxBatchLine = 1000
	// A Sync writes a batch of this size or age.
	syncBatch = 32 << 10
	syncAge   = storage.MaxGather
)

type batch struct {
	mu     sync.Mutex
	lines  []byte
	count  int
	oldest time.Time
	closed bool
}

// add adds l and returns the batches that it completes.
func (b *batch) add(l *storage.Line, now time.Time) (full [2][]byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return full, errClosed
	}
	if b.count == 0 {
		b.oldest = now
	}
	before := len(b.lines)
	b.lines = append(l.AppendJSON(append(b.lines, refusalField...)), "\r\n"...)
	b.count++
	if len(b.lines) > maxBatch && before > 0 {
		full[0] = b.lines[:before:before]
		b.lines, b.count, b.oldest = append([]byte(nil), b.lines[before:]...), 1, now
	}
	if len(b.lines) >= maxBatch || b.count >= maxBatchLine {
		full[1] = b.takeLocked()
	}
	return full, nil
}

func (b *batch) takeLocked() []byte {
	lines := b.lines
	b.lines, b.count = nil, 0
	return lines
}

// take returns a batch of at least that size or age.
func (b *batch) take(size int, now time.Time, age time.Duration) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == 0 || len(b.lines) < size && now.Sub(b.oldest) < age {
		return nil
	}
	return b.takeLocked()
}

func (b *batch) close() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.takeLocked()
}

// Refuse implements storage.Recorder. It batches lines in at most 64 KiB, one metadata record each.
func (w *Writer) Refuse(ctx context.Context, l storage.Line) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("warc: refuse: %w", err)
	}
	if _, err := w.current(); err != nil {
		return err
	}
	full, err := w.refused.add(&l, w.now())
	if err != nil {
		return err
	}
	for _, lines := range full {
		// A cancelled context must not lose the lines of other callers.
		if err := w.writeLines(context.WithoutCancel(ctx), lines); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) writeLines(ctx context.Context, lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	p, err := w.compressor()
	if err == nil {
		err = w.place(ctx, p, func(seg *segment) error { return w.pressLines(ctx, p, seg, lines) }, nil)
		err = errors.Join(err, w.release(p))
	}
	if err != nil {
		// The callers' lines are lost, so nothing may be acknowledged after them.
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.err == nil {
			return w.poison("write refusals to", w.seg, err)
		}
	}
	return err
}

func (w *Writer) pressLines(ctx context.Context, p *compressor, seg *segment, lines []byte) error {
	block := bytes.NewReader(lines)
	h := head{kind: "metadata", id: string(w.newURNs(1)), date: w.now(), info: seg.info, media: typeFields,
		length: int64(len(lines)), block: sha256.Sum256(lines)}
	return p.member(ctx, &h, block)
}

var errNoRefusal = errors.New("it does not begin with " + strings.TrimSpace(refusalField))

// IsRefusals reports whether r is a metadata record of refusals, for ParseRefusals.
func (r *Record) IsRefusals() bool {
	return r.Type == "metadata" && r.TargetURI() == "" && r.Fields.Get("Content-Type") == typeFields
}

// ParseRefusals reads the block of a metadata record of refusals. It continues after the error of an invalid line, not
// after one of reading.
func ParseRefusals(block io.Reader) iter.Seq2[storage.Line, error] {
	return func(yield func(storage.Line, error) bool) {
		in := bufio.NewReaderSize(block, 4<<10)
		for n := 1; ; n++ {
			text, err := readLine(in, 1<<20)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(storage.Line{}, fmt.Errorf("warc: read refusals: line %d: %w", n, err))
				return
			}
			last := errors.Is(err, io.EOF)
			if text != "" {
				var l storage.Line
				json, ok := strings.CutPrefix(text, refusalField)
				if !ok {
					err = errNoRefusal
				} else {
					l, err = storage.ParseLine([]byte(json))
				}
				if err != nil {
					err = fmt.Errorf("warc: read refusals: line %d: %w", n, err)
				}
				if !yield(l, err) {
					return
				}
			}
			if last {
				return
			}
		}
	}
}
