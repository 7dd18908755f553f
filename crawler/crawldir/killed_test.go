package crawldir

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler"
	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/frontier/frontiertest"
	"curtsy/storage/ledger"
)

// ownLocks gives the test its own host locks, because a later test may reuse a port.
func ownLocks(t *testing.T) {
	t.Helper()
	cache := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, cache)
	}
}

// busy is a web with one host that answers 503 with Retry-After.
func busy(t *testing.T, rest time.Duration) *crawltest.Web {
	t.Helper()
	ownLocks(t)
	return served(t, &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/": {FailFirst: 99, FailStatus: http.StatusServiceUnavailable, RetryAfter: strconv.Itoa(int(rest.Seconds()))},
	}})
}

// killed returns the directory of a crawl killed between two commits: the frontier lacks the response.
func killed(t *testing.T, web *crawltest.Web) (dir string) {
	t.Helper()
	s := Defaults()
	s.Delay, s.MaxWait = 0, time.Second
	dir = created(t, &s, web.LoopbackURL("bakery.test"))
	killedRun(t, dir, nil, Options{})
	return dir
}

// killedRun runs a crawl, and restores its frontier from before the run.
func killedRun(t *testing.T, dir string, s *Settings, o Options) {
	t.Helper()
	var before []byte
	o.Settings = s
	o.Attend = func(ctx context.Context, start Start) (crawler.Summary, error) {
		var err error
		before, err = os.ReadFile(in(dir, FrontierName))
		require.NoError(t, err)
		return start.Crawl.Run(ctx)
	}
	_, err := Run(t.Context(), dir, o)
	if err == nil {
		err = os.WriteFile(in(dir, FrontierName), before, 0o600)
	}
	require.NoError(t, err)
}

func TestARestBeforeAKillOutlivesAnOperator(t *testing.T) {
	for name, operate := range map[string]func(f Stopped) error{
		"nobody": nil,
		"retry": func(f Stopped) error {
			_, err := f.Retry(t.Context(), frontier.Retrial{Outcome: frontier.Failed})
			return err
		},
		"a look": func(Stopped) error { return nil },
	} {
		web := busy(t, time.Hour)
		dir := killed(t, web)
		asked := len(web.Referee().Requests())
		for range 2 {
			if operate == nil {
				break
			}
			f, err := OpenStopped(t.Context(), dir, nil)
			require.NoError(t, err)
			assert.NoError(t, operate(f), name)
			require.NoError(t, f.Close())
		}
		r, err := Run(t.Context(), dir, Options{})
		require.NoError(t, err)
		assert.Equalf(t, crawler.EndedWaiting, r.EndedBy, "%s: ended by %s, %v", name, r.EndedBy, err)
		assert.Emptyf(t, web.Referee().Requests()[asked:], "%s: requests during the backoff", name)
	}
}

// A killed crawl with a spent budget can be updated. Only its ledger has the back-off.
func TestARestBeforeAKillOutlivesAnUpdate(t *testing.T) {
	ownLocks(t)
	web := served(t, &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/":     {Links: []string{"/busy"}},
		"/busy": {FailFirst: 99, FailStatus: http.StatusServiceUnavailable, RetryAfter: "3600"},
	}})
	s := Defaults()
	s.Delay, s.MaxWait, s.MaxPages = 0, time.Second, 1
	dir := created(t, &s, web.LoopbackURL("bakery.test"))
	ran(t, dir, Options{})
	more := s
	more.MaxPages = 2
	killedRun(t, dir, &more, Options{})
	asked := len(web.Referee().Requests())
	require.Equal(t, "/busy", web.Referee().Requests()[asked-1].Target, "the last request of the killed run")
	require.NoError(t, one(Update(t.Context(), dir, &s, &s)))
	r, err := Run(t.Context(), dir, Options{})
	assert.Truef(t, err == nil && r.EndedBy == crawler.EndedWaiting && r.Status.Exchanges == 0, "ended by %s after %d exchanges, %v", r.EndedBy, r.Status.Exchanges, err)
	assert.Empty(t, web.Referee().Requests()[asked:], "requests during the backoff")
}

func TestRule15_PagesBeforeAKillCount(t *testing.T) {
	for name, budget := range map[string]func(s *Settings, most int64){
		"max-pages":    func(s *Settings, most int64) { s.MaxPages = most },
		"max-per-host": func(s *Settings, most int64) { s.MaxPerHost = most },
	} {
		web, s := served(t, crawltest.Tree("bakery.test", 9)), Defaults()
		s.Delay, s.MaxWait = 0, time.Minute
		budget(&s, 2)
		dir := created(t, &s, web.LoopbackURL("bakery.test"))
		killedRun(t, dir, nil, Options{}) // two pages, which the frontier lacks
		pages := func() (n int) {
			for _, r := range web.Referee().Requests() {
				if r.Target != "/robots.txt" {
					n++
				}
			}
			return n
		}
		for _, most := range []int{2, 3, 3} {
			budget(&s, int64(most))
			r, err := Run(t.Context(), dir, Options{Settings: &s})
			if err != nil || pages() != most || r.Status.Pages != int64(most) {
				t.Errorf("%s %d: ended by %s with %d pages, requested %d, %v", name, most, r.EndedBy, r.Status.Pages, pages(), err)
			}
		}
		_, err := Update(t.Context(), dir, &s, &s)
		assert.NoErrorf(t, err, "%s: update: %v", name, err)
	}
}

func TestAKilledUpdateCountsItsOwnExchanges(t *testing.T) {
	dir := crawled(t, crawltest.Tree("bakery.test", 20))
	s, err := ReadSettings(dir)
	require.NoError(t, err)
	s.MaxPages = 2
	require.NoError(t, one(Update(t.Context(), dir, nil, &s)))
	var image []byte // of the frontier, as a kill at the end of the run would leave it
	once, err := Run(t.Context(), dir, Options{Attend: func(ctx context.Context, start Start) (crawler.Summary, error) {
		summary, err := start.Crawl.Run(ctx)
		var unread error
		image, unread = os.ReadFile(in(dir, FrontierName))
		require.True(t, unread == nil, unread)
		return summary, err
	}})
	if err == nil {
		err = os.WriteFile(in(dir, FrontierName), image, 0o600)
	}
	require.NoError(t, err)
	s.MaxPages = 3
	again, err := Run(t.Context(), dir, Options{Settings: &s})
	if err != nil || again.Status.Exchanges != once.Status.Exchanges+1 {
		t.Errorf("%d exchanges, want those %d that the update made, and one: %v", again.Status.Exchanges, once.Status.Exchanges, err)
	}
}

// A kill may come between a file and its mark.
func TestMarks_AreCompletedAfterAKill(t *testing.T) {
	for name, goOn := range map[string]func(dir string) error{
		"a run": func(dir string) error {
			_, err := Run(t.Context(), dir, Options{})
			return err
		},
		"an operator": func(dir string) error {
			f, err := OpenStopped(t.Context(), dir, nil)
			if err != nil {
				return err
			}
			return errors.Join(f.tell(t.Context(), nil, func(*evidence) error { return nil }), f.Close())
		},
	} {
		dir := crawled(t, crawltest.Tree("bakery.test", 5))
		segment := in(dir, LedgerName+"/000000.jsonl")
		b, err := os.ReadFile(segment)
		require.NoError(t, err)
		cut := bytes.Index(b, []byte(`{"mark":"file"`)) // of the archive's file; that of the index follows
		require.GreaterOrEqualf(t, cut, 0, "no mark of a file in %s", b)
		size := bytes.Count(b[:cut], []byte("\n"))
		require.NoError(t, os.WriteFile(segment, b[:cut], 0o600))
		uncommit(t, dir, size)
		for range 2 {
			require.NoError(t, goOn(dir), name)
			b, err = os.ReadFile(segment)
			require.NoError(t, err)
			for _, file := range []string{"warc/curtsy-00000.warc.gz", "index/curtsy-00000.cdxj"} {
				n := bytes.Count(b, []byte(`"name":"`+file+`"`))
				assert.Truef(t, n == 1, "%s: %d marks of %s", name, n, file)
			}
		}
	}
}

// uncommit removes the checkpoints of more than size entries.
func uncommit(t *testing.T, dir string, size int) {
	t.Helper()
	all, err := Entries(ledger.CheckpointFolderOf(in(dir, LedgerName)), "", "")
	require.NoError(t, err)
	var last string
	for _, path := range all {
		n, err := strconv.Atoi(filepath.Base(path))
		require.NoError(t, err)
		if n <= size {
			last = path
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(last)
	if err == nil {
		err = os.WriteFile(in(dir, LedgerName+"/"+ledger.CheckpointName), b, 0o600)
	}
	keepHeads(dir, func(n Note) { t.Error(n.Text) })(b) // the copy beside the key follows the checkpoint
	require.NoError(t, err)
}

// KeepRests never changes the length of a back-off, and adds no unknown host that is to be forgotten.
func TestRule17_KeepRestsOutlivesTheLines(t *testing.T) {
	for _, c := range []struct {
		name  string
		clean bool // the stop; the frontier is then complete
		lost  bool // the frontier lacks the host
		gone  []string
		known bool // in the end
		want  time.Duration
	}{
		{"after a kill", false, false, nil, true, time.Hour},
		{"of a host that is to be forgotten, and that the frontier knows", false, false, []string{"127.0.0.1"}, true, time.Hour},
		{"of a host that the frontier does not know", false, true, []string{"a.test"}, true, time.Hour},
		{"of one that is to be forgotten", false, true, []string{"127.0.0.1"}, false, 0},
		{"after a clean stop", true, false, nil, true, 0},
	} {
		web := busy(t, time.Hour)
		dir := killed(t, web)
		if c.clean {
			f, err := OpenStopped(t.Context(), dir, nil)
			if err == nil {
				err = f.Close()
			}
			if err == nil { // the stop remains unclean: a run has to follow
				_, err = Run(t.Context(), dir, Options{})
			}
			require.NoError(t, err)
		}
		f, err := OpenStopped(t.Context(), dir, nil)
		require.NoError(t, err)
		if c.lost {
			require.NoError(t, f.Close())
			file := filepath.Join(t.TempDir(), engine.FileName)
			m, err := frontiertest.OpenMortal(engine.Open, file, frontier.Options{})
			require.NoError(t, err)
			m.Kill()
			f.Frontier, err = engine.Open(file, frontier.Options{})
			require.NoError(t, err)
		}
		u, err := canon.Parse(web.LoopbackURL("bakery.test"))
		require.NoError(t, err)
		before, _, err := f.Host(t.Context(), u.Authority())
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, f.KeepRests(t.Context(), c.gone))
		}
		h, known, err := f.Host(t.Context(), u.Authority())
		assert.Truef(t, err == nil && known == c.known && h.Hold.Act == 0, "%s: known %v, held by %d, %v", c.name, known, h.Hold.Act, err)
		if c.want == 0 && h.Wait > before.Wait || c.want > 0 && (h.Wait > c.want || h.Wait < c.want-time.Minute) {
			t.Errorf("%s: it waits %v, and %v before; want %v", c.name, h.Wait, before.Wait, c.want)
		}
		require.NoError(t, f.Close())
	}
}
