package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// A peer that does not come to an end is stopped, shown with what it did, and not run again.
func TestBench_APeerThatHangsIsStopped(t *testing.T) {
	t.Parallel()
	skipWithout(t, "sh")
	skipWithout(t, "wget")
	sh, _ := exec.LookPath("sh")
	wget, _ := exec.LookPath("wget")
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	out, r := benched(t, "--pages", "20", "--rounds", "2", "--peer-limit", "1s",
		"--vs", sh+" -c '"+sleep+" 100; echo {url}'", "--vs", sh+" -c '"+wget+" -q -O /dev/null {url}; "+sleep+" 100'")
	r.want(t, cli.ExitDone)
	if len(out.Contenders) != 3 || len(out.Contenders[0].Rounds) != 2 {
		t.Fatalf("%+v", out.Contenders)
	}
	for i, pages := range []int{0, 1} {
		c := out.Contenders[1+i]
		if len(c.Rounds) != 1 || !c.Rounds[0].Stopped || c.Rounds[0].Referee.Pages != pages || c.Rounds[0].Wall > 60 {
			t.Errorf("%s: %+v", c.Name, c.Rounds)
		}
	}
	if !slices.Contains(out.Notes, "sh was stopped after 1s, after it had requested 0 of 20 pages; it was not run again") {
		t.Errorf("notes: %q", out.Notes)
	}
	var b strings.Builder
	if err := out.WriteText(&b); err != nil || !strings.Contains(b.String(), "sh (2) (stopped)") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// With the peers that are here: all pages, and a file for each.
func TestBench_PeersMakeMirrorsOfAllPages(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"wget", "wget2", "httrack"} {
		skipWithout(t, name)
	}
	r := ended(t, command(t, "--setup", "mirror", "--rounds", "1", "--pages", "40", "--dir", t.TempDir()))
	r.want(t, cli.ExitDone)
	for _, s := range []string{"FILES", "\ncurtsy ", "\nwget -mkEp ", "\nwget2 -mkEp ", "\nhttrack ", "\nthe fastest peer, ", "the servers found no violation"} {
		if !strings.Contains(r.out, s) {
			t.Errorf("%q is missing:\n%s", s, r.out)
		}
	}
	if strings.Contains(r.out, "stopped") || strings.Count(r.out, "1.0000") < 4 {
		t.Errorf("not all pages:\n%s", r.out)
	}
}

// What is hostile is asked for, cut at the body cap, and hides none of the sound pages.
func TestBench_HostileBodiesAreHeldAgainstTheSameWebWithoutThem(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	t.Parallel()
	out, r := benched(t, "--setup", "hostile", "--pages", "30", "--max-body", "2MiB")
	r.want(t, cli.ExitDone)
	if len(out.Contenders) != 4 || len(out.Added) != 3 || out.MaxBody != 2<<20 || len(out.Ratios) != 0 {
		t.Fatalf("%+v", out)
	}
	for i, c := range out.Contenders {
		f := c.Rounds[0].Referee
		if f.Pages != 30 || f.Duplicates != 0 || (f.Sick > 0) != (i > 0) {
			t.Errorf("%s: %+v", c.Name, f)
		}
	}
	for i, a := range out.Added {
		if out.Contenders[1+i].Name != "curtsy, "+a.Of || a.Added.Median != a.With.Median-a.Without.Median {
			t.Errorf("%+v", a)
		}
	}
	var b strings.Builder
	if err := out.WriteText(&b); err != nil || !strings.Contains(b.String(), "br bomb of 1 GiB") || !strings.Contains(b.String(), "  2MiB  ") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// Growth is measured once for each number of URLs, in one command.
func TestBench_GrowthIsMeasuredForEachSize(t *testing.T) {
	t.Parallel()
	needsLoopback(t)
	out, r := benched(t, "--setup", "growth", "--hosts", "2", "--discovered", "800,2000")
	r.want(t, cli.ExitDone)
	var got []int
	for _, c := range out.Contenders {
		got = append(got, c.Rounds[0].Referee.Known)
	}
	if !slices.Equal(got, []int{802, 2002}) || out.Contenders[1].Name != "curtsy, 2002 URLs" {
		t.Errorf("%v, %+v", got, out.Contenders)
	}
}

func TestBench_ScaleMeasuresAndDraws(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	t.Parallel()
	needsLoopback(t)
	dir, known := t.TempDir(), "10000,1000"
	want := map[string]int{"crawl": 4, "frontier": 5, "frontier, memory": 2}
	if testing.Short() { // too little for a crawl that discovers
		known, want = "1000", map[string]int{"crawl": 2, "frontier": 3, "frontier, memory": 1}
	}
	picture := filepath.Join(dir, "scale.svg")
	r := ended(t, command(t, "--setup", "scale", "--json", "--discovered", known, "--svg", picture, "--dir", dir))
	r.want(t, cli.ExitDone, "frontier, 1000 URLs at 10 hosts")
	var out ScaleResult
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, s := range out.Steps {
		kinds[s.Of]++
		if s.CPU <= 0 || s.Of == "frontier" && s.Disk <= 0 {
			t.Errorf("%+v", s)
		}
	}
	if !maps.Equal(kinds, want) {
		t.Errorf("%v, want %v", kinds, want)
	}
	svg, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(svg, new(struct{})); err != nil || bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
		t.Errorf("%v\n%s", err, svg)
	}
	var b strings.Builder
	if err := out.WriteText(&b); err != nil || strings.Count(b.String(), "\nfrontier") != want["frontier"]+want["frontier, memory"] {
		t.Errorf("%v\n%s", err, b.String())
	}
}
