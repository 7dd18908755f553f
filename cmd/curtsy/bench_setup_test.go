package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
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
	r.want(t, exitDone)
	if len(out.Contenders) != 3 || len(out.Contenders[0].Rounds) != 2 {
		t.Fatalf("%+v", out.Contenders)
	}
	for i, pages := range []int{0, 1} {
		c := out.Contenders[1+i]
		if len(c.Rounds) != 1 || !c.Rounds[0].Stopped || c.Rounds[0].Referee.Pages != pages || c.Rounds[0].Wall > 60 {
			t.Errorf("%s: %+v", c.Name, c.Rounds)
		}
	}
	if !slices.Contains(out.Notes, "sh was stopped after 1s, with 0 of 20 pages asked for; it was not run again") {
		t.Errorf("notes: %q", out.Notes)
	}
	var b strings.Builder
	if err := writeBench(&b, &out); err != nil || !strings.Contains(b.String(), "sh (2) (stopped)") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// The lines of peers are filled in, and that of the yardstick is not run twice.
func TestBench_PeersAreKnownByName(t *testing.T) {
	p := &benchPlan{workers: 7}
	p.web.Width = 3
	for whom, want := range map[string]string{
		vsWget:    "wget -r: wget -q -r -l inf -H -P {dir} {urls}",
		vsWget2:   "wget2 -r: wget2 -q -r -l inf -H --max-threads 7 -P {dir} {urls}",
		vsHTTrack: "httrack: httrack {urls} -O {dir} -q -%! -c7 -%c0 -A0 -s0",
		vsScrapy:  "scrapy: scrapy runspider {spider} -a seeds={seeds} -s CONCURRENT_REQUESTS=7 -s CONCURRENT_REQUESTS_PER_DOMAIN=3",
		"curl":    ": ",
	} {
		k := p.known(whom)
		if got := k.name + ": " + strings.Join(k.words, " "); got != want {
			t.Errorf("%s: %s, want %s", whom, got, want)
		}
	}
	skipWithout(t, "wget2")
	for _, vs := range [][]string{{vsBare, vsWget2}, {vsWget2, vsBare}} {
		p := &benchPlan{workers: 7}
		if err := p.meet(vs, nil); err != nil || len(p.contenders) != 3 {
			t.Errorf("%q: %v, %+v", vs, err, p.contenders)
		}
	}
}

// With the peers that are here: all pages, and a file for each.
func TestBench_PeersMakeMirrorsOfAllPages(t *testing.T) {
	t.Parallel()
	for _, name := range []string{vsWget, vsWget2, vsHTTrack} {
		skipWithout(t, name)
	}
	r := ended(t, curtsy(t, "bench", "--setup", "mirror", "--rounds", "1", "--pages", "40", "--dir", t.TempDir()))
	r.want(t, exitDone)
	for _, s := range []string{"FILES", "\ncurtsy ", "\nwget -mkEp ", "\nwget2 -mkEp ", "\nhttrack ", "\nthe fastest peer, ", "the referee found nothing"} {
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
	t.Parallel()
	out, r := benched(t, "--setup", "hostile", "--pages", "30", "--max-body", "2MiB")
	r.want(t, exitDone)
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
	if err := writeBench(&b, &out); err != nil || !strings.Contains(b.String(), "br bomb of 1 GiB") || !strings.Contains(b.String(), "  2MiB  ") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// Growth is measured once for each number of URLs, in one command.
func TestBench_GrowthIsMeasuredForEachSize(t *testing.T) {
	t.Parallel()
	needsLoopback(t)
	out, r := benched(t, "--setup", "growth", "--hosts", "2", "--discovered", "800,2000")
	r.want(t, exitDone)
	var got []int
	for _, c := range out.Contenders {
		got = append(got, c.Rounds[0].Referee.Known)
	}
	if !slices.Equal(got, []int{802, 2002}) || out.Contenders[1].Name != "curtsy, 2002 URLs" {
		t.Errorf("%v, %+v", got, out.Contenders)
	}
}
