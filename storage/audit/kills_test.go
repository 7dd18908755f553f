package audit

import (
	"testing"
	"time"
)

// Kills in a row, each before the first commit of its run, leave files without a line that begin with the same URLs: they are
// excused, and so is the one that a single kill leaves. Behind the last run of the ledger no more than one is without them.
func TestKillsInARowBeginAlike(t *testing.T) {
	at := func(n int) time.Time { return day0.Add(time.Duration(n) * time.Second) }
	for name, c := range map[string]struct {
		urls [][]string // of the files behind the one that lines tell of
		more bool       // a file with a line stands behind them
		want []bool
	}{
		"one":                  {urls: [][]string{{"a"}}, want: []bool{true}},
		"three in a row":       {urls: [][]string{{"a", "b", "c"}, {"b"}, {"a", "b", "d"}}, want: []bool{true, true, true}},
		"three with nothing":   {urls: [][]string{{"a"}, {"b"}, {"c"}}, want: []bool{false, false, true}},
		"and then a whole one": {urls: [][]string{{"a"}, {"b"}}, more: true, want: []bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRuns()
			r.begin(at(0))
			r.line(at(5))
			r.end()
			r.met("lined")
			r.of["lined"] = 1
			for i, urls := range c.urls {
				file := string(rune('1' + i))
				r.met(file)
				for _, u := range urls {
					r.recorded(at(100+10*i), file, u)
				}
			}
			if c.more {
				r.begin(at(200))
				r.line(at(201))
				r.met("behind")
				r.of["behind"] = 2
			}
			for i, want := range c.want {
				if got := r.unknown(at(100+10*i), string(rune('1'+i))); got != want {
					t.Errorf("file %d: %v", i+1, got)
				}
			}
		})
	}
}
