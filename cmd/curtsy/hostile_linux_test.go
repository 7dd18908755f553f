package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/scoreboard"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// A crawl of everything that misbehaves, over real sockets, ends in bounded memory.
func TestHostileWingInBoundedMemory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it measures memory")
	}
	const most = 256 << 20
	sites := scoreboard.Sites(2 * time.Second)
	web := crawltest.New(sites...)
	require.NoError(t, web.Start())
	defer func() { assert.NoError(t, web.Close()) }()
	args := []string{"crawl", "--quiet", "--delay", "0", "--max-wait", "1s", "--max-per-host", "100", "--dir", t.TempDir() + "/wing"}
	for _, s := range sites {
		args = append(args, web.LoopbackURL(s.Name))
	}
	cmd := curtsy(t, args...)
	held := tellingPeak(t, cmd)
	r := ended(t, cmd)
	r.want(t, cli.ExitIncomplete)
	peak := held()
	t.Logf("at most %d MiB", peak>>20)
	if (peak == 0 || peak > most) && !racing {
		t.Errorf("at most %d MiB in memory, want no more than %d", peak>>20, most>>20)
	}
	// Partial: a host that failed is in back-off for longer than --max-wait.
	report := web.Referee().Judge(crawltest.Rules{Partial: true})
	var table strings.Builder
	require.NoError(t, report.WriteTable(&table))
	if !report.OK() {
		t.Errorf("the referee:\n%s", &table)
	}
	for _, row := range report.Rows {
		if strings.HasPrefix(string(row.Rule), "hostile: ") && row.Verdict != crawltest.Kept {
			t.Errorf("%s: %s, %s", row.Rule, row.Verdict, row.Evidence)
		}
	}
}

// TestHostilePages_MemoryIsBounded crawls 24 hosts with a costly page each, and a sound one, then runs all commands that read
// bodies.
func TestHostilePages_MemoryIsBounded(t *testing.T) {
	if !full() {
		t.Skip("it takes minutes for each page; CURTSY_LONG=1 runs it")
	}
	const most = 100 << 20
	const between = 12 // costly pages settled between two pages of the sound host, at most
	for _, page := range hostilePages {
		t.Run(page.name, func(t *testing.T) {
			answer := crawltest.Say(strings.Replace(crawltest.Head("Content-Encoding: gzip"), htmlPage, page.kind, 1)+page.Gzip(), true)
			sites := []*crawltest.Site{crawltest.Tree("sound.test", 21)}
			for i := range 24 {
				sites = append(sites, &crawltest.Site{Name: fmt.Sprintf("h%d.test", i), Pages: map[string]crawltest.Page{"/": {Raw: answer}}})
			}
			web := crawltest.New(sites...)
			require.NoError(t, web.Start())
			defer func() { assert.NoError(t, web.Close()) }()
			dir, copied := t.TempDir()+"/crawl", t.TempDir()+"/mirror"
			crawl := []string{"crawl", "--quiet", "--delay", "0", "--max-per-host", "30", "--dir", dir}
			mirror := []string{"mirror", "--quiet", "--delay", "0", "--max-per-host", "30", "--dir", copied}
			for _, s := range sites {
				crawl, mirror = append(crawl, web.LoopbackURL(s.Name)), append(mirror, web.LoopbackURL(s.Name))
			}
			commands := [][]string{
				crawl,
				{"linkcheck", "--offline", dir},
				{"export", "--quiet", "-o", t.TempDir() + "/tables", dir},
				{"audit", "--quiet", dir},
				mirror,
				{"mirror", "rebuild", "--quiet", "--overwrite", copied},
			}
			for _, args := range commands {
				cmd := curtsy(t, args...)
				held := tellingPeak(t, cmd)
				began := time.Now()
				r := ended(t, cmd)
				if r.code != 0 && args[0] != "linkcheck" {
					t.Errorf("%s: exit code %d\n%s%.1000s", args[0], r.code, r.err, r.out)
				}
				peak := held()
				t.Logf("%s | %s | %d MiB | %v, CPU %v", page.name, args[0], peak>>20, time.Since(began).Round(100*time.Millisecond), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Round(100*time.Millisecond))
				if (peak == 0 || peak > most) && !racing {
					t.Errorf("%s: at most %d MiB in memory, want no more than %d", args[0], peak>>20, most>>20)
				}
			}
			for _, dir := range []string{dir, copied} {
				sound, costly := 0, 0
				for l, err := range ledger.Read(dir + "/ledger") {
					switch {
					case err != nil:
						t.Fatal(err)
					case l.Outcome != storage.OutcomeFetched:
					case !strings.HasPrefix(l.URL, web.LoopbackURL(sites[0].Name)):
						costly++
					default:
						if sound++; sound > 1 && costly > between {
							t.Errorf("%d costly pages were settled before %s of the sound host, after its previous page", costly, l.URL)
						}
						costly = 0
					}
				}
				if sound != len(sites[0].Pages) {
					t.Errorf("%d pages of the sound host were fetched, want %d", sound, len(sites[0].Pages))
				}
			}
		})
	}
}

// costlyPage is a document with more of one thing than any honest document.
type costlyPage struct {
	name, kind string // kind is its media type
	before     string
	part       string // with a verb for a number, or to fill 12 MiB
	n          int    // of parts
	after      string
}

const (
	htmlPage = "text/html; charset=utf-8"
	xhtml    = `<html xmlns="http://www.w3.org/1999/xhtml"><body`
)

func (p costlyPage) Gzip() string {
	text := numbered(p.part, p.n)
	if p.n == 0 {
		text = strings.Repeat(p.part, 12<<20/len(p.part))
	}
	if text = p.before + text + p.after; strings.HasPrefix(p.kind, "text/html") {
		text = "<!DOCTYPE html><title>x</title>" + text
	}
	if strings.HasSuffix(p.kind, "utf-16") {
		octets := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(text)) {
			octets = binary.LittleEndian.AppendUint16(octets, u)
		}
		text = string(octets)
	}
	return gzipped(text)
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

var hostilePages = []costlyPage{
	{"distinct attributes", htmlPage, "<p", " a%x", 1_700_000, ">"},
	{"elements of 4,000 attributes", htmlPage, "", "<p" + numbered(" a%d", 4000) + ">", 0, ""},
	{"attributes of two bytes", htmlPage, "", "<p" + numbered(" %x", 200) + ">", 0, ""},
	{"ids", htmlPage, "", "<p id=%x>", 1_000_000, ""},
	{"ids of five million elements", htmlPage, "", "<b id=%x>", 5_000_000, ""},
	{"names", htmlPage, "", "<a name=%x>", 900_000, ""},
	{"imports in a style", htmlPage, "<style>", "@import'%x';", 2_000_000, ""},
	{"URLs in a style", htmlPage, "<style>", "a{b:url(%x)}", 900_000, ""},
	{"styles in attributes", htmlPage, "", "<p style='a:url(%x)'>", 500_000, ""},
	{"links", htmlPage, "", "<a href=%x>", 900_000, ""},
	{"links to one page", htmlPage, "", "<a href=x>", 0, ""},
	{"long links", htmlPage, "", "<a href='/" + strings.Repeat("x", 1<<20-20) + "'>", 0, ""},
	{"mailboxes", htmlPage, "", "<a href=mailto:%x>", 600_000, ""},
	{"candidates in a srcset", htmlPage, "<img srcset='", "%x 1x,", 1_200_000, "'>"},
	{"pages in attributes", htmlPage, "", "<iframe srcdoc='" + strings.Repeat("<p>", 340_000) + "'></iframe>", 0, ""},
	{"one page in an attribute", htmlPage, "<iframe srcdoc='", "<p>", 0, "'>"},
	{"character references", htmlPage, "<iframe srcdoc='", "&lt;", 0, "'>"},
	{"titles", htmlPage, "<title>", "x ", 0, ""},
	{"words", htmlPage, "", "%x ", 2_000_000, ""},
	{"script", htmlPage, "<script>", "'/%x.html';", 900_000, ""},
	{"comments in a script", htmlPage, "<script>", "<!--<script>", 0, ""},
	{"paragraphs", htmlPage, "", "<p>", 0, ""},
	{"tables", htmlPage, "", "<table><td>", 0, ""},
	{"formatting", htmlPage, "", "<p><font size=1><b><i>", 0, ""},
	{"SVG", htmlPage, "", "<svg><a><use href=x>", 0, ""},
	{"comments", htmlPage, "", "<!---->", 0, ""},
	{"nested elements", htmlPage, "", "<div>", 0, ""},
	{"a link that is opened again", htmlPage, "<p><a href=x b=1 c=2 d=3 e=4 f=5>", "<p>x", 0, ""},
	{"UTF-16", "text/html; charset=utf-16", "", "<a href=%x>x", 450_000, ""},
	{"ids in XML", "application/xhtml+xml", xhtml + ">", "<p id='%x'/>", 700_000, "</body></html>"},
	{"attributes in XML", "application/xhtml+xml", xhtml, " a%x=''", 900_000, "/></html>"},
	{"imports in a style sheet", "text/css", "", "@import'%x';", 900_000, ""},
	{"uses in a picture", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg">`, "<use href='%x'/>", 600_000, "</svg>"},
}
