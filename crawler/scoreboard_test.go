package crawler

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/scoreboard"
	"curtsy/crawler/fetch"
	"curtsy/crawler/scope"
)

// The scoreboard in virtual time: every row is shown, and kept. The same over sockets, and beside other crawlers, is in
// cmd/curtsy.
func TestScoreboardEveryRowIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of MiB over pipes: slow under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		board := scoreboard.New("", false)
		const seed = "http://index.test/"
		w := newWorldOf(t, []string{seed}, board.Web)
		w.cfg.MaxWait = 25 * time.Second
		w.cfg.Scope = scope.Config{Mode: scope.ModeAny}
		id := fetch.Identity{Version: "1", Contact: "https://crawler.example/about"}
		var signer fetch.Signer
		signer, board.Keys = signing(t)
		f, err := fetch.New(fetch.Config{
			Identity: id, Signer: signer, Resolve: board.Resolve, Dial: board.Dial, AllowNet: []netip.Prefix{board.Net()},
			MaxBody: 16 << 20, SpoolDir: t.TempDir(),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		w.cfg.Fetcher, w.cfg.Identity = f, id
		w.run()
		score := board.Judge(scoreboard.Ending{Shown: true})
		if len(score.Rows) < 40 {
			t.Errorf("only %d rows", len(score.Rows))
		}
		for _, row := range score.Rows {
			if row.Verdict != crawltest.Kept {
				t.Errorf("%d %s: %s: %s", row.Number, row.Rule, row.Verdict, row.Evidence)
			}
		}
		if score.Elapsed > 2*time.Minute || score.Requests > 200 {
			t.Errorf("%d requests in %v: too many for a scoreboard", score.Requests, score.Elapsed)
		}
		var b strings.Builder
		if err := score.WriteTable(&b); err != nil {
			t.Fatal(err)
		}
		t.Log("\n" + b.String())
	})
}
