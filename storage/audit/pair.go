package audit

import (
	"slices"

	"curtsy/storage/audit/weburl"
)

// windowSize is how many exchanges may wait for their other records. Those of ours are written together; a crawler that
// writes what its workers bring, record by record, rarely has more at once.
const windowSize = 16

// join puts a record to its exchange, or makes it the first of one.
func (a *audit) join(h *half) {
	s := a.cur
	var to *half
	for i := len(s.window) - 1; i >= 0; i-- {
		if w := s.window[i]; w.belongs(h) && (to == nil || w.e.URL == h.e.URL) {
			if to = w; w.e.URL == h.e.URL {
				break // rather this one than one of another URL: the records along a redirect may all name each other
			}
		}
	}
	if to != nil {
		to.merge(h)
		a.expected(to)
		a.settle()
		return
	}
	a.expected(h)
	s.window = append(s.window, h)
	a.flush(windowSize)
}

// settle passes on what is whole and has nothing before it.
func (a *audit) settle() {
	for s := a.cur; len(s.window) > 0; {
		if w := s.window[0]; w.alone == "" && (!w.told || !w.asked || !w.answered && !a.ours()) {
			return
		}
		a.flush(len(s.window) - 1)
	}
}

// flush passes on what is first in the window until no more than n are left.
func (a *audit) flush(n int) {
	s := a.cur
	for len(s.window) > n {
		s.queue = append(s.queue, event{info: s.info, h: s.window[0]})
		s.window = slices.Delete(s.window, 0, 1)
	}
}

// expected notes where a robots.txt redirects to, as soon as it is met: the body that is found there is wanted, and the
// redirect itself is judged later.
func (a *audit) expected(h *half) {
	if h.said.location.value == "" || h.e.Status < 300 || h.e.Status > 399 {
		return
	}
	to, err := weburl.Resolve(h.e.URL, h.said.location.value)
	if err != nil {
		return // it leads nowhere; if it is of a robots.txt, follow says so
	}
	if len(a.expect) >= maxExpected {
		for k := range a.expect { // any
			delete(a.expect, k)
			break
		}
	}
	a.expect[to.Key] = true
}

const maxExpected = 10000

// belongs reports whether two halves are records of one exchange.
func (h *half) belongs(g *half) bool {
	if h.asked && g.asked || h.answered && g.answered || h.alone != "" {
		return false
	}
	return h.named(g.ids, g.to, g.e.URL, g.date)
}

// named reports whether an exchange's records and others name each other or, where neither names any, are alike.
func (h *half) named(ids, to []string, uri, date string) bool {
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
	return len(to) == 0 && len(h.to) == 0 && h.e.URL == uri && h.date == date
}

// merge takes what g has and h has not.
func (h *half) merge(g *half) {
	h.ids, h.to = append(h.ids, g.ids...), append(h.to, g.to...)
	q, r := h, g // the request's half, the answer's half
	if g.asked {
		q, r = g, h
	}
	if !weburl.Same(q.e.URL, r.e.URL) {
		h.otherURL = q.e.URL
	}
	e := r.e
	e.Request, e.Target, e.Method, e.Agent, e.Host = q.e.Request, q.e.Target, q.e.Method, q.e.Agent, q.e.Host
	if !e.Addr.IsValid() {
		e.Addr = q.e.Addr
	}
	if !q.e.Began.IsZero() && (e.Began.IsZero() || q.e.Began.Before(e.Began)) {
		e.Began, e.Resolution = q.e.Began, max(e.Resolution, q.e.Resolution)
	}
	h.said, h.bodyless, h.kept, h.text, h.textErr, h.proof, h.partial = r.said, r.bodyless, r.kept, r.text, r.textErr, r.proof, r.partial
	line, at, took, ended := h.e.Line, h.e.LineAt, h.e.Took, h.e.Ended
	h.e = e
	h.e.Line, h.e.LineAt, h.e.Took, h.e.Ended = line, at, took, ended
	h.sums[0], h.sums[1], h.sent = q.sums[0], r.sums[1], q.sent
	h.heads[0], h.heads[1] = q.heads[0], r.heads[1]
	h.asked, h.answered = true, true
}
