package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
	"curtsy/crawler/crawltest"
)

// paced is a crawl in another process until the test ends, with one request in 200 ms.
func paced(t *testing.T) (dir string, web *crawltest.Web, end func() result) {
	t.Helper()
	needsSignals(t)
	web = webOf(t, crawltest.Tree("bakery.test", 3000))
	dir = filepath.Join(t.TempDir(), "d")
	cmd := curtsy(t, "crawl", "--delay", "200ms", "--max-wait", "5h", "--dir", dir, web.LoopbackURL("bakery.test"))
	p := launched(t, cmd)
	t.Cleanup(func() { p.kill() })
	end = func() result {
		cmd.Process.Signal(syscall.SIGTERM)
		return p.end()
	}
	eventually(t, "two requests, and an answer", func() bool {
		_, err := control.Ask(t.Context(), dir)
		return err == nil && len(web.Referee().Requests()) >= 3
	})
	return dir, web, end
}

func exported(t *testing.T, dir string) []byte {
	t.Helper()
	r := inside(t, "frontier", "export", dir)
	r.want(t, cli.ExitDone, "the crawl's secret")
	return []byte(r.out)
}
