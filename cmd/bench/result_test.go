package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for line, want := range map[string]string{
		`a  b c`: "a|b|c", ` 'a b' "c 'd'" `: "a b|c 'd'", `a'b c'd ""`: "ab cd|", ``: "",
	} {
		if got, err := splitWords(line); err != nil || strings.Join(got, "|") != want {
			t.Errorf("%q: %q, %v; want %q", line, got, err, want)
		}
	}
}

// What the referee finds against the crawl is a finding, also of a void run; what it finds against others is not.
func TestAViolationIsAFinding(t *testing.T) {
	ours, other := rows(nameCurtsy, 1, 1), rows("wget", 1, 1)
	other.Rounds[1].Referee.Duplicates = 5
	r := Result{Contenders: []Rows{ours, other}}
	r.conclude(&Plan{})
	if err := r.Verdict(); err != nil {
		t.Errorf("a peer's duplicates: %v", err)
	}
	ours.Rounds[1].Referee.Short = 1
	r = Result{Contenders: []Rows{ours, rows(nameBare, 1, 1), rows(nameYard, 9, 9)}}
	r.conclude(&Plan{})
	var found *Found
	if err := r.Verdict(); !errors.As(err, &found) || !strings.Contains(err.Error(), "curtsy, round 2: 1 of 0 gaps short") {
		t.Errorf("%v", err)
	}
}

// Medians and ratios: of an even number the middle of the two, and of ratios that of each round.
func TestMediansAndRatios(t *testing.T) {
	r := Result{Contenders: []Rows{rows(nameCurtsy, 10, 40, 30, 20), rows("wget", 5, 10, 10, 2)}}
	r.conclude(&Plan{})
	if got, want := r.Contenders[0].PagesPerS, (spread{25, 10, 40}); got != want {
		t.Errorf("median of four: %+v, want %+v", got, want)
	}
	if got, want := r.Ratios[0].PagesPerS, (spread{3.5, 2, 10}); got != want || r.Ratios[0].To != "wget" {
		t.Errorf("ratio: %+v, want %+v", got, want)
	}
}

// The lines of peers are filled in, and that of the yardstick is not run twice.
func TestPeersAreKnownByName(t *testing.T) {
	p := &Plan{workers: 7}
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
	if _, err := exec.LookPath("wget2"); err != nil {
		t.Skip(err)
	}
	for _, vs := range [][]string{{vsBare, vsWget2}, {vsWget2, vsBare}} {
		p := &Plan{workers: 7}
		if err := p.meet(vs, nil); err != nil || len(p.contenders) != 3 {
			t.Errorf("%q: %v, %+v", vs, err, p.contenders)
		}
	}
}
