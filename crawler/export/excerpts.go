package export

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/export/links"
	"curtsy/crawler/extract"
	"curtsy/storage/excerpts"
)

// Of what the mentions of documents were read, as Out.Notes has it.
const (
	NoteExcerpts = "pages by their excerpts"
	NoteBodies   = "documents by their bodies"
	NoteDamaged  = "damaged excerpts"
)

// kept is what crawls kept of their pages while they ran. A crawl that kept nothing, or not of a page, has that page's
// body read.
type kept struct {
	sets                      map[*Crawl]*excerpts.Set
	excerpts, bodies, damaged atomic.Int64
}

func (in *Inputs) openExcerpts(ctx context.Context) (*kept, error) {
	k := &kept{sets: map[*Crawl]*excerpts.Set{}}
	for _, c := range in.Crawls {
		set, err := excerpts.Open(ctx, filepath.Join(c.Dir, crawldir.LinksName), in.temp)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("export: %w", err), k.close())
		}
		if set != nil {
			k.sets[c] = set
			k.damaged.Add(set.Damaged)
		}
	}
	return k, nil
}

func (k *kept) close() error {
	var errs []error
	for _, set := range k.sets {
		errs = append(errs, set.Close())
	}
	return errors.Join(errs...)
}

// tell says of what the mentions were read, where something was kept.
func (k *kept) tell(out *Out) {
	if len(k.sets) == 0 {
		return
	}
	out.Note(NoteExcerpts, k.excerpts.Load())
	out.Note(NoteBodies, k.bodies.Load())
	out.Note(NoteDamaged, k.damaged.Load())
}

// read reads the mentions of a capture of its excerpt. It reports false where there is none that will do.
func (k *kept) read(ctx context.Context, reader *links.Reader, c *Capture, s links.Source) (d *links.Document, ok bool, err error) {
	set := k.sets[c.Crawl]
	if set == nil || c.Answer.Revisit {
		return nil, false, nil
	}
	r := c.r.kept[set]
	if r == nil {
		r = set.Reader()
		c.r.kept[set] = r
	}
	e, damaged, err := r.Of(c.Answer.ID)
	if err != nil {
		return nil, false, fmt.Errorf("export: %w", err)
	}
	if e == nil {
		if damaged {
			k.damaged.Add(1)
		}
		return nil, false, nil
	}
	s.Excerpt = &extract.Excerpt{Charset: e.Charset, Text: e.Text}
	d, err = reader.Read(ctx, s)
	if errors.Is(err, links.ErrExcerpt) {
		k.damaged.Add(1)
		return nil, false, nil
	}
	if err == nil {
		k.excerpts.Add(1)
	}
	return d, err == nil, err
}
