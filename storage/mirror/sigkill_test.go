//go:build unix

package mirror

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// killedVariable makes the test binary build one mirror and end: the crawl directory.
const killedVariable = "CURTSY_TEST_MIRROR_OF"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedVariable); dir != "" {
		a, err := CrawlArchive(dir)
		if err == nil {
			_, err = Build(context.Background(), Options{Archive: a, Dir: dir, Fresh: true, hasty: true})
		}
		if err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A process that is killed at any instant leaves a whole tree.
func TestAKillLeavesAWholeTree(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills processes")
	}
	rounds := 6
	if os.Getenv("CURTSY_LONG") != "" {
		rounds = 50
	}
	dir := t.TempDir()
	all := small()
	for i := range 40 {
		all = append(all, got{url: "http://a.test/more/" + hashOf(string(rune(i)))[:6], body: "<a href=/>up</a>"})
	}
	crawled(t, dir, all...)
	built(t, options(t, dir))
	before := treeOf(t, Tree(dir))
	crawled(t, dir, got{url: "http://a.test/Page", body: "another <a href=new>page</a>", second: 90}, got{url: "http://a.test/new", body: "new", second: 90})
	begun := time.Now()
	require.NoError(t, killed(dir).Run())
	takes := time.Since(begun)
	after := treeOf(t, Tree(dir))
	for range rounds {
		restore(t, dir, before)
		c := killed(dir)
		require.NoError(t, c.Start())
		kill := time.AfterFunc(time.Duration(rand.Int64N(int64(takes)+1)), func() { c.Process.Kill() })
		c.Wait()
		kill.Stop()
		if tree := treeOf(t, Tree(dir)); !maps.Equal(tree, before) && !maps.Equal(tree, after) {
			t.Fatal("the tree is neither the old one nor the new one")
		}
		built(t, options(t, dir))
		mustBeEqual(t, "after a kill", after, treeOf(t, Tree(dir)))
	}
}

func killed(dir string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), killedVariable+"="+dir)
	return c
}
