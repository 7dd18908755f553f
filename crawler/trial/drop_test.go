package trial

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

type slowDisk struct {
	storage.Recorder
	lease time.Duration
	mu    sync.Mutex
	dice  dice
}

func (s *slowDisk) Record(ctx context.Context, r storage.Record) (storage.Receipt, error) {
	s.mu.Lock()
	slow := s.dice.in(6)
	s.mu.Unlock()
	if slow {
		select {
		case <-time.After(s.lease):
		case <-ctx.Done():
		}
	}
	return s.Recorder.Record(ctx, r)
}

type dropCounts struct{ status, list, ledger int64 }

func countDrops(t *testing.T, dir string) (n dropCounts) {
	t.Helper()
	f, err := bolt.OpenReadOnly(filepath.Join(dir, "frontier.db"))
	require.NoError(t, err)
	defer f.Close()
	st, err := f.Stats(t.Context())
	require.NoError(t, err)
	n.status = st.Reasons[frontier.Dropped][frontier.ReasonOperator]
	err = f.List(t.Context(), func(i frontier.Item) error {
		if i.URL != nil && i.URL.Outcome == frontier.Dropped && i.URL.Reason == frontier.ReasonOperator {
			n.list++
		}
		if i.Totals != nil {
			n.list += i.Totals.Reasons[frontier.ReasonOperator]
		}
		return nil
	})
	require.NoError(t, err)
	last := map[string]storage.Line{} // the last decision on a URL. A turn whose lease has run out may write its decision later
	for l, err := range ledger.Read(filepath.Join(dir, "ledger")) {
		switch {
		case err != nil:
			t.Fatal(err)
		case l.Reason == frontier.ReasonOperator && l.Count > 0:
			n.ledger += l.Count
		case l.Outcome == "":
		case last[l.URL].Reason == frontier.ReasonOperator && l.Time.Equal(last[l.URL].Time):
			// the turn ended at the instant of the drop, and recorded after it that the URL is deferred
		case !l.Time.Before(last[l.URL].Time):
			last[l.URL] = l
		}
	}
	for raw, l := range last {
		if l.Reason != frontier.ReasonOperator {
			continue
		}
		u, err := canon.Parse(raw)
		require.NoError(t, err)
		seen, err := f.Seen(t.Context(), []canon.URL{u})
		require.NoError(t, err)
		if seen[0] { // else a kill took back the page that named it
			n.ledger++
		}
	}
	return n
}

func TestStatusLedgerAndListCountTheSameDrops(t *testing.T) {
	cases := uint64(12)
	switch {
	case os.Getenv("CURTSY_LONG") != "":
		cases = 300
	case testing.Short():
		cases = 4
	}
	first := uint64(1)
	if v, err := strconv.ParseUint(os.Getenv("CURTSY_CASE"), 10, 64); err == nil {
		first, cases = v, 1
	}
	var dropped, expired int64
	for n := first; n < first+cases; n++ {
		d, e := tryDrops(t, n)
		dropped, expired = dropped+d, expired+e
	}
	t.Logf("%d cases: %d URLs dropped, %d leases expired", cases, dropped, expired)
	if cases > 1 && (dropped == 0 || expired == 0) {
		t.Error("no case was tried")
	}
}

func tryDrops(t *testing.T, n uint64) (dropped, expired int64) {
	t.Helper()
	root := t.TempDir()
	defer os.RemoveAll(root)
	x := &trial{web: &web{seed: n, hosts: 12}, seeds: 8, set: draw(n), dice: throw(n, "drops"), logs: map[string][]logged{}}
	x.dir = filepath.Join(root, "0")
	x.set.lease = 20 * time.Second
	x.set.recorder = func(r storage.Recorder) storage.Recorder {
		return &slowDisk{Recorder: r, lease: x.set.lease, dice: throw(n, "disk", x.dir)}
	}
	lives := 2 + x.dice.IntN(3)
	for life := range lives {
		next := ""
		if life < lives-1 {
			next = filepath.Join(root, strconv.Itoa(life+1))
		}
		synctest.Test(t, func(t *testing.T) { expired += x.liveDropping(t, next) })
		if next != "" {
			x.dir = next
			synctest.Test(t, func(t *testing.T) { x.look(t) })
		}
		got := countDrops(t, x.dir)
		assert.Equal(t, got.list, got.status)
		assert.Equal(t, got.ledger, got.status)
		dropped = got.status
		if t.Failed() {
			return dropped, expired
		}
	}
	return dropped, expired
}

// look opens the directory after a kill, as any command with a change.
func (x *trial) look(t *testing.T) {
	time.Sleep(began + x.elapsed)
	c, err := open(t.Context(), x.dir, x.set, &server{w: x.web}, 0)
	require.NoError(t, err)
	require.NoError(t, c.close())
}

// liveDropping ends by a kill that leaves next, or normally if next is empty.
func (x *trial) liveDropping(t *testing.T, next string) (expired int64) {
	time.Sleep(began + x.elapsed)
	start := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &server{w: x.web, asked: map[string]int{}, answers: map[string]int{}, true: time.Now, log: func(*trialHost, logged) {}}
	c, err := open(ctx, x.dir, x.set, s, 4*time.Minute)
	require.NoError(t, err)
	require.NoError(t, c.seed(ctx, x.web, x.seeds))
	ended := make(chan error, 1)
	go func() {
		_, err := c.crawl.Run(ctx)
		ended <- err
	}()
	for range 1 + x.dice.IntN(12) {
		time.Sleep(time.Duration(x.dice.IntN(8000)) * time.Millisecond)
		require.NoError(t, x.command(ctx, c.front))
	}
	if next != "" {
		time.Sleep(time.Duration(x.dice.IntN(40_000)) * time.Millisecond)
		synctest.Wait()
		s.mu.Lock()
		s.killed = true
		s.mu.Unlock()
		c.leave(t, next, x.dice)
		cancel()
	}
	require.NoError(t, <-ended)
	st, err := c.front.Stats(t.Context())
	require.NoError(t, err)
	x.elapsed += time.Since(start)
	require.NoError(t, c.close())
	s.wg.Wait()
	return st.Counts[frontier.ReasonExpired]
}

func (x *trial) command(ctx context.Context, f frontier.Frontier) error {
	u, err := canon.Parse(fmt.Sprintf("http://%s%s", x.web.host(x.dice.IntN(x.web.hosts)).name, x.dice.one("/", "/1", "/a")))
	if err != nil {
		return err
	}
	order := frontier.Steering{Act: frontier.Drop, Authority: u.Authority()}
	switch x.dice.IntN(4) {
	case 0:
		order.Act = frontier.Resume
	case 1:
		order.URLs = []canon.URL{u}
	}
	_, err = f.Steer(ctx, order)
	return err
}
