package bolt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/bolt/repair"
	"curtsy/frontier/canon"
)

// items returns a whole frontier: two hosts, six URLs in all states, two refused candidates.
func items(t testing.TB) []frontier.Item {
	t.Helper()
	secret := []byte(strings.Repeat("s", 32))
	a, b := mustURL(t, "http://a.test/"), mustURL(t, "https://b.test:8443/")
	entry := func(raw string) *frontier.Entry {
		u := mustURL(t, raw)
		return &frontier.Entry{
			Candidate: frontier.Candidate{URL: u, Kind: frontier.KindLink, Via: a.String(), Depth: 2, Seed: a.String(), Tag: "t"},
			Print:     frontier.Print(secret, u),
		}
	}
	done := entry("http://a.test/done")
	done.Outcome = frontier.Fetched
	gone := entry("http://a.test/gone")
	gone.Outcome, gone.Reason = frontier.Gone, "status 410"
	later := entry("https://b.test:8443/later")
	later.Deferred, later.Attempts, later.Wait, later.Reason = true, 2, time.Hour, "status 503"
	moved := entry("https://b.test:8443/moved")
	moved.Deferred, moved.Replaced = true, mustURL(t, "https://b.test:8443/moved/")
	refused := []frontier.Fingerprint{frontier.Print(secret, mustURL(t, "http://a.test/trap")), frontier.Print(secret, mustURL(t, "http://out.test/"))}
	return []frontier.Item{
		{Head: &frontier.Head{Secret: secret, Openings: 7}},
		{Seed: &frontier.Seed{URL: a, Tag: "t"}},
		{Seed: &frontier.Seed{URL: b, From: a.String()}},
		{Blob: []byte("User-agent: *\n")},
		{Blob: make([]byte, 10_000)},
		{Host: &frontier.Host{Authority: a.Authority(), HostUpdate: frontier.HostUpdate{Pace: time.Second, Width: 2, Robots: []byte("r"), Memory: []byte("m")}, Wait: time.Hour}},
		{URL: done},
		{URL: entry("http://a.test/first")},
		{Host: &frontier.Host{Authority: b.Authority(), HostUpdate: frontier.HostUpdate{Condition: frontier.Parked, Reason: "errors"}}},
		{URL: later}, {URL: moved}, {URL: gone}, {URL: entry("http://a.test/second")},
		{Refused: refused},
		{Totals: &frontier.Totals{
			Refused: map[canon.Authority]int64{a.Authority(): 1}, Strange: 1, Reasons: map[string]int64{"trap": 1, "scope": 1},
			Capped: map[string]int64{frontier.ReasonCapCrawl: 3}, Counts: map[string]int64{"requests": 9},
		}},
	}
}

func from(is []frontier.Item, err error) func() (frontier.Item, error) {
	return func() (frontier.Item, error) {
		if len(is) == 0 {
			return frontier.Item{}, err
		}
		i := is[0]
		is = is[1:]
		return i, nil
	}
}

func TestImport_MakesFrontierOfItems(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frontier.db")
	require.NoError(t, repair.Import(path, from(items(t), io.EOF)))
	checkClean(t, path)
	w := stateOf(t, path)
	st := w.stats
	if st.Discovered != 8 || st.Outcomes != (frontier.Outcomes{frontier.Fetched: 1, frontier.Gone: 1, frontier.Dropped: 2}) ||
		st.Queued != 2 || st.Deferred != 2 || st.Restarts != 6 || st.Unclean || st.Counts["requests"] != 9 ||
		st.Capped[frontier.ReasonCapCrawl] != 3 || st.Reasons[frontier.Gone]["status 410"] != 1 || st.Reasons[frontier.Dropped]["trap"] != 1 {
		t.Errorf("%+v", st)
	}
	assert.Truef(t, len(w.seeds) == 2 && (w.seeds[1].From == "http://a.test:80" || w.seeds[1].From == "http://a.test/"), "seeds %+v", w.seeds)
	if len(w.hosts) != 2 || string(w.hosts[0].Robots) != "r" || w.hosts[0].Outcomes[frontier.Dropped] != 1 || w.hosts[1].Condition != frontier.Parked {
		t.Errorf("hosts %+v", w.hosts)
	}
	e := newEngine(t, filepath.Dir(path), frontier.Options{})
	if n := e.add([]frontier.Candidate{{URL: mustURL(t, "http://out.test/")}, {URL: mustURL(t, "http://a.test/trap")}, {URL: mustURL(t, "http://a.test/done")}}); n.Known != 3 {
		t.Errorf("%+v", n)
	}
	turn := e.turn(10)
	assert.Truef(t, len(turn.Tasks) == 1 && turn.Tasks[0].URL.String() == "https://b.test:8443/moved/" && turn.Tasks[0].Replaced && turn.Token>>32 == 8, "%+v", turn)
	h, _, err := e.Host(t.Context(), mustURL(t, "http://a.test/").Authority())
	assert.Truef(t, err == nil && h.Wait >= 59*time.Minute && h.Width == 2, "%+v, %v", h, err)
	if b, err := e.Blob(t.Context(), layout.MakeBlobs([][]byte{make([]byte, 10_000)})[0].Sum); err != nil || len(b) != 10_000 {
		t.Errorf("blob of %d octets, %v", len(b), err)
	}
}

func TestImport_KeepsTheOrderOfManyURLs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frontier.db")
	is := items(t)
	secret := is[0].Head.Secret
	head, tail := is[:6], is[13:]
	all := append([]frontier.Item(nil), head...)
	for i := range 5000 {
		u := mustURL(t, fmt.Sprintf("http://a.test/n/%d", i))
		e := &frontier.Entry{Candidate: frontier.Candidate{URL: u, Kind: frontier.KindLink}, Print: frontier.Print(secret, u)}
		if i%3 == 0 {
			e.Outcome = frontier.Failed
		}
		all = append(all, frontier.Item{URL: e})
	}
	all[5].Host.Wait = 0
	require.NoError(t, repair.Import(path, from(append(all, tail...), io.EOF)))
	checkClean(t, path)
	e := newEngine(t, filepath.Dir(path), frontier.Options{})
	assert.EqualValues(t, 1667, e.retry(frontier.Retrial{Outcome: frontier.Failed}).URLs)
	e.mu.Lock()
	for _, h := range e.Frontier.hosts.all {
		h.NotBefore = 0
		e.scheduler.enter(h, e.clock.Now())
	}
	e.mu.Unlock()
	for i, x := range e.turn(5000).Tasks {
		require.Equalf(t, fmt.Sprintf("/n/%d", i), x.URL.Path(), "task %d", i)
	}
}

func TestImport_FaultNamesItemLeavesNoFile(t *testing.T) {
	change := func(n int, f func(*frontier.Item)) func([]frontier.Item) []frontier.Item {
		return func(is []frontier.Item) []frontier.Item {
			f(&is[n-1])
			return is
		}
	}
	move := func(from, to int) func([]frontier.Item) []frontier.Item {
		return func(is []frontier.Item) []frontier.Item {
			is[from-1], is[to-1] = is[to-1], is[from-1]
			return is
		}
	}
	for name, c := range map[string]struct {
		spoil func([]frontier.Item) []frontier.Item
		want  string
	}{
		"cut off":           {func(is []frontier.Item) []frontier.Item { return is[:10] }, "after item 10 "},
		"nothing":           {func(is []frontier.Item) []frontier.Item { return nil }, "after item 0 "},
		"no head":           {func(is []frontier.Item) []frontier.Item { return is[1:] }, "item 1:"},
		"two heads":         {func(is []frontier.Item) []frontier.Item { return append(is[:1:1], is...) }, "item 2:"},
		"after the end":     {func(is []frontier.Item) []frontier.Item { return append(is, is[1]) }, "item 16:"},
		"seed after a blob": {move(3, 4), "item 4:"},
		"URL before host":   {move(6, 7), "item 6:"},
		"duplicate":         {func(is []frontier.Item) []frontier.Item { is[7] = is[6]; return is }, "item 8:"},
		"host twice":        {func(is []frontier.Item) []frontier.Item { is[8] = is[5]; return is }, "item 9:"},
		"fingerprint":       {change(8, func(i *frontier.Item) { i.URL.Print++ }), "item 8:"},
		"no such outcome":   {change(8, func(i *frontier.Item) { i.URL.Outcome = 99 }), "item 8:"},
		"empty item":        {change(5, func(i *frontier.Item) { *i = frontier.Item{} }), "item 5:"},
		"two in one":        {change(5, func(i *frontier.Item) { i.Seed = &frontier.Seed{} }), "item 5:"},
		"refused twice":     {change(14, func(i *frontier.Item) { i.Refused[1] = i.Refused[0] }), "item 14:"},
		"refused a URL":     {change(14, func(i *frontier.Item) { i.Refused[1] = 0 }), "item 14:"},
		"sum of refused":    {change(15, func(i *frontier.Item) { i.Totals.Strange++ }), "item 15:"},
		"short secret":      {change(1, func(i *frontier.Item) { i.Head.Secret = i.Head.Secret[1:] }), "item 1:"},
		"robots state":      {change(6, func(i *frontier.Item) { i.Host.Robots = make([]byte, frontier.MaxRobots+1) }), "item 6:"},
	} {
		path := filepath.Join(t.TempDir(), "frontier.db")
		err := repair.Import(path, from(c.spoil(items(t)), io.EOF))
		assert.Truef(t, err != nil && strings.Contains(err.Error(), c.want) && strings.Contains(err.Error(), path), "%s: error %v, want %q", name, err, c.want)
		left, _ := filepath.Glob(path + "*")
		assert.Truef(t, len(left) == 0, "%s: left %v", name, left)
	}
}

func TestImport_FailureKeepsExistingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frontier.db")
	broken := errors.New("line 7 is not JSON")
	err := repair.Import(path, from(items(t)[:6], broken))
	assert.Truef(t, errors.Is(err, broken) && strings.Contains(err.Error(), "item 7:"), "%v", err)
	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	assert.ErrorIs(t, repair.Import(path, from(items(t), io.EOF)), os.ErrExist)
	assert.Equal(t, "mine", string(read(t, path)), "the file has been changed")
}
