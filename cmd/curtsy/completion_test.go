package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
)

// What follows a word, as the completion of shells is told (":4" and so on).
const (
	filesToo = 0 // the shell offers files, too
	goesOn   = 6 // no files, and no space behind the word
	noFiles  = 4
)

// completed asks as a shell does. The last argument is the word to complete.
func completed(t *testing.T, args ...string) (words []string, then int) {
	t.Helper()
	r := shared(t, append([]string{"__complete"}, args...)...)
	r.want(t, cli.ExitDone)
	lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	then, err := strconv.Atoi(strings.TrimPrefix(lines[len(lines)-1], ":"))
	if err != nil {
		t.Fatalf("%q: %v", r.out, err)
	}
	for _, line := range lines[:len(lines)-1] {
		word, _, _ := strings.Cut(line, "\t")
		words = append(words, word)
	}
	return words, then
}

// crawlsAtHand makes a place with crawls in it, "news" and "new year", and a folder and a file that are none.
func crawlsAtHand(t *testing.T) (place string) {
	t.Helper()
	web := crawltest.New(crawltest.Tree("bakery.test", 2), crawltest.Tree("library.test", 2))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	place = t.TempDir()
	t.Chdir(place)
	shared(t, "crawl", "--quiet", "--delay", "0", "--max-pages", "1", "--dir", "news", web.LoopbackURL("bakery.test"), web.LoopbackURL("library.test")).want(t, cli.ExitDone)
	if err := os.CopyFS("new year", os.DirFS("news")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join("newer", "old news"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("newest", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return place
}

func TestCompletionOffersWhatMayStandNext(t *testing.T) {
	crawlsAtHand(t)
	hosts, _ := completed(t, "frontier", "ls", "news", "--host", "")
	if len(hosts) != 2 || !strings.HasPrefix(hosts[0], "127.0.0.1:") {
		t.Fatalf("hosts %q", hosts)
	}
	origins := []string{"http://" + hosts[0] + "/", "http://" + hosts[1] + "/"}
	for _, tt := range []struct {
		line string // words between spaces; the last is to be completed
		want string // likewise, with ~ for a space in a word
		then int
	}{
		{"stat", "status", noFiles},
		{"comp", "completion", noFiles},
		{"help fr", "frontier", noFiles},
		{"help frontier rep", "repair", noFiles},
		{"completion ", "bash zsh fish powershell", noFiles},
		{"completion bash ", "", noFiles},
		{"status ", "new~year news", filesToo},
		{"status news", "news", filesToo},
		{"status newe", "", filesToo},
		{"status ./ne", "./new~year ./news", filesToo},
		{"status news ", "", noFiles},
		{"resume ne", "new~year news", filesToo},
		{"export news ne", "new~year news", filesToo},
		{"frontier drop news ", strings.Join(origins, " "), goesOn},
		{"frontier pause --host ", "", noFiles}, // the crawl directory is not given yet
		{"frontier pause news --host " + hosts[0], hosts[0], noFiles},
		{"frontier pause news --host=" + hosts[0], hosts[0], noFiles},
		{"frontier pause news --host example", "", noFiles},
		{"report news --host ", strings.Join(hosts, " "), noFiles},
		{"ledger prove news --host ", strings.Join(hosts, " "), noFiles},
		{"explain news ", strings.Join(origins, " "), goesOn},
		{"explain news http://127", strings.Join(origins, " "), goesOn},
		{"explain newer http", "", noFiles}, // no crawl
		{"redact news 127", strings.Join(hosts, " "), noFiles},
		{"redact news http://", strings.Join(origins, " "), goesOn},
		{"optout add news ", strings.Join(hosts, " "), noFiles},
		{"audit ", "", filesToo},
		{"robots lint ", "", filesToo},
		{"robots check --file x http", "", noFiles},
		{"warc cat ", "", filesToo},
		{"warc cat --url ", "", noFiles},
		{"crawl --scope ", "host domain prefix seeds any", noFiles},
		{"crawl --scope=d", "domain", noFiles},
		{"crawl --robots-standard r", "rfc9309", noFiles},
		{"crawl --page-requisites ", "none scope host all script all,script", noFiles},
		{"crawl --order ", "breadth depth", noFiles},
		{"crawl --trap que", "queries=", goesOn},
		{"crawl --follow-rel nofollow,u", "nofollow,ugc", goesOn},
		{"crawl --follow f", "feed", goesOn},
		{"crawl --stop-when dup", "duplicates>", goesOn},
		{"crawl --config ", "", filesToo},
		{"crawl --agent ", "", noFiles},
		{"crawl http", "", noFiles},
		{"crawl --max-pag", "--max-pages", noFiles},
		{"mirror re", "rebuild", noFiles},
		{"export --format gr", "graphml", noFiles},
		{"export --graph ", "pages hosts domains", noFiles},
		{"export --tables pages,ho", "pages,hosts", goesOn},
		{"export --tables pages,pa", "", noFiles}, // once is enough
		{"frontier ls --outcome f", "fetched failed", noFiles},
		{"frontier ls --state re", "retired refused", noFiles},
		{"frontier ls --state ", "open parked retired refused held pending done queued deferred closed", noFiles},
		{"frontier release --trap q", "queries", noFiles},
		{"audit --rules ", "standards curtsy", noFiles},
		{"version ", "", noFiles},
	} {
		words, then := completed(t, strings.Split(tt.line, " ")...)
		want := strings.Fields(tt.want)
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "~", " ")
		}
		if !slices.Equal(words, want) || then != tt.then {
			t.Errorf("%q: %q then %d, want %q then %d", tt.line, words, then, want, tt.then)
		}
	}
}

// Every command that takes a crawl directory first completes one, and no other does. A command is asked by its usage line,
// so one that is added is in.
func TestCompletionOfEveryCommandOffersCrawlsWhereItTakesOne(t *testing.T) {
	crawlsAtHand(t)
	n := 0
	for _, c := range commands(t) {
		path := strings.Fields(c.CommandPath())[1:]
		words, then := completed(t, append(slices.Clone(path), "")...)
		takes := strings.Fields(strings.NewReplacer("[flags]", "", "[--json]", "").Replace(c.UseLine()))[1+len(path):]
		first := len(takes) > 0 && strings.HasPrefix(strings.TrimPrefix(takes[0], "["), "DIR")
		if offered := slices.Contains(words, "news"); offered != first {
			t.Errorf("%s: offers %q, then %d", c.UseLine(), words, then)
		}
		if first {
			n++
		}
	}
	if n < 20 {
		t.Errorf("only %d commands take a crawl directory", n)
	}
}

// The frontier of a running crawl belongs to it: the crawl is asked.
func TestCompletionAsksARunningCrawlForItsHosts(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	cmd := curtsy(t, "crawl", "--quiet", "--dir", dir, seed)
	wait := begun(t, cmd)
	eventually(t, "a control file", func() bool {
		_, err := control.Connect(t.Context(), dir)
		return err == nil
	})
	words, then := completed(t, "explain", dir, "")
	if len(words) != 1 || words[0] != seed || then != goesOn {
		t.Errorf("%q then %d, want %s", words, then, seed)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wait()
	if words, _ = completed(t, "explain", dir, ""); len(words) != 1 {
		t.Errorf("killed: %q", words)
	}
}

// What others planted in a folder does nothing to who presses a key there.
func TestCompletionIsSilentAboutWhatIsDamagedOrHostile(t *testing.T) {
	place := t.TempDir()
	t.Chdir(place)
	for _, name := range []string{"esc\x1b[2J", "bad"} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Skip(err) // Windows has no such names
		}
		if err := os.WriteFile(filepath.Join(name, crawldir.FrontierName), []byte("no frontier"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if words, _ := completed(t, "status", ""); !slices.Equal(words, []string{"bad"}) {
		t.Errorf("%q", words)
	}
	if words, then := completed(t, "explain", "bad", ""); len(words) > 0 || then != noFiles {
		t.Errorf("%q then %d", words, then)
	}
}
