package bolt

import (
	"encoding/binary"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
)

// naive is the engine that one writes first on top of bbolt: a bucket per host with its queue, a bucket of
// fingerprints, a transaction per page. It is better than most: fingerprints instead of URLs, no state of hosts, no
// retries, no list of what is done, a claim that only reads, and the turns of hosts for nothing, in RAM.
type naive struct {
	testing.TB
	db      *bbolt.DB
	printer *layout.Printer
	hosts   []string // with something to do, in turn
	known   map[string]bool
}

func newNaive(tb testing.TB) *naive {
	db, err := bbolt.Open(filepath.Join(tb.TempDir(), "naive.db"), 0o600, dbfile.Options(false))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return &naive{TB: tb, db: db, printer: layout.NewPrinter(make([]byte, 32)), known: map[string]bool{}}
}

// add accepts links that are new.
func (n *naive) add(tx *bbolt.Tx, cs []frontier.Candidate) {
	seen, err := tx.CreateBucketIfNotExists([]byte("seen"))
	if err != nil {
		n.Fatal(err)
	}
	for _, c := range cs {
		print := binary.BigEndian.AppendUint64(nil, uint64(n.printer.Print(c.URL)))
		if seen.Get(print) != nil {
			continue
		}
		host := c.URL.Authority().String()
		queue, err := tx.CreateBucketIfNotExists([]byte(host))
		if err != nil {
			n.Fatal(err)
		}
		seq, err := queue.NextSequence()
		if err == nil {
			err = queue.Put(binary.BigEndian.AppendUint64(nil, seq), []byte(c.URL.String()+" "+c.Via))
		}
		if err == nil {
			err = seen.Put(print, []byte{1})
		}
		if err != nil {
			n.Fatal(err)
		}
		if !n.known[host] {
			n.known[host] = true
			n.hosts = append(n.hosts, host)
		}
	}
}

func (n *naive) update(f func(tx *bbolt.Tx)) {
	if err := n.db.Update(func(tx *bbolt.Tx) error { f(tx); return nil }); err != nil {
		n.Fatal(err)
	}
}

// page claims a URL and finishes it with these links.
func (n *naive) page(links []frontier.Candidate) {
	host := n.hosts[0]
	n.hosts = n.hosts[1:]
	var key []byte
	err := n.db.View(func(tx *bbolt.Tx) error {
		k, _ := tx.Bucket([]byte(host)).Cursor().First()
		key = append(key, k...)
		return nil
	})
	if err != nil {
		n.Fatal(err)
	}
	n.update(func(tx *bbolt.Tx) {
		queue := tx.Bucket([]byte(host))
		if err := queue.Delete(key); err != nil {
			n.Fatal(err)
		}
		n.known[host] = false
		if k, _ := queue.Cursor().First(); k != nil {
			n.known[host] = true
			n.hosts = append(n.hosts, host)
		}
		n.add(tx, links)
	})
}

// naiveCost puts pages through a naive engine that has seen so many URLs.
func naiveCost(tb testing.TB, w *web, seen, pages int) cost {
	n := newNaive(tb)
	for k := 0; k < seen; {
		n.update(func(tx *bbolt.Tx) {
			var cs []frontier.Candidate
			for ; k < seen && len(cs) < 1<<14; k++ {
				cs = append(cs, w.link(tb, k))
			}
			n.add(tx, cs)
		})
	}
	c := cost{pages: int64(pages), commits: int64(pages)}
	before := n.db.Stats().TxStats
	var links []frontier.Candidate
	for p := range pages {
		links = w.links(tb, links[:0], seen, p)
		cpu, _ := cpuTime()
		start := time.Now()
		n.page(links)
		c.wall += time.Since(start)
		end, _ := cpuTime()
		c.cpu += end - cpu
	}
	after := n.db.Stats().TxStats
	c.octets = after.GetPageAlloc() - before.GetPageAlloc() + c.commits*int64(n.db.Info().PageSize)
	return c
}
