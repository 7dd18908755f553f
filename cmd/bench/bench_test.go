package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// benched runs a bench, without wget2 in sight, and reads what it says.
func benched(t *testing.T, args ...string) (Result, result) {
	t.Helper()
	cmd := command(t, append([]string{"--json", "--quiet", "--rounds", "1", "--dir", t.TempDir()}, args...)...)
	cmd.Env = append(cmd.Env, "PATH="+t.TempDir())
	r := ended(t, cmd)
	var out Result
	if err := json.Unmarshal([]byte(r.out), &out); r.code == cli.ExitDone && err != nil {
		t.Fatalf("%v: %s", err, r.out)
	}
	return out, r
}

// needsLoopback skips where 127.0.1.1 is no address.
func needsLoopback(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("only 127.0.0.1 is there without further ado")
	}
}

// Each setup, small: all pages, none twice, no gap short, robots.txt first; and the bare loop fetches the same.
func TestBench_EachSetupIsPoliteAndComplete(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want []string // contenders
	}{
		{"one-host", []string{"--pages", "50", "--vs", "bare", "--vs", "model"}, []string{"curtsy", "bare", "bare, Go's GC", "curtsy, model"}},
		{"many-hosts", []string{"--pages", "50", "--hosts", "10"}, []string{"curtsy", "bare", "bare, Go's GC"}},
		{"saturation", []string{"--pages", "50", "--hosts", "25", "--pace", "200ms", "--latency", "5ms"}, []string{"curtsy"}},
		{"saturation", []string{"--pages", "20", "--hosts", "20", "--pace", "1s"}, []string{"curtsy"}},
		{"saturation", []string{"--pages", "300", "--hosts", "20", "--pace", "500ms", "--vs", "dashboard"}, []string{"curtsy", "curtsy, dashboard"}},
		{"growth", []string{"--pages", "50", "--hosts", "5", "--vs", "bare"}, []string{"curtsy", "bare", "bare, Go's GC"}},
		{"mirror", []string{"--pages", "50"}, []string{"curtsy"}},
	} {
		t.Run(strings.Join(append([]string{tt.name}, tt.args...), " "), func(t *testing.T) {
			t.Parallel()
			if tt.name != "one-host" {
				needsLoopback(t)
			}
			if foreign := slices.Contains(tt.args, "1s"); foreign && testing.Short() {
				t.Skip("seconds of waiting")
			}
			out, r := benched(t, append([]string{"--setup", tt.name}, tt.args...)...)
			r.want(t, cli.ExitDone)
			var names []string
			for _, c := range out.Contenders {
				names = append(names, c.Name)
				f := c.Rounds[0].Referee
				if f.Coverage != 1 || f.Pages != out.Pages || f.Duplicates != 0 || f.Other != 0 || f.Short != 0 {
					t.Errorf("%s: %+v", c.Name, f)
				}
				if ours := strings.HasPrefix(c.Name, "curtsy"); ours && (f.Robots < out.Hosts || f.Unannounced > 0 || f.TooMany > 0) || !ours && f.Robots != 0 {
					t.Errorf("%s: %+v", c.Name, f)
				}
				if x := c.Rounds[0]; x.PagesPerS <= 0 || x.CPUPerPage <= 0 || x.Allocs < 100 || x.AllocBytes < 1000 || x.PeakRSS <= 0 && runtime.GOOS != "windows" {
					t.Errorf("%s: %+v", c.Name, x)
				}
				if tt.name == "mirror" && c.Rounds[0].Files < out.Pages {
					t.Errorf("%s: %d files", c.Name, c.Rounds[0].Files)
				}
				if tt.name == "saturation" && (f.Gaps != out.Pages || f.Permitted <= 0 || f.OfAllowed <= 0 || f.OfAllowed > 1.001) {
					t.Errorf("%s: %+v", c.Name, f)
				}
				if want := out.Hosts + 40*out.Pages; tt.name == "growth" && f.Known != want {
					t.Errorf("%s: %d URLs discovered, want %d", c.Name, f.Known, want)
				}
			}
			if strings.Join(names, "|") != strings.Join(tt.want, "|") || len(out.Ratios) != len(names)-1 {
				t.Errorf("contenders %q, ratios %+v", names, out.Ratios)
			}
		})
	}
}

// Who reads the JSON form finds these names.
func TestBench_JSONHasItsShape(t *testing.T) {
	t.Parallel()
	_, r := benched(t, "--pages", "3")
	var top map[string]any
	if err := json.Unmarshal([]byte(r.out), &top); err != nil {
		t.Fatal(err)
	}
	need := func(m map[string]any, names string) {
		t.Helper()
		for name := range strings.FieldsSeq(names) {
			if m[name] == nil {
				t.Errorf("%s is missing: %v", name, m)
			}
		}
	}
	need(top, "schema curtsy go system cpus time setup pages hosts workers memory_limit_bytes dir null_requests_per_s contenders ratios violations notes")
	contender := top["contenders"].([]any)[0].(map[string]any)
	need(contender, "name command rounds pages_per_s cpu_ms_per_page peak_rss_bytes allocs_per_page")
	need(contender["pages_per_s"].(map[string]any), "median min max")
	run := contender["rounds"].([]any)[0].(map[string]any)
	need(run, "wall_s pages_per_s window_per_s cpu_ms_per_page peak_rss_bytes allocs_per_page alloc_bytes_per_page web_cpu_ms_per_page referee")
	need(run["referee"].(map[string]any), "requests robots pages expected coverage duplicates connections connections_per_host at_once gaps gaps_short")
	need(top["ratios"].([]any)[0].(map[string]any), "to pages_per_s cpu_per_page")
	if notes := top["notes"].([]any); !strings.Contains(notes[0].(string), "wget2 is not installed") {
		t.Errorf("notes: %v", notes)
	}
}

// The table is for people: who, how fast, and what the referee says.
func TestBench_TableAndProfile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := ended(t, command(t, "--rounds", "2", "--pages", "20", "--vs", "none", "--profile", dir))
	r.want(t, cli.ExitDone, "round 2 of 2: curtsy: ")
	for _, s := range []string{"one-host: 20 pages at 1 host, 16 at a time, 2 rounds", "PAGES/S", "CPU MS/PAGE", "PEAK RSS", "\ncurtsy ", "the servers found no violation"} {
		if !strings.Contains(r.out, s) {
			t.Errorf("%q is missing:\n%s", s, r.out)
		}
	}
	for _, names := range []string{"curtsy-[12].pprof", "curtsy-[12].allocs.pprof"} {
		if found, err := filepath.Glob(filepath.Join(dir, names)); len(found) != 2 {
			t.Errorf("profiles %s: %q, %v", names, found, err)
		}
	}
}

// A peer is whoever stands in a command line. The referee judges its reach; its manners are its own affair.
func TestBench_APeerIsMeasuredByTheSameReferee(t *testing.T) {
	t.Parallel()
	skipWithout(t, "wget")
	wget, err := exec.LookPath("wget")
	if err != nil {
		t.Fatal(err)
	}
	out, r := benched(t, "--pages", "30", "--vs", "'"+wget+"' -q -r -l inf -P {dir} {url}", "--vs", wget+" -q -P {dir} -i {seeds}")
	r.want(t, cli.ExitDone)
	if len(out.Contenders) != 3 || out.Contenders[1].Name != "wget" || out.Contenders[2].Name != "wget (2)" {
		t.Fatalf("%+v", out.Contenders)
	}
	if f := out.Contenders[1].Rounds[0].Referee; f.Pages != 30 || f.Robots != 1 || f.Duplicates != 0 {
		t.Errorf("wget -r: %+v", f)
	}
	if f := out.Contenders[2].Rounds[0].Referee; f.Pages != 1 || f.Coverage >= 1 {
		t.Errorf("wget: %+v", f)
	}
}

func TestBench_SaysWhatCannotBeMeasured(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, says string }{
		{"--setup two-hosts", "write one-host"},
		{"--rounds 0", "less than 1"},
		{"--hosts 2", "see --setup many-hosts"},
		{"--setup many-hosts --pages 10", "each of 200 hosts"},
		{"--pace 1s", "for --setup saturation"},
		{"--setup saturation --pace 0", "is about the pace"},
		{"--setup saturation --vs bare", "keeps no pace"},
		{"--vs bare --vs bare", "there already"},
		{"--vs none --vs bare", "excludes other values"},
		{"--vs curl", "a command line with {url}"},
		{"--vs no-such-crawler={url}", "a command line with {url}"},
		{"extra", "takes no"},
		{"--discovered 100", "for --setup growth and scale"},
		{"--setup growth --discovered 100", "makes 4100 URLs at least"},
		{"--setup growth --discovered 10000 --pages 250", "one is enough"},
		{"--max-body 1MiB", "for --setup hostile"},
		{"--setup hostile --vs bare", "compares curtsy with itself"},
		{"--svg scale.svg", "for --setup scale"},
		{"--setup scale --pages 5", "its own steps"},
		{"--setup growth --vs peers", "have no end"},
	} {
		ended(t, command(t, strings.Fields(tt.args)...)).want(t, cli.ExitUsage, tt.says)
	}
	ended(t, command(t, "--vs", "no-such-crawler {url}")).want(t, cli.ExitUsage, "not found")
	ended(t, command(t, "--vs", "sh 'a {url}")).want(t, cli.ExitUsage, "a quote is not closed")
	ended(t, command(t, "--setup", "growth", "--vs", "sh {url}")).want(t, cli.ExitUsage, "have no end")
	seeds := filepath.Join(t.TempDir(), "seeds")
	if err := os.WriteFile(seeds, []byte("https://www.your-domain.org/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended(t, command(t, "bare", "--seeds", seeds)).want(t, cli.ExitUsage, "loopback and nowhere else")
}
