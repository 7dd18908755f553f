package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
)

// An empty directory that exists is used as it is: it may be a mount point, a symbolic link, or where the user is.
func TestAnEmptyDirectoryIsUsedInPlace(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	here := curtsy(t, "crawl", "--quiet", "--delay", "0", "--dir", ".", seed)
	here.Dir = t.TempDir()
	ended(t, here).want(t, cli.ExitDone)
	reopened(t, here.Dir)
	names, err := os.ReadDir(here.Dir)
	if err != nil || len(names) != 5 {
		t.Errorf("the directory holds %v, %v", names, err)
	}
	if runtime.GOOS == "windows" {
		return // links need a privilege
	}
	target, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", link, seed).want(t, cli.ExitDone)
	reopened(t, target)
}

// stopped is a crawl that a budget ended.
func stopped(t *testing.T) (dir string, web *crawltest.Web) {
	t.Helper()
	web = crawltest.New(crawltest.Tree("bakery.test", 5))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir = filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--workers", "1", "--max-pages", "2", "--dir", dir, web.LoopbackURL("bakery.test")).want(t, cli.ExitDone)
	return dir, web
}

// What is missing of a crawl is not made anew in silence: the evidence would be gone and nobody would know.
func TestResumeRefusesADirectoryThatLacksAPart(t *testing.T) {
	t.Parallel()
	for _, part := range []string{crawldir.ArchiveName, crawldir.LedgerName, crawldir.ConfigName} {
		dir, web := stopped(t)
		before := len(web.Referee().Requests())
		if err := os.RemoveAll(inDir(dir, part)); err != nil {
			t.Fatal(err)
		}
		r := inside(t, "resume", dir)
		r.want(t, r.code, inDir(dir, part), "put it back")
		if r.code != cli.ExitFailed && r.code != cli.ExitUsage {
			t.Errorf("without %s: exit code %d", part, r.code)
		}
		if _, err := os.Stat(inDir(dir, part)); err == nil {
			t.Errorf("%s was made anew", part)
		}
		if n := len(web.Referee().Requests()); n > before {
			t.Errorf("without %s: %d requests", part, n-before)
		}
	}
}

// The second to open a directory is refused before it touches anything: the first has bodies under way there.
func TestARefusedResumeLeavesTheRunningCrawlAlone(t *testing.T) {
	t.Parallel()
	dir, _ := stopped(t)
	defer openedDir(t, dir).Close()
	body := filepath.Join(dir, crawldir.SpoolName, "body")
	if err := os.WriteFile(body, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inside(t, "resume", dir).want(t, cli.ExitFailed, "another process has the frontier open")
	if _, err := os.Stat(body); err != nil {
		t.Errorf("the body under way is gone: %v", err)
	}
}

func TestResumeOfAFinishedCrawlSaysSoAndAsksNothing(t *testing.T) {
	t.Parallel()
	seed, web := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, seed).want(t, cli.ExitDone)
	before := len(web.Referee().Requests())
	archive := archiveText(t, dir)
	inside(t, "resume", dir).want(t, cli.ExitDone, dir+" is finished: nothing is left to do")
	r := inside(t, "resume", "--json", "-q", dir)
	if r.want(t, cli.ExitDone); !strings.Contains(r.out, `"state": "finished"`) || r.err != "" {
		t.Errorf("%+v", r)
	}
	if n := len(web.Referee().Requests()); n > before {
		t.Errorf("%d requests", n-before)
	}
	if archiveText(t, dir) != archive {
		t.Error("the archive was changed")
	}
}

// A control file that a kill left behind, or that is damaged, does not hide the frontier.
func TestStatusDoesNotTrustTheControlFile(t *testing.T) {
	t.Parallel()
	dir, _ := stopped(t)
	for _, text := range []string{"", "{", `{"address":"127.0.0.1:1","token":"x"}`} {
		if err := os.WriteFile(inDir(dir, "control.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := inside(t, "status", dir); r.code != 0 || !strings.Contains(r.out, "stopped") {
			t.Errorf("%q: %+v", text, r)
		}
	}
	if err := os.Remove(inDir(dir, "control.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(inDir(dir, "control.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r := inside(t, "status", dir); r.code != 0 || !strings.Contains(r.out, "stopped") {
		t.Errorf("a directory: %+v", r)
	}
}

func TestTheDirectoryInAHintCanBePasted(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"news": "news", "a/b-c_1.2": "a/b-c_1.2", "a b": "'a b'", "it's": `'it'\''s'`, "-x": "./-x", "": "''", "~x": "'~x'",
	} {
		if got := word(dir); got != want {
			t.Errorf("%q: %s, want %s", dir, got, want)
		}
	}
}
