package trial

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/status"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/reconcile"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

type trial struct {
	web   *web
	seeds int // hosts that are seeds
	set   settings
	dice  dice
	dir   string // of the crawl

	elapsed time.Duration // by the right clock, since the first life began
	stepped bool          // the crawl's clock was set
	logs    map[string][]logged
	served  int
	kills   int
	asked   int64 // exchanges, by the status of the life that was not killed

	known     checkpoint.Key // the operator's first key, which the auditor has
	rotations int
	takedowns int
	updates   int
	before    int64 // lines of exchanges before the last of those
	gone      int64 // lines of exchanges that were taken down
	bundles   int
	acts      int // of an operator
	raised    int // of those, pauses
	absent    int // of those, of hosts that were not crawled
	result    *audit.Result
}

type size struct {
	cases, hosts, kills int
	lasts               time.Duration // of the last life, at most
}

func sizeOf() size {
	switch {
	case os.Getenv("CURTSY_LONG") != "":
		return size{300, 40, 3, 20 * time.Minute}
	case testing.Short() || racing:
		return size{2, 8, 2, 3 * time.Minute}
	}
	return size{6, 20, 2, 5 * time.Minute}
}

func TestAPoliteCrawlIsNeverAccused(t *testing.T) {
	s := sizeOf()
	var sum struct{ hosts, exchanges, kills, judged, gaps, unprovable, steps, logs, confirmed, uncovered, own, rotations, takedowns, updates, gone, bundles, acts, raised int64 }
	var failed []uint64
	first, cases := uint64(1), s.cases
	if v := os.Getenv("CURTSY_CASE"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		require.NoError(t, err)
		first, cases = n, 1
	}
	for n := first; n < first+uint64(cases); n++ {
		x := &trial{web: &web{seed: n, hosts: s.hosts}, seeds: 3 + s.hosts/3, set: draw(n), dice: throw(n, "lives"), logs: map[string][]logged{}}
		if throw(n, "local").in(3) {
			x.set.ownWeb(x.web)
			sum.own++
		}
		if !t.Run(fmt.Sprint(n), func(t *testing.T) { x.try(t, s) }) {
			failed = append(failed, n)
		}
		require.NotNilf(t, x.result, "case %d was not audited", n)
		y := x.result.Totals
		sum.hosts += int64(len(x.result.Hosts))
		sum.exchanges += y.Exchanges
		sum.judged += y.Judged
		sum.gaps += y.Gaps
		sum.unprovable += y.Unprovable
		sum.kills += int64(x.kills)
		sum.rotations += int64(x.rotations)
		sum.takedowns += int64(x.takedowns)
		sum.updates += int64(x.updates)
		sum.gone += x.gone
		sum.acts += int64(x.acts)
		sum.raised += int64(x.raised)
		sum.bundles += int64(x.bundles)
		for _, l := range x.result.Logs {
			sum.logs++
			sum.confirmed += l.Agree
			sum.uncovered += l.Uncovered
		}
		if x.stepped {
			sum.steps++
		}
	}
	assert.Emptyf(t, failed, "cases %d accuse the crawler: repeat a single one with CURTSY_CASE", failed)
	t.Logf("%d cases, of %d with the clock set: %d hosts, %d exchanges, %d kills; %d verdicts, %d pauses, %d unprovable; %d logs confirm %d exchanges and do not cover %d",
		cases, sum.steps, sum.hosts, sum.exchanges, sum.kills, sum.judged, sum.gaps, sum.unprovable, sum.logs, sum.confirmed, sum.uncovered)
	t.Logf("%d acts of operators, %d pauses made longer", sum.acts, sum.raised)
	t.Logf("%d takedowns with %d exchanges that went, %d rotations of the key, %d updates, %d bundles of a host, %d cases with hosts on loopback",
		sum.takedowns, sum.gone, sum.rotations, sum.updates, sum.bundles, sum.own)
	// The logs of a few cases may all cover the whole crawl, and a single case may have none.
	if sum.judged == 0 || sum.gaps == 0 || cases > 1 && (sum.kills == 0 || sum.confirmed == 0) || cases > 5 && sum.uncovered == 0 ||
		sum.bundles == 0 || cases > 5 && (sum.takedowns == 0 || sum.gone == 0 || sum.rotations == 0 || sum.updates == 0 || sum.own == 0 || sum.acts == 0 || sum.raised == 0) {
		t.Error("a kind of case is missing")
	}
}

func (x *trial) try(t *testing.T, s size) {
	t.Helper()
	root := t.TempDir()
	x.dir = filepath.Join(root, "0")
	x.firstKey(t, root)
	kills := 1 + x.dice.IntN(2*s.kills)
	offset := time.Duration(0)
	for life := 0; life <= kills; life++ {
		if x.dice.in(6) && life > 0 {
			offset += []time.Duration{-25 * time.Hour, 25 * time.Hour, -time.Hour, 3 * time.Hour, -30 * time.Second, 10 * time.Second, -2 * time.Second}[x.dice.IntN(7)]
			x.stepped = true
		}
		next := filepath.Join(root, strconv.Itoa(life+1))
		lasts, killed := x.lasts(), life < kills
		updated := killed && throw(x.web.seed, "update", strconv.Itoa(life)).in(3)
		switch {
		case !killed:
			lasts = s.lasts
		case updated: // so that some URLs are requested again
			lasts += time.Duration(x.web.seed%3) * time.Minute
		}
		x.set.resettle(x.web.seed, life)
		synctest.Test(t, func(t *testing.T) { x.live(t, life, next, offset, lasts, killed) })
		if killed {
			x.kills++
			os.RemoveAll(x.dir)
			x.dir = next
		}
		if x.dice.in(3) {
			x.elapsed += time.Duration(x.dice.IntN(3600)) * time.Second
		}
		synctest.Test(t, func(t *testing.T) { x.forget(t, life, offset) })
		x.judge(t, fmt.Sprintf("case %d, life %d", x.web.seed, life), root)
		if t.Failed() {
			return
		}
		if killed {
			x.rotate(t, life, offset)
		}
		if updated {
			synctest.Test(t, func(t *testing.T) { x.update(t, offset) })
		}
	}
	x.counted(t)
	x.prove(t, root)
}

func (x *trial) lasts() time.Duration {
	switch x.dice.IntN(4) {
	case 0:
		return time.Duration(x.dice.IntN(300)) * time.Millisecond
	case 1:
		return time.Duration(x.dice.IntN(200_000)) * time.Millisecond
	case 2: // at the very instant at which a request may be due
		return time.Duration(x.dice.IntN(20)) * 100 * time.Millisecond
	}
	return time.Duration(x.dice.IntN(8000)) * time.Millisecond
}

// began is when the first life begins by the right clock. Bubbles begin in the year 2000.
const began = 100 * 24 * time.Hour

// live runs one life in a bubble whose clock is the right one plus offset.
func (x *trial) live(t *testing.T, life int, next string, offset, lasts time.Duration, killed bool) {
	time.Sleep(began + x.elapsed + offset)
	start := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &server{w: x.web, asked: map[string]int{}, answers: map[string]int{}, true: func() time.Time { return time.Now().Add(-offset) }}
	s.log = func(h *trialHost, line logged) {
		s.mu.Lock()
		defer s.mu.Unlock()
		x.logs[h.name] = append(x.logs[h.name], line)
	}
	most := lasts
	if killed {
		most = 0
	}
	c, err := open(ctx, x.dir, x.set, s, most)
	require.NoError(t, err)
	require.NoError(t, c.seed(ctx, x.web, x.seeds))
	var operator sync.WaitGroup
	operator.Go(func() { x.operate(ctx, t, c, life, most) })
	ended := make(chan error)
	go func() {
		_, err := c.crawl.Run(ctx)
		ended <- err
	}()
	var after <-chan time.Time
	if killed {
		after = time.After(lasts)
	}
	select {
	case err = <-ended:
		if killed { // it came to its end before it could be killed
			require.NoError(t, os.CopyFS(next, os.DirFS(x.dir)))
		}
	case <-after:
		synctest.Wait()
		s.mu.Lock()
		s.killed = true
		s.mu.Unlock()
		c.leave(t, next, x.dice)
		x.elapsed += time.Since(start)
		start = time.Now()
		cancel()
		<-ended
	}
	cancel()
	operator.Wait()
	require.NoError(t, err)
	if !killed {
		x.elapsed += time.Since(start)
		st, err := status.Of(t.Context(), c.front)
		require.NoError(t, err)
		x.asked = st.Exchanges
	}
	x.served += s.served
	require.NoError(t, c.close())
	s.wg.Wait()
}

func (x *trial) judge(t *testing.T, at, root string) {
	t.Helper()
	temp := filepath.Join(root, "temp")
	require.NoError(t, os.MkdirAll(temp, 0o777))
	o := reconcile.Options{Dir: filepath.Join(x.dir, "ledger"), Root: x.dir, TempDir: temp}
	_, unsigned := ledger.Latest(o.Dir)
	if unsigned == nil { // else a kill came before the first checkpoint
		o.Key = x.known
	}
	book, err := reconcile.Open(t.Context(), o)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(x.dir, "warc", "*.warc.gz*"))
	require.NoError(t, err)
	witnesses := []audit.Witness{book}
	if w := x.witness(t, temp, book); w != nil {
		witnesses = append(witnesses, w)
	}
	r, err := audit.Run(t.Context(), audit.Options{Files: files, Ours: true, TempDir: temp, Witnesses: witnesses})
	if err == audit.ErrNothing {
		return
	}
	require.NoError(t, err, at)
	accusations, takedowns := 0, 0
	for _, f := range r.Findings {
		if f.Code == finding.TakenDown && f.Place.File == o.Dir {
			takedowns++
		}
		if f.Note {
			continue
		}
		if accusations++; accusations <= maxAccusations {
			t.Errorf("%s: the audit accuses %s of %s\n  %s\n  at %s\n  required %s\n  observed %s\n  %+v", at, f.Authority, f.Code, f.URL, f.Time, f.Required, f.Observed, f.Place)
		}
	}
	signed := slices.ContainsFunc(r.Levels, func(l audit.Reached) bool { return l.Level.Whole() == audit.SignedByKnown })
	if takedowns != x.takedowns || accusations == 0 && signed != (unsigned == nil) {
		t.Errorf("%s: the audit reports %d takedowns of %d; with %d rotations of the key it reaches %v", at, takedowns, x.takedowns, x.rotations, r.Levels)
	}
	if t.Failed() {
		keep := filepath.Join(os.TempDir(), "curtsy-trial-"+strconv.FormatUint(x.web.seed, 10))
		os.RemoveAll(keep)
		if err := os.CopyFS(keep, os.DirFS(x.dir)); err == nil {
			t.Logf("the crawl directory is kept in %s", keep)
		}
	}
	x.result = r
}

// counted compares the exchanges of status, ledger and audit, except those lost in a kill or without a ledger line.
func (x *trial) counted(t *testing.T) {
	t.Helper()
	var lines int64
	for l, err := range ledger.Read(filepath.Join(x.dir, "ledger")) {
		require.NoError(t, err)
		if l.Record != "" {
			lines++
		}
	}
	l, audited := x.result.Ledger, x.result.Totals.Exchanges
	// Lines that a takedown removed before the next run counted them are in no count. The status is of the last generation.
	if x.asked < lines-x.before || x.asked > lines-x.before+x.gone || audited < lines-l.InFlight || audited > lines+l.Untold {
		t.Errorf("%d exchanges by the status, %d by the ledger, where %d were taken down, %d by the audit, which misses %d and has up to %d without a line",
			x.asked, lines, x.gone, audited, l.InFlight, l.Untold)
	}
}

const maxAccusations = 3
