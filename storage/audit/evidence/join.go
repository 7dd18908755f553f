package evidence

import (
	"cmp"
	"slices"

	"curtsy/storage/audit/finding"
)

// windowSize is how many exchanges may wait for their other records. Those of ours are written together; a crawler that
// writes what its workers bring, record by record, rarely has more at once.
const windowSize = 16

// join puts a record to its exchange, or makes it the first of one.
func (rd *Reader) join(h *partial) {
	s := rd.cur
	var to *partial
	for i := len(s.window) - 1; i >= 0; i-- {
		if w := s.window[i]; w.belongs(h) && (to == nil || w.Exchange.URL == h.Exchange.URL) {
			if to = w; w.Exchange.URL == h.Exchange.URL {
				break // rather this one than one of another URL: the records along a redirect may all name each other
			}
		}
	}
	if to != nil {
		to.merge(h)
		rd.Expect(&to.Joined)
		s.settle()
		return
	}
	rd.Expect(&h.Joined)
	s.window = append(s.window, h)
	s.flush(windowSize)
}

// settle passes on what is whole and has nothing before it.
func (s *stream) settle() {
	for len(s.window) > 0 {
		if w := s.window[0]; w.Alone == "" && (!w.HasMetadata || !w.HasRequest || !w.HasAnswer && !s.ours()) {
			return
		}
		s.flush(len(s.window) - 1)
	}
}

// flush passes on what is first in the window until no more than n are left.
func (s *stream) flush(n int) {
	for len(s.window) > n {
		s.window[0].bindHeads()
		if h := s.window[0]; s.lost.File != "" && h.ours && (!h.HasRequest || !h.HasMetadata || h.Exchange.LeftOut != "") {
			h.Exchange.Damaged = s.lost // which is the record that it lacks
		}
		if s.window[0].after(s.lost.Offset) {
			s.lost = finding.Place{} // the next ones cannot lack it
		}
		s.queue = append(s.queue, Event{Info: s.info, Exchange: &s.window[0].Joined})
		s.window = slices.Delete(s.window, 0, 1)
	}
}

// after reports whether all records of h stand behind an offset.
func (h *partial) after(offset int64) bool {
	for _, p := range []finding.Place{h.Exchange.Place, h.Exchange.Request, h.Exchange.LineAt} {
		if p.File != "" && p.Offset <= offset {
			return false
		}
	}
	return true
}

// Expect notes where a robots.txt redirects to, as soon as it is met: the body that is found there is wanted, and the
// redirect itself is judged later.
func (rd *Reader) Expect(h *Joined) {
	if h.Answer.Location.Value == "" || h.Exchange.Status < 300 || h.Exchange.Status > 399 {
		return
	}
	to, err := Resolve(h.Exchange.URL, h.Answer.Location.Value)
	if err != nil {
		return // it leads nowhere; if it is of a robots.txt, follow says so
	}
	if len(rd.expect) >= maxExpected {
		for k := range rd.expect { // any
			delete(rd.expect, k)
			break
		}
	}
	rd.expect[to.Key] = true
}

const maxExpected = 10000

// belongs reports whether two parts are records of one exchange.
func (h *partial) belongs(g *partial) bool {
	if h.HasRequest && g.HasRequest || h.HasAnswer && g.HasAnswer || h.Alone != "" {
		return false
	}
	return h.named(g.ids, g.to, g.Exchange.URL, g.date)
}

// named reports whether an exchange's records and others name each other or, where neither names any, are alike.
func (h *partial) named(ids, to []string, uri, date string) bool {
	for _, id := range h.ids {
		if id != "" && slices.Contains(to, id) {
			return true
		}
	}
	for _, id := range ids {
		if id != "" && slices.Contains(h.to, id) {
			return true
		}
	}
	return len(to) == 0 && len(h.to) == 0 && h.Exchange.URL == uri && h.date == date
}

// merge takes what g has and h has not.
func (h *partial) merge(g *partial) {
	h.ids, h.to = append(h.ids, g.ids...), append(h.to, g.to...)
	q, r := h, g // the request's part, the answer's part
	if g.HasRequest {
		q, r = g, h
	}
	if !same(q.Exchange.URL, r.Exchange.URL) {
		h.RequestURL = q.Exchange.URL
	}
	e := r.Exchange
	e.Request, e.Target, e.Method, e.Agent, e.Host = q.Exchange.Request, q.Exchange.Target, q.Exchange.Method,
		q.Exchange.Agent, q.Exchange.Host
	if !e.Addr.IsValid() {
		e.Addr = q.Exchange.Addr
	}
	if !q.Exchange.Began.IsZero() && (e.Began.IsZero() || q.Exchange.Began.Before(e.Began)) {
		e.Began, e.Resolution = q.Exchange.Began, max(e.Resolution, q.Exchange.Resolution)
	}
	h.Body, h.Unframed = r.Body, r.Unframed
	h.Answer, h.Bodyless, h.Kept, h.Text, h.TextFault, h.OwnerProof, h.Incomplete = r.Answer, r.Bodyless, r.Kept,
		r.Text, r.TextFault, r.OwnerProof, r.Incomplete
	line, at, took, ended := h.Exchange.Line, h.Exchange.LineAt, h.Exchange.Took, h.Exchange.Ended
	damaged := cmp.Or(h.Exchange.Damaged, g.Exchange.Damaged)
	h.Exchange = e
	h.Exchange.Damaged = damaged
	h.Exchange.Line, h.Exchange.LineAt, h.Exchange.Took, h.Exchange.Ended = line, at, took, ended
	h.sums[0], h.sums[1], h.Sent = q.sums[0], r.sums[1], q.Sent
	h.heads[0], h.heads[1] = q.heads[0], r.heads[1]
	h.bound = heads{q.bound.asked, r.bound.answer}
	h.HasRequest, h.HasAnswer = true, true
}
