package wacz

import (
	"encoding/json"
	"fmt"
	"time"

	"curtsy/storage/spool"
)

// maxPages is how many pages that are no seeds the first list has; players load all of it before they show anything.
const maxPages = 10_000

// page is a line of a list of pages.
type page struct {
	ID    string `json:"id"` // the UUID of the archived record
	URL   string `json:"url"`
	Time  string `json:"ts"`
	Title string `json:"title,omitempty"`
	Seed  bool   `json:"seed,omitempty"`
	Size  int64  `json:"size,omitempty"` // bytes of the answer as archived
}

// stamp writes a time as RFC 3339, to the microsecond as the archive has it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z") }

// list is a file of pages.
type list struct {
	spool *spool.Spool
	n     int64
}

// newList begins a list with the line that says what it is.
func newList(dir, id, title string) (*list, error) {
	s := newSpool(dir)
	l := &list{spool: s}
	head := struct {
		Format string `json:"format"`
		ID     string `json:"id"`
		Title  string `json:"title"`
		Text   bool   `json:"hasText"`
	}{"json-pages-1.0", id, title, false}
	return l, l.line(head)
}

func (l *list) add(p *page) error {
	l.n++
	return l.line(p)
}

func (l *list) line(v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = l.spool.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("wacz: list a page: %w", err)
	}
	return nil
}
