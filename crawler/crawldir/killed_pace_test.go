package crawldir

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler"
	"curtsy/crawler/crawltest"
	"curtsy/storage/audit"
	"curtsy/storage/audit/reconcile"
)

// After a kill the frontier lacks the last requests, but the next run keeps its delays (politeness rules 9 and 17): at least a
// second for third-party hosts, and a longer --delay even if that of the killed run was shorter.
func TestRule17_TheRunAfterAKillKeepsThePaceOfItsSettings(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after time.Duration // --delay of the run that is killed, and of the next
		clean         bool          // the run before the killed one ended cleanly: the delay of the host is known
		least         time.Duration
	}{
		{"a foreign host, and a delay for own ones", 100 * time.Millisecond, 100 * time.Millisecond, false, crawler.Floor},
		{"none", 0, 0, false, crawler.Floor},
		{"a foreign host whose pace is known", 100 * time.Millisecond, 100 * time.Millisecond, true, crawler.Floor},
		{"longer than the floor", 3 * time.Second, 3 * time.Second, false, 3 * time.Second},
		{"made longer", time.Second, 5 * time.Second, true, 5 * time.Second},
		{"made shorter", 5 * time.Second, time.Second, false, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web, s, o := piped(t, crawltest.Tree("bakery.test", 9))
				s.Delay, s.MaxPages = c.before, 1
				dir := created(t, &s, "http://bakery.test/")
				if c.clean {
					ran(t, dir, o)
					s.MaxPages++
				}
				killedRun(t, dir, &s, o)
				asked := len(web.Referee().Requests())
				s.Delay = c.after
				s.MaxPages++
				o.Settings = &s
				ran(t, dir, o)
				all := web.Referee().Requests()
				require.Truef(t, asked != 0 && len(all) != asked, "%d requests before the kill, %d in all", asked, len(all))
				if gap := all[asked].Start.Sub(all[asked-1].End); gap < c.least || gap > c.least+time.Second {
					t.Errorf("%s came %v after the last request before the kill, want %v", all[asked].Target, gap, c.least)
				}
				audited(t, dir)
			})
		})
	}
}

// The delay of an address applies between runs even without the machine's host locks (politeness rules 10 and 17).
func TestRule17_TheNextRunKeepsThePaceOfAnAddress(t *testing.T) {
	for _, kill := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			web, s, o := piped(t, crawltest.Tree("bakery.test", 9), crawltest.Tree("bakery.test:8080", 9))
			s.IPDelay, s.MaxPages = 5*time.Second, 1
			dir := created(t, &s, "http://bakery.test/", "http://bakery.test:8080/")
			if kill {
				killedRun(t, dir, &s, o)
			} else {
				ran(t, dir, o)
			}
			asked := len(web.Referee().Requests())
			s.MaxPages++
			o.Settings = &s
			ran(t, dir, o)
			all := web.Referee().Requests()
			require.Truef(t, asked != 0 && len(all) != asked, "%d requests before the stop, %d in all", asked, len(all))
			if gap := all[asked].Start.Sub(all[asked-1].Start); gap < s.IPDelay {
				t.Errorf("killed: %v: %s of %s came %v after the last request before, want %v", kill, all[asked].Target, all[asked].Host, gap, s.IPDelay)
			}
		})
	}
}

func audited(t *testing.T, dir string) {
	t.Helper()
	temp := t.TempDir()
	book, err := reconcile.Open(t.Context(), reconcile.Options{Dir: in(dir, LedgerName), Root: dir, Settings: ConfigName, TempDir: temp})
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(in(dir, ArchiveName), "*.warc.gz*"))
	require.NoError(t, err)
	r, err := audit.Run(t.Context(), audit.Options{Files: files, Ours: true, TempDir: temp, Witnesses: []audit.Witness{book}})
	require.NoError(t, err)
	for _, f := range r.Findings {
		assert.Truef(t, f.Note, "the audit: %s of %s: required %s, observed %s", f.Code, f.URL, f.Required, f.Observed)
	}
}
