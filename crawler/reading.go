package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"

	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/storage/mediatype"
	"curtsy/storage/script"
)

// pageReader reads bodies.
type pageReader struct {
	cfg     *Config
	extract *extract.Extractor
	cpu     record.CPU
}

// digested is a page: what it names, and what it says for the traps.
type digested struct {
	page  extract.Page
	says  *trap.Digester
	shape bool // the shape of what it says is known, too
}

// input is what extract is to read of an answer.
func (c *pageReader) input(task frontier.Task, ex *fetch.Exchange) extract.Input {
	return extract.Input{
		URL: task.URL, ContentType: mediatype.Value(ex.Header), Header: ex.Header, Previews: c.cfg.Previews,
		Body: io.NewSectionReader(ex.Body, 0, ex.Body.Size()), Size: ex.Body.Size(), Token: c.cfg.Identity.Token,
		Turn: true, // see turn
	}
}

// turn waits until an answer may be read and what it names be held, which ends with release: see extract.Extractor.Turn. It is
// called before a processor's turn, so that large pages do not keep the others from the processors.
func (c *pageReader) turn(ctx context.Context, task frontier.Task, ex *fetch.Exchange) (release func(), err error) {
	if ex.Body == nil || ex.Body.Size() == 0 {
		return func() {}, nil
	}
	kind, err := c.readAs(task, ex)
	if err != nil || kind == 0 && !script.Is(mediatype.Of(ex.Header).Name, task.URL.Path()) {
		return func() {}, err
	}
	if release, err = c.extract.Turn(ctx, ex.Body.Size()); err != nil {
		return nil, fmt.Errorf("crawler: read %s: %w", task.URL, err)
	}
	return release, nil
}

// read reads a page.
func (c *pageReader) read(ctx context.Context, in extract.Input, shape bool) (digested, error) {
	if err := c.cpu.Acquire(ctx); err != nil {
		return digested{}, fmt.Errorf("crawler: read %s: %w", in.URL, err)
	}
	defer c.cpu.Release()
	says := trap.NewDigester(in.URL, shape)
	in.Text = says.Text
	page, err := c.extract.HTML(ctx, in)
	return digested{page, says, shape}, err
}

// readAs is what an answer is read as, and whether it is read at all.
func (c *pageReader) readAs(task frontier.Task, ex *fetch.Exchange) (extract.Kind, error) {
	var first [512]byte
	n, err := ex.Body.ReadAt(first[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("crawler: read the body of %s: %w", ex.URL, err)
	}
	return c.cfg.Follow.KindOf(mediatype.Value(ex.Header), task.URL.Path(), first[:n]), nil
}

// ahead reads a page before its exchange is handled, since that is most of the work: exchanges of one turn are handled one
// after the other, but each may be read beside the others, unless it is so large that no other may. Nil says that it is to be read when it is handled: it may be no
// page, or something went wrong, which then goes wrong again where that is told.
func (c *pageReader) ahead(ctx context.Context, task frontier.Task, ex *fetch.Exchange, shape bool) (r *digested) {
	defer func() {
		if recover() != nil {
			r = nil
		}
	}()
	a, _ := host.Classify(ex)
	if a != host.Answered || task.Kind == frontier.KindMap || ex.Body == nil || ex.Undecoded != "" || ex.Body.Size() > extract.MaxParse/2 {
		return nil
	}
	if kind, err := c.readAs(task, ex); err != nil || kind != extract.KindPage {
		return nil
	}
	release, err := c.turn(ctx, task, ex)
	if err != nil {
		return nil
	}
	defer release()
	read, err := c.read(ctx, c.input(task, ex), shape)
	if err != nil {
		return nil
	}
	return &read
}

// countTurn counts a task that was asked for.
func (v *visit) countTurn(task frontier.Task) {
	if untried(task) {
		v.history.Turn(task.URL)
	}
}

// watched reports whether the shape of a task's page is worth knowing.
func (v *visit) watched(task frontier.Task, limits trap.Limits) bool {
	return v.history.Watches(task.URL, limits)
}

// digest takes in what a page says, and reports whether it is a copy whose links are dropped.
func (v *visit) digest(task frontier.Task, read digested, limits trap.Limits) (copied bool) {
	for _, l := range read.page.Links {
		if l.Shown() {
			read.says.Embed(l.URL)
		}
	}
	text, shape := read.says.Digests()
	v.text = text
	v.history.Brought(task.URL, shape, limits)
	copies := v.history.Copies(task.Via, text)
	switch {
	case len(read.page.Links) == 0:
		return false
	case limits.Drops(copies):
		return true
	case limits.Copies():
		v.history.Leads(task.URL, text, copies)
	}
	return false
}

// undigested takes in an answer that is no HTML, or none that can be read.
func (v *visit) undigested(task frontier.Task, ex *fetch.Exchange, limits trap.Limits) {
	v.history.Brought(task.URL, trap.Shape(ex.PayloadDigest[:]), limits)
}
