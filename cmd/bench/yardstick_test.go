package main

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// rows are rounds of a contender that fetched everything, at these speeds.
func rows(name string, pagesPerS ...float64) Rows {
	c := Rows{Name: name, Ours: strings.HasPrefix(name, nameCurtsy), Peer: strings.HasPrefix(name, "wget")}
	for _, x := range pagesPerS {
		c.Rounds = append(c.Rounds, Round{PagesPerS: x, CPUPerPage: 1, Referee: Refereed{Pages: 9, Expected: 9, Coverage: 1}})
	}
	return c
}

// parts are those of so many rounds.
func parts(rounds int, fetch, parse float64) (all []Parts) {
	for range rounds {
		all = append(all, Parts{Pages: 9, Fetch: fetch, Parse: parse})
	}
	return all
}

// A yardstick that leaves out pages, or that wastes processor time, would flatter: then the run is void. That it is slower
// than wget2 is said, and is no fault of its own.
func TestBench_IsVoidWithoutAGoodYardstick(t *testing.T) {
	missing := rows(nameBareGo, 300, 300, 300)
	missing.Rounds[1].Referee.Pages = 8
	twice := rows(nameBare, 300, 300, 300)
	twice.Rounds[2].Referee.Duplicates = 1
	wasteful := rows(nameBare, 300, 300, 300)
	wasteful.Rounds[0].CPUPerPage, wasteful.Rounds[1].CPUPerPage = 1.6, 1.6 // and 1
	for name, tt := range map[string]struct {
		others []Rows
		pages  int
		void   string
		note   string
	}{
		"fast":               {[]Rows{rows(nameBare, 100, 200, 300), rows(nameYard, 50, 100, 200)}, fewPages, "", "rule is met: the bare loop is 2.00 times"},
		"slower than wget2":  {[]Rows{rows(nameBare, 199, 199, 900), rows(nameYard, 100, 100, 100)}, fewPages, "", "rule is not met: the bare loop is 1.99 times"},
		"no wget2":           {[]Rows{rows(nameBare, 1, 1, 1)}, fewPages, "", "1.00 times the processor time of its parts"},
		"no bare":            {[]Rows{rows("wget2", 999, 999, 999)}, fewPages, "", ""},
		"a peer of the name": {[]Rows{rows(nameBare, 1, 1, 1), rows("wget2", 999, 999, 999)}, fewPages, "", ""},
		"a page missing":     {[]Rows{missing}, fewPages, "8 of 9 pages, and 0 again, in round 2", ""},
		"a page twice":       {[]Rows{twice}, fewPages, "and 1 again, in round 3", ""},
		"time wasted":        {[]Rows{wasteful}, fewPages, "1.60 times the processor time", ""},
		"few pages":          {[]Rows{wasteful}, fewPages - 1, "", "fewer than 1000 pages show little"},
	} {
		r := Result{Pages: tt.pages, Parts: parts(3, 0.25, 0.75), Contenders: append([]Rows{rows(nameCurtsy, 100, 100, 100)}, tt.others...)}
		r.conclude(&Plan{unjudged: "it is not installed"})
		if tt.void == "" && r.Void != "" || !strings.Contains(r.Void, tt.void) {
			t.Errorf("%s: void %q, want %q", name, r.Void, tt.void)
		}
		var found *Found
		if err := r.Verdict(); (err != nil) != (tt.void != "") || errors.As(err, &found) {
			t.Errorf("%s: %v", name, err)
		}
		if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, tt.note) {
			t.Errorf("%s: notes %s, want %q", name, notes, tt.note)
		}
	}
}

// The parts are those of pages that are fetched, and every page of a small web is.
func TestBench_PartsAreMeasuredOnThePagesOfTheWeb(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("only 127.0.0.1 is there without further ado")
	}
	web, err := Start(WebConfig{Pages: 30, Hosts: 3})
	if err != nil {
		t.Fatal(err)
	}
	got, err := MeasureParts(t.Context(), web.Seeds(), 100)
	if r := web.Report(); err != nil || got.Pages != 30 || r.Pages != 30 || r.Duplicates+r.Other != 0 || r.Connections != 3 {
		t.Errorf("%+v, %v; the referee: %+v", got, err, r)
	}
	web.Reset()
	if got, err := MeasureParts(t.Context(), web.Seeds(), 17); err != nil || got.Pages != 17 {
		t.Errorf("at most 17: %+v, %v", got, err)
	}
	if err := web.Close(); err != nil {
		t.Error(err)
	}
}
