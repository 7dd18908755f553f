package repair

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// host is what is known of an authority.
type host struct {
	layout.HostState
	id        uint32
	authority canon.Authority

	// Set when a file is read:
	at       [layout.HostKinds]uint64 // values of the journal of states, by kind less one; zero is none
	outcomes frontier.Outcomes
	pending  int64
}

// contents is what an open reads, of a file that nobody writes: which state records count, what became of the URLs of
// each host, and the sums that the file itself has. To read them is most of a check.
type contents struct {
	meta     layout.Meta
	totals   *layout.Totals
	hosts    []*host               // by id; nil for an id that was never written
	retries  map[layout.Ref]uint64 // of pending tasks: value of the journal of states
	endings  *layout.Endings
	accepted int64 // entries of all records
}

// readContents reads them. A contradiction is damage, in the words of an open.
func readContents(tx *bbolt.Tx) (*contents, error) {
	c := &contents{retries: map[layout.Ref]uint64{}}
	var err error
	if c.meta, c.totals, err = layout.ReadMeta(tx, layout.Clock{Began: time.Now()}); err != nil {
		return nil, err
	}
	for _, step := range []func(*bbolt.Tx) error{c.readStates, c.readEndings, c.readRecords} {
		if err := step(tx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// readStates reads hosts and retries. The last state record of an address counts.
func (c *contents) readStates(tx *bbolt.Tx) error {
	err := layout.StateJournal.Each(tx, func(seq uint64, body []byte) error {
		return layout.EachState(body, func(s layout.StateRecord) error { return c.readState(s, seq) })
	})
	if err != nil {
		return err
	}
	named := map[canon.Authority]bool{}
	for id, h := range c.hosts {
		switch {
		case h == nil:
			continue
		case h.authority.IsZero():
			return fmt.Errorf("read %s: host %d has no name: %w", layout.StateJournal, id, frontier.ErrDamaged)
		case named[h.authority]:
			return fmt.Errorf("read %s: %s is there twice: %w", layout.StateJournal, h.authority, frontier.ErrDamaged)
		}
		named[h.authority] = true
	}
	return nil
}

func (c *contents) readState(s layout.StateRecord, seq uint64) error {
	if s.Kind == layout.KindRetry {
		t, ok := layout.ParseRetry(s.Data, c.meta.Clock)
		if !ok {
			return fmt.Errorf("retry of %d: %w", s.ID, frontier.ErrDamaged)
		}
		if t.Void() {
			delete(c.retries, layout.Ref(s.ID))
		} else {
			c.retries[layout.Ref(s.ID)] = seq
		}
		return nil
	}
	h, err := c.host(s.ID)
	if err != nil {
		return err
	}
	h.at[s.Kind-1] = seq
	switch s.Kind {
	case layout.KindName:
		if h.authority, err = canon.ParseAuthority(string(s.Data)); err != nil {
			return fmt.Errorf("name of host %d: %w: %w", s.ID, err, frontier.ErrDamaged)
		}
	case layout.KindHost:
		ok := false
		if h.HostState, ok = layout.ParseHostState(s.Data, c.meta.Clock); !ok {
			return fmt.Errorf("state of host %d: %w", s.ID, frontier.ErrDamaged)
		}
		h.outcomes[frontier.Dropped] = int64(h.Refused)
	}
	return nil
}

// host returns the host with that id, which is made if need be.
func (c *contents) host(id uint64) (*host, error) {
	if id >= layout.MaxHosts {
		return nil, fmt.Errorf("host %d: %w", id, frontier.ErrDamaged)
	}
	for id >= uint64(len(c.hosts)) {
		c.hosts = append(c.hosts, nil)
	}
	if c.hosts[id] == nil {
		c.hosts[id] = &host{id: uint32(id)}
	}
	return c.hosts[id], nil
}

// readEndings reads how all URLs ended, and holds against them what was in flight.
func (c *contents) readEndings(tx *bbolt.Tx) (err error) {
	if c.endings, err = layout.ReadEndings(tx); err != nil {
		return err
	}
	c.accepted = int64(len(c.endings.All))
	r, _, err := layout.ReadInFlight(tx)
	if err != nil {
		return err
	}
	return c.endings.Check(r)
}

// readRecords counts pending and closed URLs for their hosts, and forgets the retries of closed ones.
func (c *contents) readRecords(tx *bbolt.Tx) error {
	var spans []layout.Span
	err := layout.RecordJournal.Each(tx, func(seq uint64, body []byte) (err error) {
		if spans, _, err = layout.ParseHead(body, spans[:0]); err != nil {
			return err
		}
		endings := c.endings.Record(seq)
		for _, s := range spans {
			if s.Host >= uint32(len(c.hosts)) || c.hosts[s.Host] == nil {
				return fmt.Errorf("host %d is unknown: %w", s.Host, frontier.ErrDamaged)
			}
			h := c.hosts[s.Host]
			for _, e := range endings[:s.N] {
				if e == 0 {
					h.pending++
				} else {
					h.outcomes[e.Outcome()]++
				}
			}
			endings = endings[s.N:]
		}
		return nil
	})
	for r := range c.retries {
		if at := c.endings.Of(r); at == nil || *at != 0 {
			delete(c.retries, r)
		}
	}
	return err
}

// counts reports whether the state record of an address that stands in that value of the journal is the one that
// counts.
func (c *contents) counts(a layout.Address, seq uint64) bool {
	if a.Kind == layout.KindRetry {
		return c.retries[layout.Ref(a.ID)] == seq
	}
	return a.ID < uint64(len(c.hosts)) && c.hosts[a.ID] != nil && c.hosts[a.ID].at[a.Kind-1] == seq
}
