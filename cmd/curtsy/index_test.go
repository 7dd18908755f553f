package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage"
	"curtsy/storage/cdxj"
)

// indexText reads the files of an index.
func indexText(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := cdxj.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text[filepath.Base(path)] = string(b)
	}
	return text
}

// indexHolds checks that the index of a closed crawl is what its archive gives.
func indexHolds(t *testing.T, dir string) {
	t.Helper()
	anew := t.TempDir()
	if err := cdxj.Rebuild(t.Context(), inDir(dir, crawldir.ArchiveName), anew, nil); err != nil {
		t.Fatal(err)
	}
	if kept, want := indexText(t, inDir(dir, crawldir.IndexName)), indexText(t, anew); !maps.Equal(kept, want) {
		t.Errorf("the index is\n%v\nthe archive gives\n%v", kept, want)
	}
}

func TestACrawlKeepsAnIndexThatCanBeMadeAnew(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, seed).want(t, cli.ExitDone)
	kept := indexText(t, inDir(dir, crawldir.IndexName))
	if len(kept) != 1 || strings.Count(kept["curtsy-00000.cdxj"], "\n") < 4 {
		t.Fatalf("%v", kept)
	}
	indexHolds(t, dir)
	printed := inside(t, "warc", "index", filepath.Join(dir, crawldir.ArchiveName, "curtsy-00000.warc.gz"))
	if printed.want(t, cli.ExitDone); printed.out != kept["curtsy-00000.cdxj"] {
		t.Errorf("printed\n%s\nkept\n%s", printed.out, kept)
	}
	for _, damage := range []func() error{
		func() error { return os.RemoveAll(inDir(dir, crawldir.IndexName)) },
		func() error {
			return os.WriteFile(filepath.Join(dir, crawldir.IndexName, "curtsy-00000.cdxj"), []byte("nonsense\n"), 0o600)
		},
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if r := inside(t, "warc", "index", dir); r.out != "" {
			t.Errorf("it says %q", r.out)
		}
		if again := indexText(t, inDir(dir, crawldir.IndexName)); !maps.Equal(kept, again) {
			t.Errorf("made anew\n%v\nkept\n%v", again, kept)
		}
	}
	if err := os.RemoveAll(inDir(dir, crawldir.IndexName)); err != nil { // as in a directory of an older version
		t.Fatal(err)
	}
	inside(t, "resume", dir).want(t, cli.ExitDone, inDir(dir, crawldir.IndexName)+" is missing: rebuilding it")
	if again := indexText(t, inDir(dir, crawldir.IndexName)); !maps.Equal(kept, again) {
		t.Errorf("made by resume\n%v\nkept\n%v", again, kept)
	}
}

// However the earlier crawl is named, an answer that it has is a revisit now.
func TestDedupRefersToTheEarlierCrawl(t *testing.T) {
	t.Parallel()
	text := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
	once := storage.Record{
		URL: "http://bakery.test/", Time: time.Now(), Request: []byte("GET / HTTP/1.1\r\n\r\n"), Repeatable: true,
		Response: io.NewSectionReader(strings.NewReader(text+"bread"), 0, int64(len(text))+5), HeadSize: int64(len(text)),
		PayloadDigest: sha256.Sum256([]byte("bread")), PayloadSize: 5, HasPayload: true,
	}
	archived := func(earlier ...string) (dir, media string) {
		dir, _ = stopped(t)
		s, err := crawldir.ReadSettings(dir)
		if err != nil {
			t.Fatal(err)
		}
		s.Dedup = earlier
		d, err := crawldir.Open(t.Context(), dir, crawldir.Options{Settings: &s})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Archive.Record(t.Context(), once)
		if err = errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
		files, err := cdxj.Files(inDir(dir, crawldir.IndexName))
		if err != nil {
			t.Fatal(err)
		}
		for l, err := range cdxj.Lookup(files, once.URL) {
			if err != nil {
				t.Fatal(err)
			}
			media = l.Mime
		}
		indexHolds(t, dir)
		return dir, media
	}
	first, media := archived()
	if media != "text/html" {
		t.Fatalf("the first is %q", media)
	}
	for _, earlier := range []string{first, inDir(first, crawldir.IndexName)} {
		if dir, media := archived(earlier); media != "warc/revisit" || !strings.Contains(archiveText(t, dir), "WARC-Refers-To-Target-URI: "+once.URL) {
			t.Errorf("--dedup %s: it is archived as %q", earlier, media)
		}
	}
	if _, media := archived(first, first); media != "warc/revisit" { // twice is no harm
		t.Errorf("it is archived as %q", media)
	}
}

func TestDedupSaysWhatItCannotUse(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	old := filepath.Join(t.TempDir(), "old.cdxj")
	if err := os.WriteFile(old, []byte(`test,a)/ 20260304050607 {"url":"http://a.test/","digest":"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inside(t, "crawl", "--delay", "0", "--dedup", old, "--dir", filepath.Join(t.TempDir(), "d"), seed).want(t, cli.ExitDone, "1 captures have a digest that is no SHA-256")
	dir := filepath.Join(t.TempDir(), "kept")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dedup", old, "--dir", dir, seed).want(t, cli.ExitDone)
	if b, err := os.ReadFile(inDir(dir, crawldir.ConfigName)); err != nil || !bytes.Contains(b, []byte(old)) {
		t.Errorf("resume would not know of it: %s %v", b, err)
	}
	empty := t.TempDir()
	inside(t, "crawl", "--dedup", empty, seed).want(t, cli.ExitUsage, "--dedup "+empty, "no CDXJ file in it", "curtsy warc index")
	inside(t, "crawl", "--dedup", old+".none", seed).want(t, cli.ExitUsage, "--dedup", "there is no ")
}

func TestWarcIndexRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	dir, _ := stopped(t)
	inside(t, "warc", "index").want(t, cli.ExitUsage, "takes a crawl directory, or WARC files")
	inside(t, "warc", "index", dir, dir).want(t, cli.ExitUsage, "one crawl directory")
	inside(t, "warc", "index", t.TempDir()).want(t, cli.ExitUsage, "holds no crawl")
	inside(t, "warc", "index", dir+".none").want(t, cli.ExitUsage, "there is no ")
	inside(t, "warc", "index", inDir(dir, crawldir.ConfigName)).want(t, cli.ExitFailed, crawldir.ConfigName)
}

func TestDedup_WhatAnEarlierCrawlHasIsReferredTo(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	parent := t.TempDir()
	first := filepath.Join(parent, "first")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", first, seed).want(t, cli.ExitDone)
	for name, earlier := range map[string]string{"directory": first, "file": filepath.Join(first, crawldir.IndexName, "curtsy-00000.cdxj")} {
		dir := filepath.Join(parent, name)
		inside(t, "crawl", "--quiet", "--delay", "0", "--dedup", earlier, "--dir", dir, seed).want(t, cli.ExitDone)
		pages, revisits := 0, 0
		for _, text := range indexText(t, inDir(dir, crawldir.IndexName)) {
			for line := range strings.Lines(text) {
				l, err := cdxj.ParseLine([]byte(line))
				switch {
				case err != nil:
					t.Fatal(err)
				case l.Mime == "warc/revisit":
					revisits++
				case l.Mime == "text/html":
					pages++
				}
			}
		}
		if pages != 0 || revisits < 3 {
			t.Errorf("%s: %d pages archived again, %d revisits", name, pages, revisits)
		}
		indexHolds(t, dir)
	}
}

// The run that follows a kill is to know of it, also when the index was made anew in between.
func TestAnIndexMadeAnewLeavesAKillToTheNextRun(t *testing.T) {
	t.Parallel()
	dir, _ := crawledOnce(t, crawltest.Tree("bakery.test", 2))
	path := filepath.Join(dir, crawldir.FrontierName)
	f, err := engine.Open(path, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	killed, err := os.ReadFile(path)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.WriteFile(path, killed, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	inside(t, "warc", "index", dir).want(t, cli.ExitDone)
	var status struct{ Killed bool }
	decoded(t, &status, "status", dir)
	if !status.Killed {
		t.Error("the kill is forgotten")
	}
}
