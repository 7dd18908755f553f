package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
	defer func() {
		assert.NoError(t, web.Close())
	}()
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
			defer func() {
				assert.NoError(t, web.Close())
			}()
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
