package force_test

import (
	"fmt"
	"hash/fnv"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// allowance is by how much the wall clock, with which two processes compare their times, may be slewed in a test.
const allowance = int64(5 * time.Millisecond)

// model is what the parent knows of a frontier.
type model struct {
	pages map[string]*page
	sites map[string]*site
	ops   map[int]*op // of the run, by number
	seq   int

	openedAt int64 // when the last Open returned
	openFrom int64 // when it was called
	faults   []string
	tally    tally
}

// tally counts for the summary.
type tally struct {
	cycles, acknowledged, inFlight, repeated, lost, resurrected, quarantined, parks, steered, retried, claims int
}

// state is one in which a URL may be.
type state struct {
	seq      int
	exists   bool
	outcome  frontier.Outcome // zero while it is pending
	attempts int
	due      int64 // not before
}

// page is a URL: the states in which it may be found after a crash, the one that is furthest last.
type page struct {
	url, host   string
	may         []state
	claimed     bool // in flight
	sent        bool // a Finish that closes it has not been acknowledged
	quarantined bool
}

// shut is what a park may be found to be.
type shut struct {
	seq      int
	reason   string
	min, max int64 // not due before; not held beyond, zero when not known
}

// site is a host.
type site struct {
	may   []shut // the host's own condition
	holds []shut // an operator's
	end   int64  // of the last exchange
	out   bool   // leased
	pace  int64  // as the file has it, of the run before
}

// op is a call that the child has told of.
type op struct {
	event
	pages []touched
	sites []*site
	hold  bool
	seq   int
}

// touched is what a call leads to: an acknowledgement rules out what comes before it.
type touched struct {
	page *page
	seq  int
}

func newModel() *model {
	return &model{pages: map[string]*page{}, sites: map[string]*site{}, ops: map[int]*op{}}
}

func (m *model) fault(format string, args ...any) {
	if len(m.faults) < 20 {
		m.faults = append(m.faults, fmt.Sprintf(format, args...))
	}
}

// paceOf is the pace of a host: 5 to 36 ms.
func paceOf(host string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(host))
	return time.Duration(5+h.Sum32()%32) * time.Millisecond
}

// longestPace is what a host waits after an unclean stop when nothing is known of it.
const longestPace = 36 * time.Millisecond

func (m *model) site(host string) *site {
	s := m.sites[host]
	if s == nil {
		s = &site{may: []shut{{}}, holds: []shut{{}}}
		m.sites[host] = s
	}
	return s
}

func (m *model) page(url string) *page {
	p := m.pages[url]
	if p == nil {
		u, err := canon.Parse(url)
		if err != nil {
			panic(err)
		}
		p = &page{url: url, host: u.Authority().String(), may: []state{{}}}
		m.pages[url] = p
	}
	return p
}

func (p *page) last() state { return p.may[len(p.may)-1] }

func (m *model) next() int { m.seq++; return m.seq }

// push adds a state to those in which p may be.
func (m *model) push(o *op, p *page, s state) {
	s.seq = m.next()
	p.may = append(p.may, s)
	o.pages = append(o.pages, touched{p, s.seq})
}

// hear takes in what the child tells.
func (m *model) hear(e event) {
	o := &op{event: e, seq: m.next()}
	switch e.Kind {
	case opened:
		m.openedAt, m.openFrom = e.To, e.From
	case claimed:
		m.claimed(e)
	case adding, finishing, retrying, steering:
		m.ops[e.ID] = o
		m.intends(o)
	case applied:
		m.applied(e)
	case acknowledged:
		for _, id := range e.IDs {
			m.acknowledged(m.ops[id])
		}
	}
}

func (m *model) intends(o *op) {
	switch o.Kind {
	case finishing:
		m.finishing(o)
	case retrying:
		for _, p := range m.pages {
			if s := p.last(); p.host == o.Host && s.outcome == frontier.Failed {
				m.push(o, p, state{exists: true})
			}
		}
	case steering:
		s := m.site(o.Host)
		o.sites, o.hold = append(o.sites, s), true
		h := shut{seq: o.seq, reason: o.Reason}
		if o.Act == frontier.Park {
			h.min = o.From + int64(o.Wait)
		}
		s.holds = append(s.holds, h)
	}
	for _, url := range o.Found {
		p := m.page(url)
		if s := p.last(); s.exists {
			o.pages = append(o.pages, touched{p, s.seq})
		} else {
			m.push(o, p, state{exists: true})
		}
	}
}

func (m *model) finishing(o *op) {
	s := m.site(o.Host)
	s.out = false
	if o.Exchange {
		s.end = o.From
	}
	c := shut{seq: o.seq, reason: o.Reason}
	if o.Reason != "" {
		c.min = o.From + int64(o.Wait)
		m.tally.parks++
	}
	s.may = append(s.may, c)
	o.sites = append(o.sites, s)
	for _, p := range m.pages {
		if p.host == o.Host {
			p.claimed = false
		}
	}
	for _, t := range o.Tasks {
		p := m.page(t.URL)
		next := p.last()
		if t.Outcome == 0 {
			next.attempts++
			next.due = o.From + int64(t.After)
		} else {
			next.outcome = t.Outcome
			p.sent = true
		}
		m.push(o, p, next)
	}
}

// claimed checks a turn against what must hold of it.
func (m *model) claimed(e event) {
	m.tally.claims++
	s := m.site(e.Host)
	if s.out {
		m.fault("%s was leased twice at a time", e.Host)
	}
	s.out = true
	if due := s.end + int64(paceOf(e.Host)); s.end != 0 && e.To < due-allowance {
		m.fault("%s is given %s before its pace is over", e.Host, time.Duration(due-e.To))
	}
	if due := m.openFrom + s.pace; e.To < due-allowance/5 {
		m.fault("%s is given %s before its pace is over, counted from the opening", e.Host, time.Duration(due-e.To))
	}
	if due := s.may[len(s.may)-1].min; e.To < due-allowance {
		m.fault("%s is given %s before its park is over", e.Host, time.Duration(due-e.To))
	}
	if h := s.holds[len(s.holds)-1]; h.max != 0 && e.From > h.max && e.To < h.min-allowance {
		m.fault("%s is given %s before the operator's park is over", e.Host, time.Duration(h.min-e.To))
	}
	for _, t := range e.Tasks {
		p := m.page(t.URL)
		l := p.last()
		switch {
		case !l.exists || l.outcome != 0:
			m.fault("%s is given, and is %+v", t.URL, l)
		case p.claimed:
			m.fault("%s is given twice at a time", t.URL)
		case t.Attempts != l.attempts:
			m.fault("%s is given with %d attempts, of %d", t.URL, t.Attempts, l.attempts)
		case e.To < l.due-allowance:
			m.fault("%s is given %s before it is due", t.URL, time.Duration(l.due-e.To))
		}
		p.claimed = true
	}
}

// applied learns how long what has begun may last.
func (m *model) applied(e event) {
	o := m.ops[e.ID]
	for _, s := range o.sites {
		list := s.may
		if o.hold {
			list = s.holds
		}
		for i := range list {
			if list[i].seq != o.seq {
				continue
			}
			switch {
			case o.hold:
				list[i].max = e.To // when the command had been obeyed
			case o.Reason != "":
				list[i].max = e.To + int64(o.Wait)
			}
		}
	}
}

// acknowledged rules out all that comes before o.
func (m *model) acknowledged(o *op) {
	m.tally.acknowledged++
	switch o.Kind {
	case retrying:
		m.tally.retried += len(o.pages)
	case steering:
		m.tally.steered++
	}
	for _, t := range o.pages {
		for len(t.page.may) > 1 && t.page.may[0].seq < t.seq {
			t.page.may = t.page.may[1:]
		}
	}
	for _, t := range o.Tasks {
		m.page(t.URL).sent = false
	}
	for _, s := range o.sites {
		list := &s.may
		if o.hold {
			list = &s.holds
		}
		for len(*list) > 1 && (*list)[0].seq < o.seq {
			*list = (*list)[1:]
		}
	}
}
