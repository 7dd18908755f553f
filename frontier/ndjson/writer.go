package ndjson

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Writer writes an export. After an error it is of no use.
type Writer struct {
	out   *bufio.Writer
	json  *json.Encoder
	sum   hash.Hash
	ended Ended
	whole bool // the totals are written
}

// NewWriter returns a writer to w. Its output is an export only after Close.
func NewWriter(w io.Writer) *Writer {
	n := &Writer{out: bufio.NewWriterSize(w, 64<<10), sum: sha256.New()}
	n.json = json.NewEncoder(io.MultiWriter(n.out, n.sum))
	n.json.SetEscapeHTML(false)
	return n
}

// Write writes the next item, in the order that frontier.Item demands.
func (w *Writer) Write(i frontier.Item) error {
	if w.whole {
		return errors.New("frontier/ndjson: write: an item after the totals")
	}
	switch {
	case i.Head != nil:
		return w.line(line{Head: &head{Format, i.Head.Secret, i.Head.Openings, i.Head.Unclean, span(i.Head.Floor)}})
	case i.Seed != nil:
		w.ended.Seeds++
		return w.line(line{Seed: &seed{i.Seed.URL, text(i.Seed.Tag), text(i.Seed.From)}})
	case i.Host != nil:
		w.ended.Hosts++
		return w.line(line{Host: lineOfHost(i.Host)})
	case i.URL != nil:
		w.ended.URLs++
		return w.line(line{URL: lineOfEntry(i.URL)})
	case i.Blob != nil:
		w.ended.Blobs++
		return w.line(line{Blob: &blob{i.Blob}})
	case i.Totals != nil:
		w.whole = true
		return w.totals(i.Totals)
	}
	for list := range slices.Chunk(i.Refused, maxList) {
		prints := make([]print, len(list))
		for k, p := range list {
			prints[k] = print(p)
		}
		w.ended.Refused += int64(len(list))
		if err := w.line(line{Refused: prints}); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) totals(t *frontier.Totals) error {
	hosts := slices.SortedFunc(maps.Keys(t.Refused), func(a, b canon.Authority) int { return strings.Compare(a.String(), b.String()) })
	for list := range slices.Chunk(hosts, maxList) {
		tally := make(map[canon.Authority]int64, len(list))
		for _, a := range list {
			tally[a] = t.Refused[a]
		}
		if err := w.line(line{Tally: tally}); err != nil {
			return err
		}
	}
	return w.line(line{Totals: &totals{t.Strange, t.Reasons, t.Capped, t.Counts}})
}

// line writes one line and counts it.
func (w *Writer) line(l line) error {
	w.ended.Lines++
	if err := w.json.Encode(l); err != nil {
		return fmt.Errorf("frontier/ndjson: write line %d: %w", w.ended.Lines, err)
	}
	return nil
}

// Close writes the last line, by which a reader knows that all is there, and returns its counts. Nothing is closed
// beneath.
func (w *Writer) Close() (Ended, error) {
	if !w.whole {
		return w.ended, errors.New("frontier/ndjson: close: the totals were not written: the export is not whole")
	}
	ended := w.ended
	if err := w.line(line{End: &end{ended, hex.EncodeToString(w.sum.Sum(nil))}}); err != nil {
		return ended, err
	}
	if err := w.out.Flush(); err != nil {
		return ended, fmt.Errorf("frontier/ndjson: write the end: %w", err)
	}
	return ended, nil
}
