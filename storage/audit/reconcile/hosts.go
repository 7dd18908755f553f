package reconcile

import (
	"errors"
	"fmt"
	"path/filepath"

	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
)

// storedMap holds the map of hosts that is stored against the last mark of one. Package ledger holds the marks against
// the lines. A kill may leave the map of the mark before, which the next run makes good.
func (l *Ledger) storedMap(found finding.Report) {
	n := len(l.maps)
	if n == 0 || l.running {
		return
	}
	file := filepath.Join(l.o.Dir, ledger.HostsName)
	root, hosts, err := hostmap.Root(l.named())
	same := func(m *ledger.Mark) bool { return root == m.Root && hosts == m.Hosts }
	switch {
	case err == nil && same(l.maps[n-1]):
		return
	case l.killedAtEnd() && err == nil && (n == 1 && hosts == 0 || n > 1 && same(l.maps[0])):
		return
	case err == nil:
		err = fmt.Errorf("its root is %s, of %d hosts", root, hosts)
	}
	found(finding.Finding{Code: finding.LedgerHosts, Place: finding.Place{File: file},
		Required: fmt.Sprintf("the map of %d hosts with the root %s, as the last mark of hosts has it", l.maps[n-1].Hosts,
			l.maps[n-1].Root), Observed: err.Error()})
}

var errKey = errors.New("a host has the key of another")

// named are the hosts of the stored map, whose keys must be those of their names: the root holds the keys alone. A host
// has no name any more when all its lines were taken away.
func (l *Ledger) named() func(yield func(hostmap.Entry, error) bool) {
	return func(yield func(hostmap.Entry, error) bool) {
		nameless := l.check.Forgotten
		for e, err := range ledger.Hosts(l.o.Dir) {
			if e.Host == "" {
				nameless -= e.Count
			}
			if err == nil && (e.Host != "" || nameless < 0) && e.Key != hostmap.Key(l.log.Origin(), e.Host) {
				err = fmt.Errorf("%w: %s", errKey, finding.Short(e.Host))
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
