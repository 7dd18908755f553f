package ndjson

import (
	"errors"
	"fmt"
	"time"

	"curtsy/frontier"
)

// members counts the members of a line that are set.
func (l line) members() (n int) {
	for _, set := range []bool{
		l.Head != nil, l.Seed != nil, l.Blob != nil, l.Host != nil, l.URL != nil, l.Refused != nil, l.Tally != nil,
		l.Totals != nil, l.End != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

// item turns a line into an item. A part of the totals gives none yet.
func (r *Reader) item(l line) (i frontier.Item, ok bool, err error) {
	switch {
	case l.members() != 1:
		return i, false, errors.New("a line has one member")
	case !r.begun && l.Head == nil:
		return i, false, errors.New("not an export, or one without the head that it starts with")
	case r.begun && l.Head != nil:
		return i, false, errors.New("a second head")
	case r.total != nil:
		return i, false, errors.New("a line after the totals")
	case l.Head != nil:
		return r.head(l.Head)
	case l.Seed != nil:
		if l.Seed.URL.IsZero() {
			return i, false, errors.New("a seed without its URL")
		}
		r.ended.Seeds++
		i.Seed = &frontier.Seed{URL: l.Seed.URL, Tag: string(l.Seed.Tag), From: string(l.Seed.From)}
	case l.Blob != nil:
		r.ended.Blobs++
		if i.Blob = l.Blob.Body; i.Blob == nil {
			i.Blob = []byte{}
		}
	case l.Host != nil:
		return r.host(l.Host)
	case l.URL != nil:
		return r.url(l.URL)
	case l.Refused != nil:
		r.ended.Refused += int64(len(l.Refused))
		for _, p := range l.Refused {
			i.Refused = append(i.Refused, frontier.Fingerprint(p))
		}
	case l.Tally != nil:
		for a, n := range l.Tally {
			r.tally[a] += n
		}
		return i, false, nil
	case l.Totals != nil:
		r.total = &frontier.Totals{
			Strange: l.Totals.Strange, Reasons: l.Totals.Reasons, Capped: l.Totals.Capped, Counts: l.Totals.Counts,
		}
		return i, false, nil
	}
	return i, true, nil
}

func (r *Reader) head(l *head) (i frontier.Item, ok bool, err error) {
	switch {
	case l.Format != Format:
		return i, false, fmt.Errorf("format %d, and this version reads %d: %w", l.Format, Format, ErrFormat)
	case len(l.Secret) == 0 || l.Openings < 0 || l.Floor < 0:
		return i, false, errors.New("a head without its secret, or with a negative number")
	}
	r.begun = true
	h := &frontier.Head{Secret: l.Secret, Openings: l.Openings, Unclean: l.Unclean, Floor: time.Duration(l.Floor)}
	return frontier.Item{Head: h}, true, nil
}

func (r *Reader) host(l *host) (i frontier.Item, ok bool, err error) {
	h, err := l.item()
	if err != nil {
		return i, false, err
	}
	r.ended.Hosts++
	if r.Damaged != nil {
		if _, twice := r.hosts[h.Authority]; twice {
			return i, false, fmt.Errorf("host %s appears a second time", h.Authority)
		}
		r.hosts[h.Authority] = struct{}{}
	}
	return frontier.Item{Host: h}, true, nil
}

// url returns a URL. One whose host was lost comes after a host of its own.
func (r *Reader) url(l *entry) (i frontier.Item, ok bool, err error) {
	e, err := l.item()
	if err != nil {
		return i, false, err
	}
	r.ended.URLs++
	i.URL = e
	a := e.URL.Authority()
	if r.Damaged != nil {
		if _, known := r.hosts[a]; !known {
			r.hosts[a] = struct{}{}
			r.held = &i
			return frontier.Item{Host: &frontier.Host{Authority: a}}, true, nil
		}
	}
	return i, true, nil
}
