package export

import (
	"bytes"
	"context"
	"errors"
	"io"

	"curtsy/crawler/extract"
	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
)

// Decisions gives each decision of the crawl to see, in the order of the ledger, with the generation that it is of, which
// is 0 where that is not known. What cannot be read is left out: the table of decisions counts it.
func (c *Crawl) Decisions(ctx context.Context, see func(l *storage.Line, generation int64) error) error {
	return c.decided(ctx, nobody(), func(e *entry) error { return see(&e.Line, e.generation) })
}

// Visit has workers read those captures of all crawls whose lines of the index are wanted, and gives what they make of them
// to take, in the order of SURT and time. work is called by several goroutines at once.
func Visit[T any](ctx context.Context, in *Inputs, wants func(cdxj.Line) bool, work func(context.Context, *Capture) ([]T, error), take func(T) error) error {
	return visit(ctx, in, nobody(), visitor[T]{size: fewRows, wants: wants, work: work, take: take})
}

// Whole is the answer that a capture stands for, which is an earlier one for a revisit, and its body without codings, at
// most so many bytes. Both are nil where the archive does not have them.
func (c *Capture) Whole(most int64) (a *answer.Answer, body io.Reader, done func() error, err error) {
	of, done := c, func() error { return nil }
	if c.Answer != nil && c.Answer.Revisit {
		original, closer := c.original()
		if original == nil {
			return nil, nil, done, nil
		}
		of, done = original, closer.Close
	}
	if of.Answer == nil {
		return nil, nil, done, nil
	}
	if body, err = of.Body(most); body == nil || err != nil {
		return nil, nil, done, errors.Join(err, done())
	}
	return of.Answer, body, done, nil
}

// All reads a body, at most extract.MaxParse bytes of it. A large one waits for its turn, which ends with release; what is
// read of a small one holds until the worker reads another.
func (c *Capture) All(ctx context.Context, body io.Reader) (all []byte, release func(), err error) {
	if c.r.body == nil {
		c.r.body = make([]byte, smallPage)
	}
	n, err := io.ReadFull(body, c.r.body)
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		return c.r.body[:n], func() {}, err
	}
	if release, err = c.r.pages.Turn(ctx, 0); err != nil {
		return nil, func() {}, err
	}
	b := bytes.NewBuffer(append(make([]byte, 0, extract.MaxParse+bytes.MinRead), c.r.body...))
	_, err = b.ReadFrom(body)
	return b.Bytes(), release, err
}

// End reads what is left of a record, behind which its checksum stands: if it is damaged, Problem then says so.
func (c *Capture) End() {
	c.passed = true
	if c.l == nil {
		return
	}
	if _, err := c.l.End(); err != nil || c.broken {
		c.amiss(ProblemDamaged)
	}
}

// Generation is the latest one of which the crawl has an archive; 0 where that is not known.
func (c *Crawl) Generation() (latest int64) {
	for _, g := range c.generations {
		latest = max(latest, g)
	}
	return latest
}

// nobody is for rows that are no table's.
func nobody() *Out {
	return &Out{problem: -1, Lefts: map[string]int64{}, Problems: map[string]int64{}, Notes: map[string]int64{}}
}
