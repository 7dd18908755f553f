package mirror

import (
	"errors"
	"io"
	"iter"
	"strings"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// decisions yields what the crawler decided: the lines of the ledger in dir, or if that is empty what the archive says
// of them, which is the same: refusals as records of their own, and the rest beside each exchange.
func (o *opened) decisions(dir string) iter.Seq2[storage.Line, error] {
	if dir != "" {
		return ledger.Read(dir)
	}
	return func(yield func(storage.Line, error) bool) {
		for _, path := range o.segments {
			if !decisionsIn(path, yield) {
				return
			}
		}
	}
}

// decisionsIn yields those of one segment.
func decisionsIn(path string, yield func(storage.Line, error) bool) bool {
	f, err := durable.Open(path)
	if err != nil {
		return yield(storage.Line{}, err)
	}
	defer f.Close()
	for in := warc.NewLenient(f, nil); ; {
		rec, err := in.Next()
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return yield(storage.Line{}, err)
		}
		if !strings.EqualFold(rec.Type, "metadata") {
			continue
		}
		if rec.IsRefusals() {
			for l, err := range warc.ParseRefusals(rec.Block) {
				if !yield(l, err) {
					return false
				}
			}
			continue
		}
		// A metadata record of somebody else says nothing of decisions, and is none that is damaged.
		if l, _, err := rec.Metadata(); err == nil && l.Decision != "" && !yield(l, nil) {
			return false
		}
	}
}
