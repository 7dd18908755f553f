package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/check"
	"curtsy/crawler/crawltest"
	"curtsy/storage/scratch"
)

// asBench in the environment makes the test binary run as bench.
const asBench = "BENCH_TEST_AS_BENCH"

func TestMain(m *testing.M) {
	if os.Getenv(asBench) != "" {
		main()
	}
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=20") // of many processes
	}
	os.Exit(scratch.Run(m.Run))
}

// ran runs bench as a process, and checks its exit code and standard error.
func ran(t *testing.T, code int, says []string, args ...string) (out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), asBench+"=1", "XDG_CONFIG_HOME="+home, "HOME="+home, "AppData="+home, "XDG_CACHE_HOME="+home, "LocalAppData="+home)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("%q: exit code %d, want %d:\n%s%s", args, got, code, &stderr, &stdout)
	}
	for _, s := range says {
		if !strings.Contains(stderr.String(), s) {
			t.Errorf("%q: standard error lacks %q:\n%s", args, s, &stderr)
		}
	}
	return stdout.String()
}

func benched(t *testing.T, args ...string) (r result) {
	t.Helper()
	out := ran(t, cli.ExitDone, nil, append([]string{"--json", "--rounds", "1", "--dir", t.TempDir()}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(out), &r), out)
	return r
}

func needsLoopback(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("127.0.1.1 is not an address of loopback here")
	}
}

func TestBench_EachSetupIsPoliteAndComplete(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string // contenders
	}{
		{"--pages 50 --vs bare", "curtsy|bare|bare, Go's GC"},
		{"--setup many-hosts --pages 50 --hosts 10 --vs none", "curtsy"},
		{"--setup saturation --pages 50 --hosts 25 --pace 200ms", "curtsy"},
		{"--setup growth --hosts 2 --discovered 800,2000", "curtsy, 802 URLs|curtsy, 2002 URLs"},
		{"--setup hostile --pages 30", "curtsy|curtsy, page of 100 MiB|curtsy, gzip bomb of 128 MiB|curtsy, br bomb of 1 GiB"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			needsLoopback(t)
			if strings.Contains(tt.args, "hostile") && testing.Short() {
				t.Skip("it measures memory")
			}
			r := benched(t, strings.Fields(tt.args)...)
			var names []string
			for _, c := range r.Contenders {
				names = append(names, c.Name)
				x, f := c.Rounds[0], c.Rounds[0].Referee
				if f.Coverage != 1 || c.Name == curtsy && f.Pages != r.Pages || c.ours() == (f.Robots == 0) || len(f.violations()) > 0 && c.ours() {
					t.Errorf("%s: %+v", c.Name, f)
				}
				if x.PagesPerS <= 0 || x.CPUPerPage <= 0 || x.Allocs < 100 || x.PeakRSS <= 0 && runtime.GOOS != "windows" {
					t.Errorf("%s: %+v", c.Name, x)
				}
				if r.Setup == saturation && (f.Gaps != r.Pages || f.OfPermitted <= 0 || f.OfPermitted > 1.001) {
					t.Errorf("%s: %+v", c.Name, f)
				}
			}
			if got := strings.Join(names, "|"); got != tt.want || r.Setup == hostile && len(r.Added) != 3 {
				t.Errorf("contenders %q, added %+v", got, r.Added)
			}
		})
	}
}

func TestBench_ProfilesEachRound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := ran(t, cli.ExitDone, []string{"round 2 of 2: curtsy: "}, "--rounds", "2", "--pages", "20", "--vs", "none", "--profile", dir)
	for _, s := range []string{"one-host: 20 pages at 1 host, 16 at a time, 2 rounds", "PAGES/S", "\ncurtsy ", "the servers found no violation"} {
		assert.Containsf(t, out, s, "%q is missing:\n%s", s, out)
	}
	for _, names := range []string{"curtsy-[12].pprof", "curtsy-[12].allocs.pprof"} {
		if found, err := filepath.Glob(filepath.Join(dir, names)); len(found) != 2 {
			t.Errorf("profiles %s: %q, %v", names, found, err)
		}
	}
}

func TestBench_RejectsUnmeasurableInput(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--setup two-hosts":                        "write one-host",
		"--rounds 0":                               "--rounds and --pace must be positive",
		"--hosts 2":                                "--hosts does not apply to --setup one-host",
		"--setup many-hosts --pages 10":            "10 pages for 200 hosts",
		"--setup saturation --vs bare":             "observes no delay",
		"--vs none --vs bare":                      "none by itself",
		"--vs curl":                                "a command line with {url}",
		"--vs no-such-crawler{url}":                "not found",
		"--setup growth --vs wget":                 "have no end",
		"--vs checkers --pages 5":                  "omit --pages",
		`child {"Do":"bare","Seeds":["http://a"]}`: "loopback only",
	} {
		ran(t, cli.ExitUsage, []string{says}, strings.Fields(args)...)
	}
}

// rowsOf has the rounds of a contender that fetched everything.
func rowsOf(name string, pagesPerS ...float64) rows {
	c := rows{Name: name, Peer: name == "wget"}
	for _, x := range pagesPerS {
		c.Rounds = append(c.Rounds, round{PagesPerS: x, CPUPerPage: 1, Referee: refereed{Pages: 9, Expected: 9, Coverage: 1}})
	}
	return c
}

// The median of an even number is the mean of the middle two, and a ratio is the median of those within rounds.
func TestConclude_MediansAndRatios(t *testing.T) {
	r := result{Contenders: []rows{rowsOf(curtsy, 10, 40, 30, 20), rowsOf("wget", 5, 10, 10, 2)}}
	r.conclude()
	if got, want := r.Contenders[0].PagesPerS, (spread{25, 10, 40}); got != want {
		t.Errorf("median of four: %+v, want %+v", got, want)
	}
	if got, want := r.Ratios[0].PagesPerS, (spread{3.5, 2, 10}); got != want || r.Ratios[0].To != "wget" {
		t.Errorf("ratio: %+v, want %+v", got, want)
	}
}

// Only a violation by curtsy is a finding. A bare loop that omits pages would flatter curtsy: the run is void.
func TestVerdict(t *testing.T) {
	broken := func(c rows, change func(*round)) rows {
		change(&c.Rounds[1])
		return c
	}
	for name, tt := range map[string]struct {
		ours, other rows
		says        string
		code        int
	}{
		"sound":         {rowsOf(curtsy, 1, 1, 1), rowsOf(bareLoop, 1, 1, 1), "", cli.ExitDone},
		"a short gap":   {broken(rowsOf(curtsy, 1, 1), func(x *round) { x.Referee.Short = 1 }), rowsOf(bareLoop, 1, 1), "curtsy, round 2: 1 of 0 gaps short", cli.ExitFound},
		"peer, twice":   {rowsOf(curtsy, 1, 1), broken(rowsOf("wget", 1, 1), func(x *round) { x.Referee.Duplicates = 5 }), "", cli.ExitDone},
		"bare, missing": {rowsOf(curtsy, 1, 1), broken(rowsOf("bare, Go's GC", 1, 1), func(x *round) { x.Referee.Pages = 8 }), "8 of 9 pages, and 0 again, in round 2", cli.ExitFailed},
	} {
		r := result{Contenders: []rows{tt.ours, tt.other}}
		r.conclude()
		err := r.verdict()
		if tt.says == "" {
			assert.NoError(t, err, name)
			continue
		}
		assert.ErrorContains(t, err, tt.says, name)
		var found *cli.Error
		assert.Equal(t, tt.code == cli.ExitFound, errors.As(err, &found), name)
	}
}

const base = "http://127.0.0.1:9"

// all is the output of a checker that finds each fault except those of a kind.
func all(site *crawltest.FaultySite, but crawltest.FaultKind) string {
	var b strings.Builder
	for _, f := range site.Faults() {
		switch f.Kind {
		case but:
		case crawltest.NoURL:
			b.WriteString("bad: " + f.URL + "\n")
		case crawltest.TwoIDs:
			b.WriteString("twice: " + f.Name + "\n")
		default:
			b.WriteString(base + f.URL + " in " + base + f.Page + ".\n")
		}
	}
	return b.String()
}

func TestScore_CountsEachNamedFault(t *testing.T) {
	site := crawltest.NewFaultySite()
	if s := others(site, base, all(site, "")); s.Found != 93 || len(s.Missed) > 0 || len(s.Invented) > 0 {
		t.Errorf("%+v", s)
	}
	if s := others(site, base, ""); s.Found != 0 || len(s.Missed) != 31 {
		t.Errorf("%+v", s)
	}
}

func TestAGoodPageThatIsNamedIsInvented(t *testing.T) {
	site := crawltest.NewFaultySite()
	s := others(site, base, all(site, "")+base+"/sub/good.html, and http://elsewhere.test/x\n")
	assert.Equal(t, []string{"/sub/good.html"}, s.Invented)
}

// curtsy must report the kind of fault: a missing page is not a redirect.
func TestOursIsFoundInTheRightListOnly(t *testing.T) {
	site := crawltest.NewFaultySite()
	var right, wrong check.Result
	for _, f := range site.Faults() {
		url := base + f.URL
		if f.Kind == crawltest.NoURL {
			url = f.URL
		}
		finding := check.Finding{URL: url}
		switch f.Kind {
		case crawltest.TwoIDs:
			right.Duplicates = append(right.Duplicates, check.Finding{URL: url, Reason: "id " + f.Name})
			wrong.Broken = append(wrong.Broken, finding)
		case crawltest.Moved, crawltest.Chain:
			right.Redirects = append(right.Redirects, check.Redirect{Finding: finding})
			wrong.Broken = append(wrong.Broken, finding)
		default:
			right.Broken = append(right.Broken, finding)
			wrong.Redirects = append(wrong.Redirects, check.Redirect{Finding: finding})
		}
	}
	for _, c := range []struct {
		result          check.Result
		found, invented int
	}{{right, 93, 0}, {wrong, 0, 93}, {check.Result{}, 0, 0}} {
		text, err := json.Marshal(c.result)
		require.NoError(t, err)
		if s, err := own(site, base, string(text)); err != nil || s.Found != c.found || (len(s.Invented) > 0) != (c.invented > 0) {
			t.Errorf("%+v, %v, want %d found", s, err, c.found)
		}
	}
	if _, err := own(site, base, "curtsy: no space left"); err == nil {
		t.Error("text is taken for a result")
	}
}
