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
	"strings"
	"sync"
	"time"

	"curtsy/storage"
)

// refusalField begins each line of a batch: its block is application/warc-fields like that of other metadata, since
// readers pass over that, and take other media for documents to be indexed.
const refusalField = "refusal: "

const (
	maxBatch     = 64 << 10 // octets of a batch of more than one line
	maxBatchLine = 1000
	// A Sync writes what is gathered from so many octets on, or when it is so old.
	syncBatch = 32 << 10
	syncAge   = storage.MaxGather
)

// batch gathers the lines of refusals until they are worth a record.
type batch struct {
	mu     sync.Mutex
	lines  []byte
	count  int
	oldest time.Time
	closed bool
}

// add adds l and returns the batches that are thereby complete.
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

// take returns what is gathered if it is at least so large, or so old.
func (b *batch) take(size int, now time.Time, age time.Duration) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == 0 || len(b.lines) < size && now.Sub(b.oldest) < age {
		return nil
	}
	return b.takeLocked()
}

// close returns what is gathered and takes nothing more.
func (b *batch) close() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.takeLocked()
}

// Refuse implements storage.Recorder. Lines are gathered in at most 64 KiB and become a metadata record together.
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
		// Not to be broken off by a cancelled context: others' lines are among them.
		if err := w.writeLines(context.WithoutCancel(ctx), lines); err != nil {
			return err
		}
	}
	return nil
}

// writeLines appends a metadata record of lines, if there are any.
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
		// The lines were taken over from their callers, so nothing may be acknowledged after them.
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.err == nil {
			return w.poison("write refusals to", w.seg, err)
		}
	}
	return err
}

// pressLines adds the member of a metadata record of lines to p's spool.
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

// ParseRefusals reads the block of a metadata record of refusals. An error ends it if nothing more can be read; that
// of a line which is no decision does not.
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
