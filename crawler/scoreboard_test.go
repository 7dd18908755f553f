package crawler

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/scoreboard"
	"curtsy/crawler/fetch"
	"curtsy/crawler/scope"
)

// cmd/curtsy runs the scoreboard over sockets.
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
		w.cfg.Identity = id
		w.fetchBy(func(cfg *fetch.Config) {
			cfg.Identity, cfg.MaxBody = id, 16<<20
			cfg.Signer, board.Keys = signing(t)
		})
		w.run()
		score := board.Judge(scoreboard.Ending{Shown: true})
		assert.GreaterOrEqualf(t, len(score.Rows), 40, "only %d rows", len(score.Rows))
		for _, row := range score.Rows {
			assert.Equalf(t, crawltest.Kept, row.Verdict, "%d %s: %s: %s", row.Number, row.Rule, row.Verdict, row.Evidence)
		}
		if score.Elapsed > 2*time.Minute || score.Requests > 200 {
			t.Errorf("%d requests in %v: too many for a scoreboard", score.Requests, score.Elapsed)
		}
		var b strings.Builder
		require.NoError(t, score.WriteTable(&b))
		t.Log("\n" + b.String())
	})
}
