package export

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"curtsy/storage/cdxj"
	"curtsy/storage/sorted"
)

// captures are the lines of all indexes in order of SURT, time and crawl: sorted once, read as often as wanted. An item
// is the key and the time of a line, each with a zero behind it, the number of its crawl in two bytes, and the line.
func (in *Inputs) captures(ctx context.Context) (*sorted.Sorter, error) {
	if in.sorted != nil {
		return in.sorted, nil
	}
	s := sorted.New(in.temp, sortMemory)
	var item []byte
	for i, c := range in.Crawls {
		for _, path := range c.index {
			err := eachLine(ctx, path, func(line []byte) error {
				var ok bool
				if item, ok = appendItem(item[:0], i, line); !ok {
					in.damaged++
					return nil
				}
				return s.Add(item)
			})
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
		}
	}
	in.sorted = s
	return s, nil
}

// eachLine reads an index, and the one that took the place of a journal.
func eachLine(ctx context.Context, path string, see func([]byte) error) error {
	for line, err := range cdxj.Lines(path) {
		if err == nil {
			err = see(line)
		}
		if err == nil {
			err = ctx.Err()
		}
		if final, open := strings.CutSuffix(path, openEnd); open && errors.Is(err, fs.ErrNotExist) {
			return eachLine(ctx, final, see)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendItem makes an item of a line; ok is false for what is no line.
func appendItem(b []byte, crawl int, line []byte) (item []byte, ok bool) {
	key, rest, _ := bytes.Cut(line, []byte(" "))
	stamp, _, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(key) == 0 || len(stamp) < 14 {
		return b, false
	}
	b = append(append(b, plainKey(key)...), 0)
	b = append(append(b, stamp[:14]...), 0)
	b = binary.BigEndian.AppendUint16(b, uint16(crawl)) //nolint:gosec // as many as fit into a command
	return append(b, line...), true
}

// plainKey is a key as its column has it: valid UTF-8, so that the order of rows is that of their keys, and without a
// zero, which ends it.
func plainKey(key []byte) []byte {
	if utf8.Valid(key) && bytes.IndexByte(key, 0) < 0 {
		return key
	}
	return bytes.ReplaceAll(bytes.ToValidUTF8(key, []byte("\uFFFD")), []byte{0}, []byte("\uFFFD"))
}

// listed is a capture as an index has it.
type listed struct {
	crawl *Crawl
	key   string // see plainKey
	line  cdxj.Line
}

func (in *Inputs) listed(item []byte) (l listed, err error) {
	key, rest, _ := bytes.Cut(item, []byte{0})
	_, rest, _ = bytes.Cut(rest, []byte{0})
	l.crawl, l.key = in.Crawls[binary.BigEndian.Uint16(rest)], string(key)
	l.line, err = cdxj.ParseLine(rest[2:])
	return l, err
}

// batch is captures that one worker reads, and what came of them.
type batch[T any] struct {
	items [][]byte
	made  []T
	bad   int64 // items that are no lines
	err   error
	done  chan struct{}
}

// Why lines of an index have no rows.
const (
	badLine  = "index-line-unreadable"
	sameLine = "index-line-twice"
)

// batchSize is how many captures make a batch.
const batchSize = 16

// visitor is what is done with captures.
type visitor[T any] struct {
	size  int                  // captures of a batch at most
	wants func(cdxj.Line) bool // which are read; nil: all
	work  func(ctx context.Context, c *Capture) ([]T, error)
	take  func(T) error // what was made, in order, by one goroutine
	drop  func(T)       // what was made and is not taken, after an error; nil: it holds nothing
}

// visit has workers read the captures of all crawls, and gives what they make of them to take in the order of SURT and time.
// work is called by several goroutines at once, each with a Capture of its own, which holds until it returns.
func visit[T any](ctx context.Context, in *Inputs, out *Out, v visitor[T]) error {
	all, err := in.captures(ctx)
	if err != nil {
		return err
	}
	out.Left(badLine, in.damaged)
	group, ctx := errgroup.WithContext(ctx)
	n := workers()
	work, order := make(chan *batch[T], n), make(chan *batch[T], 2*n)
	for range n {
		group.Go(func() error {
			r := newReader(in)
			defer r.close()
			for b := range work {
				readBatch(ctx, r, b, &v)
				close(b.done)
			}
			return nil
		})
	}
	var twice int64
	group.Go(func() (err error) {
		defer close(order)
		defer close(work)
		twice, err = feed(ctx, all, v.size, work, order)
		return err
	})
	group.Go(func() error { return collect(order, out, &v) })
	err = group.Wait()
	for b := range order { // what the workers still had
		v.dropAll(b.made)
	}
	out.Left(sameLine, twice)
	return err
}

// feed makes batches of all lines. twice is how many stood there more than once.
func feed[T any](ctx context.Context, all *sorted.Sorter, size int, work, order chan<- *batch[T]) (twice int64, err error) {
	b := &batch[T]{done: make(chan struct{})}
	var last []byte
	send := func() error {
		if len(b.items) == 0 {
			return nil
		}
		select {
		case order <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
		work <- b // whoever took it in order waits for it
		b = &batch[T]{done: make(chan struct{})}
		return nil
	}
	for item, err := range all.All() {
		if err != nil {
			return twice, err
		}
		if bytes.Equal(item, last) { // a journal and its sorted file, while one replaces the other
			twice++
			continue
		}
		last = append(last[:0], item...)
		b.items = append(b.items, bytes.Clone(item))
		if len(b.items) == size {
			if err := send(); err != nil {
				return twice, err
			}
		}
	}
	return twice, send()
}

// collect hands on what batches made, in their order.
func collect[T any](order <-chan *batch[T], out *Out, v *visitor[T]) error {
	for b := range order {
		<-b.done
		if b.err != nil {
			v.dropAll(b.made)
			return b.err
		}
		out.Left(badLine, b.bad)
		for i, m := range b.made {
			if err := v.take(m); err != nil {
				v.dropAll(b.made[i+1:])
				return err
			}
		}
	}
	return nil
}

func (v *visitor[T]) dropAll(made []T) {
	for _, m := range made {
		if v.drop != nil {
			v.drop(m)
		}
	}
}

// readBatch has a worker read a batch.
func readBatch[T any](ctx context.Context, r *reader, b *batch[T], v *visitor[T]) {
	for _, item := range b.items {
		if b.err = ctx.Err(); b.err != nil {
			return
		}
		l, err := r.in.listed(item)
		if err != nil {
			b.bad++
			continue
		}
		if v.wants != nil && !v.wants(l.line) {
			continue
		}
		made, err := v.work(ctx, r.capture(l))
		if err != nil {
			b.err = err
			return
		}
		b.made = append(b.made, made...)
	}
}
