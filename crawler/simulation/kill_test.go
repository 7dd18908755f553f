package simulation

import "maps"

// uncertainty is what a kill may undo: what ended since the commit before the last one began.
type uncertainty struct {
	hosts, before map[int]bool     // whose exchanges ended
	pages, older  map[int64]*int64 // that were closed, by place, with the count they went into
	undone        map[int64]*int64 // by kills; whether a commit had told of them is seen when they are asked for again
}

// note remembers that an exchange with a host ended.
func (u *uncertainty) note(id int) {
	if u.hosts != nil {
		u.hosts[id] = true
	}
}

// closed remembers that a page was closed.
func (u *uncertainty) closed(place int64, count *int64) {
	if u.pages != nil {
		u.pages[place] = count
	}
}

// barrier notes that a commit begins: what was finished before the one before it is durable.
func (r *referee) barrier() {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := &r.unsure
	u.before, u.hosts = u.hosts, map[int]bool{}
	u.older, u.pages = u.pages, map[int64]*int64{}
}

// begins notes that a life begins: no host is asked before its pace is over (politeness rule 17).
func (r *referee) begins() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.unsure.undone == nil {
		r.unsure.undone = map[int64]*int64{}
	}
	for i := range r.w.hosts {
		if h := &r.w.hosts[i]; h.met {
			h.due = max(h.due, now+int64(floor))
			h.ready, h.exact = -1, false
		}
	}
}

// kill cuts off what is under way, and makes uncertain what no commit has told of.
func (r *referee) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, u := r.now(), &r.unsure
	r.under = 0
	for i := range r.w.hosts {
		h := &r.w.hosts[i]
		if h.busy {
			h.busy, h.ended = false, now
			r.tally.CutOff++
		} else if !u.hosts[i] && !u.before[i] {
			continue
		}
		// Rests of more than the pace are in the ledger, and bind. How often the host had failed in a row may be one
		// less, and what it took to answer may be forgotten.
		if h.exact {
			h.due = min(h.due, now)
		}
		h.vague = true
		h.lost++
	}
	maps.Copy(u.undone, u.pages)
	maps.Copy(u.undone, u.older)
	u.hosts, u.before, u.pages, u.older = nil, nil, nil, nil
}

// forgive lets a page be asked for again if a kill may have undone it.
func (r *referee) forgive(place int64) {
	count, ok := r.unsure.undone[place]
	if !ok || !r.closed.has(place) {
		return
	}
	delete(r.unsure.undone, place)
	r.closed[place/64] &^= 1 << (place % 64)
	*count--
	r.tally.Again++
}
