package proof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
)

// hostsOf finds the map of the last mark: in its file, or made anew from the lines.
func (g *gathered) hostsOf(ctx context.Context) error {
	for _, name := range []string{ledger.HostsName, ledger.HostsNext} {
		if found, err := g.stored(name); found || err != nil {
			return err
		}
	}
	if len(g.stubs) > 0 {
		return fmt.Errorf("%w: %s is of another one, and cannot be made again, because %d lines were redacted; if the crawl "+
			"runs, run the command again", ErrDamaged, ledger.HostsName, len(g.stubs))
	}
	all, err := g.mapped(ctx)
	if err != nil {
		return err
	}
	g.Hosts = of(all)
	if root, _, err := hostmap.Root(g.Hosts); err != nil || root != g.hosts.Root {
		return fmt.Errorf("%w: lines were changed, by the map of hosts", ErrDamaged)
	}
	g.Notes = append(g.Notes, ledger.HostsName+" is not the map of hosts of the latest checkpoint: it was computed again from the lines")
	return nil
}

// stored takes a file of the map, if it is that of the last mark. It is copied first: a crawl that runs replaces it, and it
// is read several times.
func (g *gathered) stored(name string) (found bool, err error) {
	if g.copied == "" {
		if g.copied, err = os.MkdirTemp(g.crawl.TempDir, "hosts-"); err != nil {
			return false, err
		}
	}
	from, err := durable.Open(filepath.Join(g.crawl.Ledger, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(g.copied, ledger.HostsName))
	if err != nil {
		return false, err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return false, err
	}
	all, mine := ledger.Hosts(g.copied), hostmap.Entry{Key: g.known.Key}
	root, _, err := hostmap.Root(func(yield func(hostmap.Entry, error) bool) {
		for e, err := range all {
			if e.Key == mine.Key && err == nil {
				mine = e
			}
			if !yield(e, err) {
				return
			}
		}
	})
	if err != nil || root != g.hosts.Root {
		return false, nil //nolint:nilerr // the map is made anew from the lines
	}
	g.Hosts, g.known = all, mine
	return true, nil
}

func of(all []hostmap.Entry) iter.Seq2[hostmap.Entry, error] {
	return func(yield func(hostmap.Entry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// mapped makes the map anew.
func (g *gathered) mapped(ctx context.Context) (all []hostmap.Entry, err error) {
	hosts := map[string]*hostmap.Entry{}
	for e, err := range g.entries(ctx) {
		if err != nil {
			return nil, err
		}
		if ledger.IsMark(e.Line) || e.Index >= g.hosts.Size {
			continue
		}
		host := hostOf(e.Line)
		h := hosts[host]
		if h == nil {
			h = &hostmap.Entry{Key: hostmap.Key(g.note.Origin, host)}
			hosts[host] = h
		}
		h.Add(e.Index, hashOf(e.Line))
	}
	for host, h := range hosts {
		if host == g.Host {
			g.known = *h
		}
		all = append(all, *h)
	}
	slices.SortFunc(all, hostmap.Compare)
	return all, nil
}

// maxTries bounds the search for the stubs of a host.
const maxTries = 1 << 17

// claimStubs finds out which of the forgotten lines are the host's: those with which its digest comes out as the map has
// it.
func (g *gathered) claimStubs() error {
	if len(g.stubs) == 0 {
		return nil
	}
	var own []stub // the lines that are there
	for r, err := range g.each {
		if err != nil {
			return err
		}
		if r.Index < g.hosts.Size {
			own = append(own, stub{index: r.Index, hash: hashOf(r.Public)})
		}
	}
	missing := int(g.known.Count) - len(own)
	if missing <= 0 {
		return nil // if there are too many, the proof says so
	}
	c := claim{own: own, stubs: g.stubs, want: g.known, left: maxTries}
	if !c.groups(g.all, missing) && !c.singly(nil, 0, missing) {
		return fmt.Errorf("%d of its lines were redacted, among %d in total, and cannot be identified any more: "+
			"no proof that the others are all", missing, len(g.stubs))
	}
	for i := range g.stubs {
		g.stubs[i].mine = slices.Contains(c.found, i)
	}
	return nil
}

// claim is a search for the stubs of a host.
type claim struct {
	own   []stub
	stubs []stub
	want  hostmap.Entry
	left  int   // how often it may still be tried
	found []int // places in stubs
}

// try reports whether the lines and these stubs have the digest.
func (c *claim) try(chosen []int) bool {
	if c.left--; c.left < 0 {
		return false
	}
	e := hostmap.Entry{Key: c.want.Key}
	own := c.own
	add := func(index int64, h tlog.Hash) { e.Add(index, h) }
	for _, i := range chosen {
		for ; len(own) > 0 && own[0].index < c.stubs[i].index; own = own[1:] {
			add(own[0].index, own[0].hash)
		}
		add(c.stubs[i].index, c.stubs[i].hash)
	}
	for _, s := range own {
		add(s.index, s.hash)
	}
	if e.First != c.want.First || e.Count != c.want.Count || e.Digest != c.want.Digest {
		return false
	}
	c.found = slices.Clone(chosen)
	return true
}

// groups tries whole redactions: one is mostly of one host.
func (c *claim) groups(marks []gatheredMark, missing int) bool {
	var all [][]int
	for _, m := range marks {
		if m.Kind != ledger.KindRedaction {
			continue
		}
		var of []int
		for _, index := range m.Redaction.Entries {
			if i, ok := slices.BinarySearchFunc(c.stubs, index, func(s stub, index int64) int { return int(max(min(s.index-index, 1), -1)) }); ok {
				of = append(of, i)
			}
		}
		if len(of) > 0 && len(of) <= missing {
			all = append(all, of)
		}
	}
	if len(all) > 12 {
		return false
	}
	for set := range 1 << len(all) {
		var chosen []int
		for i, of := range all {
			if set>>i&1 == 1 {
				chosen = append(chosen, of...)
			}
		}
		slices.Sort(chosen)
		if chosen = slices.Compact(chosen); len(chosen) == missing && c.try(chosen) {
			return true
		}
	}
	return false
}

// singly tries any of them.
func (c *claim) singly(chosen []int, from, missing int) bool {
	if missing == 0 {
		return c.try(chosen)
	}
	for i := from; i+missing <= len(c.stubs) && c.left > 0; i++ {
		if c.singly(append(chosen, i), i+1, missing-1) {
			return true
		}
	}
	return false
}
